"""Which flavors a workload may take: one per set of resources that its group keeps together."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FlavorSet:
    """The requested resources of one codependent set, and the flavors that may serve them, in order of preference.

    `flavors` are those that the work is eligible for and whose request could ever fit (DESIGN section 3).
    """

    resources: tuple[str, ...]
    flavors: tuple[str, ...]
    refused: Mapping[str, str]
    """flavor -> why not; flavors of this set that are not in `flavors`."""


@dataclass(frozen=True, slots=True)
class Options:
    """All flavors that a workload may take in its group. No sets: it asks for nothing that is counted."""

    sets: tuple[FlavorSet, ...] = ()
    uncovered: tuple[str, ...] = ()
    """Requested resources that no entry covers, where the settings deny them."""

    @property
    def could_fit(self) -> bool:
        """Whether every set has a flavor and nothing requested is uncovered; else it never starts and never counts."""
        return not self.uncovered and all(each.flavors for each in self.sets)
