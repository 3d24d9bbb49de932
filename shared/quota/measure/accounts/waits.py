"""How right forecasts were: how long workloads waited of what had been forecast for them.

Forecasts alone read this (docs/specification.md §9.8).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from shared.quota.measure.accounts.periods import milliseconds
from shared.quota.measure.inputs.workload_set import WorkloadSet
from shared.quota.model.workload import Workload, WorkloadId

MAX_FORESEEN: Final = 8
"""So many forecasts of a leaf at most wait for their workloads to start: more would be right or wrong together."""
_MOST: Final = 1_000_000
_MINUTE: Final = 60_000


class ForeseenWait(NamedTuple):
    """A forecast: when it was made, and when the workload starts at the earliest and latest, in milliseconds."""

    made: int
    earliest: int
    latest: int


class EndedWait(NamedTuple):
    """How long a workload waited of the earliest and of the latest that was forecast, in thousandths.

    A minute is added to each, so that a minute more or less says little of those that start soon. `start`: in
    milliseconds since 1970.
    """

    start: int
    of_earliest: int
    of_latest: int

    @classmethod
    def of(cls, foreseen: ForeseenWait, start: int) -> "EndedWait":
        """Return how right that forecast of a workload was that started then."""
        waited = max(0, start - foreseen.made) + _MINUTE
        parts = (max(0, end - foreseen.made) + _MINUTE for end in (foreseen.earliest, foreseen.latest))
        return cls(start, *(min(waited * 1000 // part, _MOST) for part in parts))


@dataclass(slots=True)
class ForeseenWaits:
    """The forecasts of one leaf whose workloads have not started yet."""

    _known: dict[WorkloadId, ForeseenWait] = field(default_factory=dict)

    def keep(self, found: Mapping[WorkloadId, ForeseenWait], workloads: WorkloadSet) -> None:
        """Keep the first forecast of each workload that waits, of some at most."""
        known = {**self._known, **{each: own for each, own in found.items() if each not in self._known}}
        waiting = [each for each, own in known.items() if _waits(workloads.by_id.get(each), own)]
        self._known = {each: known[each] for each in waiting[:MAX_FORESEEN]}

    def ended(self, workload: WorkloadId, start: int) -> EndedWait | None:
        """Forget the forecast of a workload that started then, and return how right it was; None: there is none."""
        known = self._known.pop(workload, None)
        return None if known is None else EndedWait.of(known, start)


def _waits(workload: Workload | None, foreseen: ForeseenWait) -> bool:
    """Return whether the workload waits, and is the one that the forecast was made for."""
    return workload is not None and workload.is_pending and milliseconds(workload.created) <= foreseen.made
