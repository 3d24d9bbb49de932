"""Evaluates kubectl's JSONPath templates on plain data: fields, [*], [number], {range}…{end}, and literal text.

Filters ([?(…)]) and slices are not supported; kubectl itself reads the visibility API with them.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from shared.problems import Problem

_PART: Final = re.compile(r"\{([^{}]*)\}|([^{}]+)")
_STEP: Final = re.compile(r"\.?([A-Za-z_][\w-]*)|\[(\*|-?\d+)\]|\['([^']+)'\]|\.?\['([^']+)'\]")


def evaluate(template: str, data: Any) -> str:
    """Return the text of a template such as {.items[*].group}. Raises Problem if it is invalid."""
    parts = [(match[1], match[2]) for match in _PART.finditer(template)]
    return "".join(_texts(parts, data))


def values(path: str, data: Any) -> list[Any]:
    """Return what a path such as .items[*].group selects; empty if a field is absent."""
    found, at = [data], 0
    path = path.strip().removeprefix("$").removeprefix("@")
    while at < len(path):
        if path[at:] == ".":
            break
        step = _STEP.match(path, at)
        if step is None:
            raise Problem(
                f"the path {path!r} cannot be read from {path[at:]!r} on; write for example {{.items[*].group}}"
            )
        name = step[1] or step[3] or step[4]
        found = [each for one in found for each in (_field(one, name) if name else _items(one, step[2]))]
        at = step.end()
    return found


def _field(value: Any, name: str) -> list[Any]:
    return [value[name]] if isinstance(value, dict) and name in value else []


def _items(value: Any, place: str) -> Sequence[Any]:
    if isinstance(value, dict):
        return list(value.values()) if place == "*" else []
    if not isinstance(value, list):
        return []
    if place == "*":
        return value
    at = int(place)
    return [value[at]] if -len(value) <= at < len(value) else []


def _texts(parts: Sequence[tuple[str | None, str | None]], data: Any) -> Iterator[str]:
    at = 0
    while at < len(parts):
        action, literal = parts[at]
        at += 1
        if action is None:
            yield literal or ""
        elif action.startswith("range "):
            end = _end_of(parts, at)
            for each in values(action.removeprefix("range "), data):
                yield from _texts(parts[at:end], each)
            at = end + 1
        elif action[:1] in ("'", '"'):
            yield action[1:-1].replace("\\n", "\n").replace("\\t", "\t")
        else:
            yield " ".join(map(as_text, values(action, data)))


def _end_of(parts: Sequence[tuple[str | None, str | None]], at: int) -> int:
    depth = 1
    for place in range(at, len(parts)):
        action = parts[place][0] or ""
        depth += action.startswith("range ")
        depth -= action == "end"
        if not depth:
            return place
    raise Problem("the template has a {range …} without {end}")


def as_text(value: Any) -> str:
    """Return the value as kubectl prints it: text as it is, other values as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
