"""The decision cycle: read the world, freeze it, decide, carry it out. Started by every change, and by a timer."""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Final, NoReturn

from reconciler.report.group_events import GroupEvents
from reconciler.report.metrics import ReconcilerMetrics
from reconciler.report.status_writer import StatusWriter
from reconciler.state.adoption import flavors_for
from reconciler.state.cluster_state import ClusterState
from reconciler.write.executor import Executor
from shared.quota.decide.decisions import Plan
from shared.quota.decide.plan import plan
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.measure.snapshot import Snapshot, measure
from shared.telemetry import get_logger

_LONGEST_PAUSE: Final = timedelta(milliseconds=250)

log = get_logger(__name__)


class CycleRunner:
    """Runs while this process leads. A single change is decided at once; many are gathered."""

    def __init__(
        self,
        state: ClusterState,
        status: StatusWriter,
        group_events: GroupEvents,
        metrics: ReconcilerMetrics,
        wake: asyncio.Event,
    ) -> None:
        self._state = state
        self._status = status
        self._group_events = group_events
        self._metrics = metrics
        self._wake = wake
        self._snapshot: Snapshot | None = None
        self._cycle_cache = CycleCache()
        self._timer: asyncio.TimerHandle | None = None

    async def run(self, executor: Executor) -> NoReturn:
        """Decide indefinitely."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            started = time.perf_counter()
            decided = self._decide_once(executor, datetime.now(UTC))
            took = timedelta(seconds=time.perf_counter() - started)
            self._metrics.cycled(took)
            self._metrics.assumptions.set(len(self._state.work.assumptions))
            self._set_timer(decided.wake_at)
            # Pause as long as it took, so that watches and writes get at least half of the time.
            await asyncio.sleep(min(took, _LONGEST_PAUSE).total_seconds())

    def _decide_once(self, executor: Executor, now: datetime) -> Plan:
        snapshot = measure(self._state.world(), now, self._snapshot)
        for key, workload in list(self._state.work.unadmitted_running.items()):
            if workload.group in snapshot.leaves:
                executor.annotator.adopt(key, flavors_for(workload, snapshot), now)
        for key in list(self._state.work.unready):
            if self._waits_for_pods(key, snapshot):
                executor.annotator.write_unready(key, now)
        if self._state.changed:
            snapshot = measure(self._state.world(), now, snapshot)
        self._snapshot = snapshot
        decided = plan(snapshot, self._cycle_cache)
        self._state.remember_over(decided.over_since)
        executor.carry_out(decided, now)
        self._group_events.report(snapshot, decided)
        self._metrics.groups.snapshot = snapshot
        self._status.show(snapshot, decided.over_since)
        return decided

    def _waits_for_pods(self, key: str, snapshot: Snapshot) -> bool:
        workload = self._state.work.workload(key)
        leaf = snapshot.leaves.get(workload.group) if workload is not None else None
        return leaf is not None and leaf.startup.wait_for_pods_ready

    def _set_timer(self, wake_at: datetime | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if wake_at is not None:
            seconds = max((wake_at - datetime.now(UTC)).total_seconds(), 0.001)
            self._timer = asyncio.get_running_loop().call_later(seconds, self._wake.set)
