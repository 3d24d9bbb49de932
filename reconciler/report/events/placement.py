"""Records an event for a started workload whose pods have no node within `startup.timeout`, with the reason.

The scheduler writes on each pod why no node fits it, where the owner of a Job seldom looks. One event for each start.
See docs/specification.md §8.2.
"""

import asyncio
import heapq
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from typing import Final, NoReturn

from reconciler.report.events.decisions import WorkloadEvents
from shared.api.durations import later
from shared.cluster.state.workloads.cache import WorkloadCache
from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.workload import Workload

_ROUND: Final = timedelta(seconds=1)
_LOOKS: Final = 100
"""How many workloads are checked in one round."""
_LATER: Final = timedelta(seconds=1)
"""How long after the timeout the pods are checked, because the scheduler might be about to report a reason."""


class PlacementEvents:
    """All started workloads, in the order in which their placement timeouts end."""

    def __init__(self, work: WorkloadCache, events: WorkloadEvents) -> None:
        self.snapshot: Snapshot | None = None
        """The latest snapshot, with the settings of each group."""
        self._work = work
        self._events = events
        self._due: list[tuple[datetime, str]] = []

    async def run(self) -> NoReturn:
        """Run a round every second, indefinitely."""
        while True:
            await asyncio.sleep(_ROUND.total_seconds())
            self.round(datetime.now(UTC))

    def round(self, now: datetime) -> None:
        """Add what was started since the last round, then check those whose timeout has passed."""
        for key in self._work.index.newly_started:
            with self._about(key):
                due = self._due_of(self._work.index.workload(key))
                if due is not None:
                    heapq.heappush(self._due, (due, key))
        self._work.index.newly_started.clear()
        for _ in range(_LOOKS):
            if not self._due or self._due[0][0] > now:
                return
            _, key = heapq.heappop(self._due)
            with self._about(key):
                self._look(key, now)

    def _about(self, key: str) -> AbstractContextManager[None]:
        return self._work.readings.faults.about(self._work.readings.subject_of(key))

    def _due_of(self, workload: Workload | None) -> datetime | None:
        leaf = self.snapshot.leaves.get(workload.group) if workload is not None and self.snapshot is not None else None
        if workload is None or workload.admission is None or workload.is_evicting or leaf is None:
            return None
        return later(later(workload.admission.since, leaf.startup.timeout), _LATER)

    def _look(self, key: str, now: datetime) -> None:
        workload = self._work.index.workload(key)
        due = self._due_of(workload)
        if workload is not None and due is not None and due <= now:
            reasons = self._work.objects.unplaced(key)
            if reasons:
                self._events.not_placed(workload, reasons, self._work.objects.of(key))
