"""The descriptors that are shipped, one file each; `quotree kinds` lists them."""

from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
import yaml

from shared.kinds.descriptor import LEAVE_OUT, PRESETS, KindEntry, over_preset
from shared.kinds.kind import Kind, Kinds, compile_kind
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
    """Compile the entries of the settings. Raises KeyProblem for ambiguous kinds, or an absent `through`."""
    compiled = [compile_kind(resolve(entry)) for entry in entries]
    _check_distinct(compiled)
    for each in compiled:
        if each.through and not any(other.kind == each.through and other.suspend for other in compiled):
            fix = f"its operator makes objects of kind {each.through}, which are governed in its place; add that kind"
            raise KeyProblem("kinds", f"{each.kind}: {fix}")
    return Kinds.of(compiled)


def _check_distinct(compiled: Sequence[Kind]) -> None:
    """Raise KeyProblem if two entries are of one kind, or of kinds of two groups that are called the same."""
    names = [(each.group, each.kind) for each in compiled]
    for group, kind in names:
        if names.count((group, kind)) > 1:
            raise KeyProblem("kinds", f"{kind} of {group} is there twice; keep one entry")
    called: dict[str, Kind] = {}
    for each in compiled:
        other = each if each.through else called.setdefault(each.kind.lower(), each)
        if other is not each:
            both = f"{other.kind} of {other.group} and {each.kind} of {each.group}"
            why = "workloads are distinguished by kind and name"
            raise KeyProblem("kinds", f"{both} are ambiguous: {why}; for one of them: {LEAVE_OUT}")


@cache
def all_presets() -> Kinds:
    """Return every shipped kind, which is what commands without settings know."""
    return compile_kinds(KindEntry(preset=name) for name in PRESETS)
