"""What a contender is asked for: to hold Jobs at creation in groups of two levels, and to start them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

Room = Mapping[str, str]
"""resource -> quantity."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A group of the second level, and what it is promised."""

    name: str
    parent: str
    room: Room


ENOUGH: Final[Room] = {"cpu": "2000", "memory": "8000Gi"}
"""For all of a leaf's Jobs at once."""

TWENTY: Final = tuple(
    Leaf(f"division-{parent}-team-{number}", f"division-{parent}", ENOUGH) for parent in range(4) for number in range(5)
)


@dataclass(frozen=True, slots=True)
class Contender:
    """One that runs beside a control plane and starts the Jobs that are made for it.

    `label`: the label whose value, a leaf's name, says where a Job belongs. `suspended`: whether Jobs must be created
    suspended, because no webhook holds them. `hold`, `release`: let nothing start; let all start. `programs`: its own
    processes, as `benchmarks.starts.cpu_spent` names them. `known`: how many Jobs the status of its groups counts.
    """

    name: str
    label: str
    leaves: Sequence[Leaf]
    hold: Callable[[], None]
    release: Callable[[], None]
    programs: Sequence[str]
    suspended: bool = False
    known: Callable[[], int] = lambda: 0

    def labels(self, number: int) -> Mapping[str, str]:
        """Of the Job of that number: the leaves take turns."""
        return {self.label: self.leaves[number % len(self.leaves)].name}


def by_parent(leaves: Sequence[Leaf]) -> dict[str, list[Leaf]]:
    """Return parent -> its leaves."""
    found: dict[str, list[Leaf]] = {}
    for leaf in leaves:
        found.setdefault(leaf.parent, []).append(leaf)
    return found
