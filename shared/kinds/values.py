"""The named values that expressions and predicates read from an object: a path, with a default as in `.replicas | 1`.

Only numbers, texts, flags and lists of them are read; anything else is a PathProblem that names the field.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from shared.kinds.expressions import MAX_INTEGER, WORDS, Value
from shared.kinds.paths import Path, PathProblem, Pointer, compile_path, kind_of, show

MAX_COUNT: Final = 2**31 - 1
"""The largest number of pods, and the largest number that a count is computed from."""
MAX_TEXT: Final = 4096


@dataclass(frozen=True, slots=True)
class ValueAt:
    """The path of a value, and its default where the path matches nothing."""

    path: Path
    default: Value = None

    def read(self, root: Any, at: Pointer = ()) -> Value:
        """Return the value below `root`, whose pointer is `at`. Raises PathProblem."""
        if not self.path.is_single:
            return [_scalar(each, (*at, *place)) for place, each in self.path.matches(root, at)]
        found = self.path.get(root, at)
        return self.default if found is None else _scalar(found, (*at, *self.path.pointer))


def compile_value(text: str) -> ValueAt:
    """Compile `PATH` or `PATH | DEFAULT`; the default is JSON. Raises ValueError that says what is wrong."""
    path, bar, default = text.partition("|")
    if not bar:
        return ValueAt(compile_path(path.strip()))
    try:
        value = msgspec.json.decode(default.strip())
    except msgspec.DecodeError:
        raise ValueError(f'{text!r}: {default.strip()!r} is no number, "text", true or false') from None
    if isinstance(value, dict | list):
        raise ValueError(f'{text!r}: the default is {kind_of(value)}; write a number, "text", true or false')
    return ValueAt(compile_path(path.strip()), value)


def compile_values(texts: Mapping[str, str]) -> Mapping[str, ValueAt]:
    """Compile each value, by name. Raises ValueError that says what is wrong."""
    for name in texts:
        if not (name.isidentifier() and name.isascii()) or name in WORDS:
            raise ValueError(f"{name!r} is no name for a value: write letters, digits and _, and no word of CEL")
    return {name: compile_value(text) for name, text in texts.items()}


def read_values(values: Mapping[str, ValueAt], root: Any, at: Pointer = ()) -> dict[str, Value]:
    """Return each value below `root`, whose pointer is `at`. Raises PathProblem."""
    return {name: value.read(root, at) for name, value in values.items()}


def read_counts(values: Mapping[str, ValueAt], root: Any, at: Pointer = ()) -> dict[str, Value]:
    """Return the same for numbers of pods: a number must be whole, and from 0 to MAX_COUNT. Raises PathProblem.

    A value that has a number as its default must be a number.
    """
    found = read_values(values, root, at)
    for name, value in found.items():
        needed = _is_number(values[name].default) or _is_number(value)
        if needed and not (isinstance(value, int) and _is_number(value) and 0 <= value <= MAX_COUNT):
            place = show((*at, *values[name].path.pointer))
            raise PathProblem(f"{place} is {kind_of(value)}; it must be a whole number from 0 to {MAX_COUNT}")
    return found


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _scalar(value: Any, at: Pointer) -> Value:
    if isinstance(value, dict | list):
        raise PathProblem(f"{show(at)} is {kind_of(value)}, not a number, a text, true or false")
    if isinstance(value, str) and (len(value) > MAX_TEXT or not value.isprintable()):
        raise PathProblem(f"{show(at)} is a text of {len(value)} characters that cannot be read")
    if isinstance(value, int) and not -MAX_INTEGER <= value < MAX_INTEGER:
        raise PathProblem(f"{show(at)} is {kind_of(value)}; it is too large")
    result: Value = value
    return result
