"""Records an event for a pending workload with the reason it waits: after some time, when the reason changes, and
before the API server forgets the last one.

This never delays a start: one round a second checks a few workloads, however many wait, in the latest plan. A workload
that starts at once gets no event here.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, NoReturn

from reconciler.report.events.decisions import WorkloadEvents
from shared.api.durations import later
from shared.cluster.state.workloads.cache import WorkloadCache
from shared.quota.decide.decisions import Plan, WaitExplanation, WaitReason
from shared.quota.model.workload import Workload
from shared.quota.outlook.explain.pending_reasons import PendingReasons

_PATIENCE: Final = timedelta(seconds=3)
"""How long a workload waits before its first event; on an idle cluster it starts within a twentieth of a second."""
_EVENTS_LAST: Final = timedelta(minutes=50)
"""After how long an event is recorded again: the API server keeps events for an hour by default."""
_AGAIN: Final = timedelta(minutes=1)
"""How long until the same workload is checked again."""
_ROUND: Final = timedelta(seconds=1)
_LOOKS: Final = 10
"""How many are checked in one round: the maximum of events a second."""
_TIME: Final = 0.05
"""Seconds after which a round stops: one amount can need several measurements of a large tree."""
_PASSED_OVER: Final = 2000
"""How many started workloads are dropped in one round: decisions must not wait for it."""

ReportedReason = tuple[str, str, str, str]
"""Reason, binding group, flavor, resource. A changed amount alone causes no event."""


class PendingEvents:
    """All pending workloads in the order in which they are checked. `clock`: seconds, to time a round."""

    def __init__(
        self, work: WorkloadCache, events: WorkloadEvents, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.plan: Plan | None = None
        """The latest plan."""
        self._clock = clock
        self._work = work
        self._events = events
        self._fresh: deque[tuple[datetime, str]] = deque()
        self._known: deque[tuple[datetime, str]] = deque()
        self._due: dict[str, datetime] = {}
        """By workload key, when to check it: an entry of either queue with another time is void."""
        self._reported: dict[str, tuple[ReportedReason, datetime]] = {}
        """workload key -> the reason of the last event, and when it was recorded."""
        self.write: Callable[[WaitExplanation, datetime], None] | None = None
        """Writes on a workload why it waits."""

    def look_soon(self, key: str) -> None:
        """Check this workload as if it had just become pending."""
        self._work.index.newly_pending[key] = None

    async def run(self) -> NoReturn:
        """Run a round every second, indefinitely."""
        while True:
            await asyncio.sleep(_ROUND.total_seconds())
            self.round(datetime.now(UTC))

    def round(self, now: datetime) -> None:
        """Add what became pending since the last round, then check those that are due."""
        if self.plan is None:
            return
        first = later(now, _PATIENCE)
        for key in self._work.index.newly_pending:
            self._reported.pop(key, None)
            self._enter(self._fresh, key, first)
        self._work.index.newly_pending.clear()
        looks, reasons, until = _LOOKS, PendingReasons(self.plan), self._clock() + _TIME
        for line in (self._fresh, self._known):
            passed_over = 0
            while looks and self._clock() < until and passed_over < _PASSED_OVER and line and line[0][0] <= now:
                due, key = line.popleft()
                is_pending = False
                with self._work.readings.faults.about(self._work.readings.subject_of(key)):
                    is_pending = self._due.get(key) == due and self._look(key, reasons, now)
                if is_pending:
                    looks -= 1
                else:
                    passed_over += 1

    def _enter(self, line: deque[tuple[datetime, str]], key: str, due: datetime) -> None:
        self._due[key] = due
        line.append((due, key))

    def _look(self, key: str, reasons: PendingReasons, now: datetime) -> bool:
        """Return whether the workload is still pending; record an event if the reason is new."""
        workload = self._work.index.workload(key)
        if workload is None or not workload.is_pending:
            del self._due[key]
            self._reported.pop(key, None)
            return False
        self._report(key, workload, reasons, now)
        self._enter(self._known, key, later(now, _AGAIN))
        return True

    def _report(self, key: str, workload: Workload, reasons: PendingReasons, now: datetime) -> None:
        waiting = reasons.why(workload)
        if waiting is None or (waiting.reason is WaitReason.HELD and not workload.gates):  # by the owner's own label
            return
        said = _reason_of(waiting)
        known, at = self._reported.get(key, (None, now))
        if known == said and self.write is not None:
            # It has been so for a minute at least: what starts soon costs no write.
            self.write(waiting, now)
        if known != said or now - at >= _EVENTS_LAST:
            self._reported[key] = said, now
            self._events.waits(waiting, self._work.objects.of(key))


def _reason_of(waiting: WaitExplanation) -> ReportedReason:
    return (waiting.reason.value, waiting.binding, waiting.flavor, waiting.resource)
