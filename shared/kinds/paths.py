"""The paths of a descriptor: kubectl's JSONPath without filters, slices and recursion.

`.spec.jobs[*].template`, `.metadata.annotations['a.b/c']`, `.spec.jobs[0]`; `[*]` is every item of a list, or every
member of a mapping, in the order of their keys.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

Step = str | int
Pointer = tuple[Step, ...]
"""The keys and indices that lead to one value of an object."""
MAX_PATH: Final = 512
MAX_STEPS: Final = 32
MAX_MATCHES: Final = 1024
"""The most values that a path with [*] can match."""
_STEP: Final = re.compile(
    r"\.(?P<key>[A-Za-z0-9_/-]+)|\[(?P<index>[0-9]{1,6})\]|(?P<all>\[\*\])|\['(?P<quoted>[^'\[\]]+)'\]"
)


class PathProblem(ValueError):
    """A path that leads to a value of the wrong type; the message names the field."""


@dataclass(frozen=True, slots=True)
class _Every:
    """The step [*]."""


@dataclass(frozen=True, slots=True)
class Path:
    """A compiled path; `text` is as it was written."""

    text: str
    steps: tuple[Step | _Every, ...]
    pointer: Pointer
    """The steps without [*]: all steps where it matches at most one value."""

    @property
    def is_single(self) -> bool:
        """Whether it matches at most one value."""
        return len(self.pointer) == len(self.steps)

    def get(self, root: Any, at: Pointer = ()) -> Any:
        """Return the value below `root`, or None. Raises PathProblem; `at`: the pointer of `root`, for its message."""
        value = root
        for number, step in enumerate(self.steps):
            if value is None:
                return None
            value = _below(value, step, self, at, number)
        return value

    def matches(self, root: Any, at: Pointer = ()) -> list[tuple[Pointer, Any]]:
        """Return every match and its pointer below `root`. Raises PathProblem, also for more than MAX_MATCHES."""
        found: list[tuple[Pointer, Any]] = [((), root)]
        for number, step in enumerate(self.steps):
            if not isinstance(step, _Every):
                below = ((place, _below(value, step, self, (*at, *place), number)) for place, value in found)
                found = [((*place, step), value) for place, value in below if value is not None]
                continue
            total = sum(_size(value, (*at, *place)) for place, value in found)
            if total > MAX_MATCHES:
                place = show((*at, *found[0][0]))
                raise PathProblem(f"{place} has {total} members; at most {MAX_MATCHES} are read")
            found = [((*place, key), value) for place, above in found for key, value in _members(above)]
        return found


def compile_path(text: str) -> Path:
    """Compile a path, which can have braces around it. Raises ValueError that says what is wrong."""
    if len(text) > MAX_PATH:
        raise ValueError(f"a path has at most {MAX_PATH} characters, this one {len(text)}")
    bare = text.strip()
    if bare.startswith("{") and bare.endswith("}"):
        bare = bare[1:-1].strip()
    if bare in ("", "."):
        return Path(text, (), ())
    if bare[0] not in ".[":
        bare = f".{bare}"
    steps: list[Step | _Every] = []
    position = 0
    while position < len(bare):
        match = _STEP.match(bare, position)
        if match is None:
            raise ValueError(
                f"{text!r} is no path (at {bare[position : position + 20]!r}): write .key, [0], [*] or ['a.key']"
            )
        position = match.end()
        steps.append(_step(match))
    if len(steps) > MAX_STEPS:
        raise ValueError(f"{text[:40]!r} has {len(steps)} steps; a path has at most {MAX_STEPS}")
    return Path(text, tuple(steps), tuple(step for step in steps if not isinstance(step, _Every)))


def _step(match: re.Match[str]) -> Step | _Every:
    if match["all"]:
        return _Every()
    return int(match["index"]) if match["index"] else match["key"] or match["quoted"]


def _below(value: Any, step: Step | _Every, path: Path, at: Pointer, number: int) -> Any:
    if isinstance(step, int):
        if not isinstance(value, list):
            raise PathProblem(f"{_place(path, at, number)} is {kind_of(value)}, not a list")
        return value[step] if step < len(value) else None
    if not isinstance(value, dict):
        raise PathProblem(f"{_place(path, at, number)} is {kind_of(value)}, not a mapping")
    return value.get(step)


def _place(path: Path, at: Pointer, number: int) -> str:
    """Return the field, for a message, that the step `number` cannot enter."""
    steps = [step for step in path.steps[:number] if not isinstance(step, _Every)]
    return show((*at, *steps)) if path.is_single else show(at)


def _size(value: Any, at: Pointer) -> int:
    if not isinstance(value, list | dict):
        raise PathProblem(f"{show(at)} is {kind_of(value)}, neither a list nor a mapping")
    return len(value)


def _members(value: Sequence[Any] | Mapping[str, Any]) -> Iterator[tuple[Step, Any]]:
    pairs: Any = sorted(value.items()) if isinstance(value, dict) else enumerate(value)
    yield from ((key, each) for key, each in pairs if each is not None)


def show(pointer: Pointer) -> str:
    """Return the field as messages name it: spec.jobs[0].template; the object itself is `it`."""
    text = ""
    for step in pointer:
        if isinstance(step, int) or not step.replace("_", "").replace("-", "").isalnum():
            text += f"[{step if isinstance(step, int) else printable(step[:63])}]"
        else:
            text += f".{step[:63]}" if text else step[:63]
    return text or "it"


def printable(text: str) -> str:
    """Return the text, quoted and escaped where it has control characters."""
    return text if text.isprintable() else repr(text)


def kind_of(value: Any) -> str:
    """Describe a JSON value for a message: "a list", "the text 'abc'", "true", "7"."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else _number(value)


def _number(value: Any) -> str:
    """Return a number as text. Python refuses to write one of thousands of digits, so it gets a description."""
    if isinstance(value, int) and value.bit_length() > 128:
        return "a number of more than 38 digits"
    return "nothing" if value is None else str(value)
