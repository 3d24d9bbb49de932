"""The predicates of a descriptor about an object: a condition, one of some values, presence, an expression."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from shared.kinds.expressions import Expression
from shared.kinds.paths import Path, PathProblem, Pointer
from shared.kinds.values import ValueAt, read_values

MAX_CONDITIONS: Final = 1024
"""Only this many conditions of an object are read."""


class Predicate(Protocol):
    """A yes-or-no question about an object."""

    def holds(self, root: Any, at: Pointer = ()) -> bool:
        """Return whether it is true of the object `root`. Raises PathProblem or ExpressionProblem."""


@dataclass(frozen=True, slots=True)
class HasCondition:
    """Whether `.status.conditions` has this type with this status."""

    type: str
    status: str

    def holds(self, root: Any, at: Pointer = ()) -> bool:
        status = root.get("status")
        conditions = status.get("conditions") if isinstance(status, dict) else None
        if not isinstance(conditions, list):
            return False
        return any(
            isinstance(each, dict) and each.get("type") == self.type and each.get("status") == self.status
            for each in conditions[:MAX_CONDITIONS]
        )


@dataclass(frozen=True, slots=True)
class IsAmong:
    """Whether the text at the path is one of these."""

    value: ValueAt
    texts: frozenset[str]

    def holds(self, root: Any, at: Pointer = ()) -> bool:
        found = self.value.read(root, at)
        return any(each in self.texts for each in (found if isinstance(found, list) else [found]))


@dataclass(frozen=True, slots=True)
class IsPresent:
    """Whether the path leads to a value (`present` true) or to none; empty texts, mappings and lists count as none."""

    path: Path
    present: bool

    def holds(self, root: Any, at: Pointer = ()) -> bool:
        found = any(value not in ("", {}, []) for _, value in self.path.matches(root, at))
        return found is self.present


@dataclass(frozen=True, slots=True)
class Computed:
    """Whether the expression is true."""

    expression: Expression
    values: Mapping[str, ValueAt]

    def holds(self, root: Any, at: Pointer = ()) -> bool:
        return self.expression.flag(read_values(self.values, root, at))


def any_holds(predicates: Iterable[Predicate], root: Any) -> bool:
    """Return whether one of them holds; one that cannot be evaluated, as on an unexpected status, does not."""
    for predicate in predicates:
        try:
            if predicate.holds(root):
                return True
        except (PathProblem, ValueError):
            continue
    return False
