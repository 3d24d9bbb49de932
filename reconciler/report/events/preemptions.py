"""Tells that kube-scheduler stopped pods of a workload, for pods of a higher PriorityClass: an event and a counter.

Quotree neither decides that nor can prevent it, and no quota bounds it. A leader reports what it has seen itself.
See docs/specification.md §9.3.
"""

import asyncio
from typing import Final, NoReturn

from reconciler.report.events.decisions import WorkloadEvents
from reconciler.report.metrics import EvictionMetrics
from shared.cluster.state.workloads.follow_ups import FollowUps

_ROUND: Final = 1.0
"""Seconds; what kube-scheduler stops of one workload within them is one event."""


class PreemptionReports:
    """Takes what was found of them, and reports it once a second."""

    def __init__(self, follow_ups: FollowUps, events: WorkloadEvents, metrics: EvictionMetrics) -> None:
        self._found = follow_ups.preempted
        self._events = events
        self._metrics = metrics
        # The previous leader has reported what was found before.
        self._found.clear()

    async def run(self) -> NoReturn:
        """Run a round every second, indefinitely."""
        while True:
            await asyncio.sleep(_ROUND)
            self.round()

    def round(self) -> None:
        """Report each workload that has lost pods since the last round."""
        for found in self._found.values():
            self._metrics.preempted_by_scheduler(found.workload.group, found.pods)
            self._events.preempted_by_scheduler(found)
        self._found.clear()
