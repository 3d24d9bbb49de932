"""How long the controllers of workloads take to react to decisions, and which reactions are still to come. Pure."""

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from shared.api.durations import later
from shared.quota.model.workload import WorkloadId


@dataclass(frozen=True, slots=True)
class Reactions:
    """How long after a decision on a workload its controller reacts."""

    usual: timedelta = timedelta()
    known: Mapping[WorkloadId, Sequence[timedelta | None]] = field(default_factory=dict)
    """Workload → how long after the first such decision on it, the second, …; None, and after those: `usual`."""

    def after(self, workload: WorkloadId, number: int) -> timedelta:
        """Return how long after the `number`th decision on the workload, counted from 0."""
        known = self.known.get(workload, ())
        found = known[number] if number < len(known) else None
        return self.usual if found is None else found


AT_ONCE: Final = Reactions()


class ExpectedReactions:
    """The reactions that are still to come."""

    def __init__(self, reactions: Reactions) -> None:
        self._reactions = reactions
        self._numbers = Counter[WorkloadId]()
        """How many decisions there were on each workload."""
        self._coming: list[tuple[datetime, WorkloadId]] = []

    @property
    def next(self) -> datetime | None:
        """When the next one comes; None: there is none."""
        return self._coming[0][0] if self._coming else None

    def expect(self, workload: WorkloadId, now: datetime) -> bool:
        """Expect the reaction to a decision on this workload; return whether it takes any time."""
        takes = self._reactions.after(workload, self._numbers[workload])
        self._numbers[workload] += 1
        self.expect_at(later(now, takes), workload)
        return takes > timedelta()

    def expect_at(self, moment: datetime, workload: WorkloadId) -> None:
        """Expect the reaction to an earlier decision at that moment."""
        heapq.heappush(self._coming, (moment, workload))

    def take(self, now: datetime) -> list[WorkloadId]:
        """Return the workloads of which one has come by now; it is expected no more."""
        found = []
        while self._coming and self._coming[0][0] <= now:
            found.append(heapq.heappop(self._coming)[1])
        return found
