"""The descriptors that are shipped, one file each; `quotree kinds` lists them."""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any, Final

import msgspec
import yaml

from shared.kinds.descriptor import KindEntry, over_preset
from shared.kinds.kind import Kinds, compile_kind
from shared.problems import KeyProblem

PRESETS: Final = (
    "jobset",
    "pytorchjob",
)
"""Their names, which are those of their files."""


def preset_text(name: str) -> str:
    """The file of a preset."""
    return (files(__name__) / f"{name}.yaml").read_text()


@cache
def read_preset(name: str) -> KindEntry:
    """The descriptor of this name. Raises KeyProblem when there is none."""
    if name not in PRESETS:
        raise KeyProblem("preset", f"{name!r} is none; there are {', '.join(PRESETS)}")
    written: Any = yaml.load(preset_text(name), Loader=yaml.CSafeLoader)
    return msgspec.convert(written, KindEntry)


def resolve(entry: KindEntry) -> KindEntry:
    """The whole descriptor that an entry of the settings means. Raises KeyProblem."""
    return over_preset(read_preset(entry.preset), entry) if entry.preset else entry


def compile_kinds(entries: Iterable[KindEntry]) -> Kinds:
    """The kinds that the settings name. Raises KeyProblem."""
    return Kinds.of(compile_kind(resolve(entry)) for entry in entries)


@cache
def all_presets() -> Kinds:
    """Every kind that is shipped: what commands without settings know."""
    return compile_kinds(KindEntry(preset=name) for name in PRESETS)
