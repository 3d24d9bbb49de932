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
    """Return the text of a preset's file."""
    return (files(__name__) / f"{name}.yaml").read_text()


@cache
def read_preset(name: str) -> KindEntry:
    """Return the descriptor of a preset, one of PRESETS."""
    written: Any = yaml.load(preset_text(name), Loader=yaml.CSafeLoader)
    return msgspec.convert(written, KindEntry)


def resolve(entry: KindEntry) -> KindEntry:
    """Return the entry with the keys of its preset, if it names one."""
    return over_preset(read_preset(entry.preset), entry) if entry.preset else entry


def compile_kinds(entries: Iterable[KindEntry]) -> Kinds:
    """Compile the entries of the settings. Raises KeyProblem for a kind twice, or a `through` without its kind."""
    compiled = [compile_kind(resolve(entry)) for entry in entries]
    names = [(each.group, each.kind) for each in compiled]
    for group, kind in names:
        if names.count((group, kind)) > 1:
            raise KeyProblem("kinds", f"{kind} of {group} is there twice; keep one entry")
    for each in compiled:
        if each.through and not any(other.kind == each.through and other.suspend for other in compiled):
            fix = f"its operator makes objects of kind {each.through}, which are governed in its place; add that kind"
            raise KeyProblem("kinds", f"{each.kind}: {fix}")
    return Kinds.of(compiled)


@cache
def all_presets() -> Kinds:
    """Return every shipped kind, which is what commands without settings know."""
    return compile_kinds(KindEntry(preset=name) for name in PRESETS)
