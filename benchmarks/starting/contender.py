"""What a contender is asked for: to hold Jobs at creation in 20 groups of two levels, and to start them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

PARENTS: Final = 4
LEAVES: Final = 5
"""Below each parent."""

ROOM: Final = {"cpu": "2000", "memory": "8000Gi"}
"""What each leaf is promised: enough for all of its Jobs at once."""


@dataclass(frozen=True, slots=True)
class Contender:
    """One that runs beside a control plane and starts the Jobs that are made for it.

    `label`: the label that says which leaf a Job belongs to; its values are `leaves()`. `suspended`: whether Jobs must
    be created suspended, because no webhook holds them. `hold`, `release`: let nothing start; let all start.
    """

    name: str
    label: str
    hold: Callable[[], None]
    release: Callable[[], None]
    suspended: bool = False

    def labels(self, number: int) -> Mapping[str, str]:
        """Of the Job of that number: the leaves take turns."""
        names = leaves()
        return {self.label: names[number % len(names)]}


def parents() -> list[str]:
    """Return the groups of the first level."""
    return [f"division-{number}" for number in range(PARENTS)]


def leaves() -> list[str]:
    """Return the groups of the second level: `leaves_of` each parent in turn."""
    return [leaf for parent in parents() for leaf in leaves_of(parent)]


def leaves_of(parent: str) -> list[str]:
    """Return the groups below that one."""
    return [f"{parent}-team-{number}" for number in range(LEAVES)]
