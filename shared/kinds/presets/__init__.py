"""The descriptors that are shipped, one file each; `quotree kinds` lists them."""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
import yaml

from shared.kinds.descriptor import PRESETS, KindEntry, over_preset
from shared.kinds.kind import Kinds, compile_kind
from shared.problems import KeyProblem


def preset_text(name: str) -> str:
    """The file of a preset."""
    return (files(__name__) / f"{name}.yaml").read_text()


@cache
def read_preset(name: str) -> KindEntry:
    """The descriptor of this name, which is one of PRESETS."""
    written: Any = yaml.load(preset_text(name), Loader=yaml.CSafeLoader)
    return msgspec.convert(written, KindEntry)


def resolve(entry: KindEntry) -> KindEntry:
    """The whole descriptor that an entry of the settings means."""
    return over_preset(read_preset(entry.preset), entry) if entry.preset else entry


def compile_kinds(entries: Iterable[KindEntry]) -> Kinds:
    """The kinds that the settings name. Raises KeyProblem when two entries name the same one."""
    compiled = [compile_kind(resolve(entry)) for entry in entries]
    names = [(each.group, each.kind) for each in compiled]
    for group, kind in names:
        if names.count((group, kind)) > 1:
            raise KeyProblem("kinds", f"{kind} of {group} is there twice; keep one entry")
    return Kinds.of(compiled)


@cache
def all_presets() -> Kinds:
    """Every kind that is shipped: what commands without settings know."""
    return compile_kinds(KindEntry(preset=name) for name in PRESETS)
