"""The decision cycle: read the world, freeze it, decide, execute. Triggered by changes and by a timer."""

import asyncio
import time
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, NoReturn

from reconciler.recording.recording import Recording
from reconciler.report.events.groups import GroupEvents
from reconciler.report.fault_reports import FaultReports
from reconciler.report.latest_plan import LatestPlan
from reconciler.report.metrics import ReconcilerMetrics
from reconciler.report.status.writer import StatusWriter
from reconciler.wake import Wake
from reconciler.write.deletions import Deletions
from reconciler.write.executor import Executor
from reconciler.write.pod_groups import PodGroups
from shared.cluster.state.adoption import flavors_for
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.decider import Decider
from shared.kube.watch.memory import keep_all_made
from shared.quota.decide.decisions import Plan
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.tree import ROOT, SYSTEM
from shared.telemetry import get_logger

_FIRST_IDLE_PAUSE: Final = timedelta(milliseconds=10)
_LONGEST_IDLE_PAUSE: Final = timedelta(seconds=2)
_LONGEST_TIMER: Final = 86_400.0
"""Seconds."""

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Reports:
    """Receives the snapshot and plan of every cycle."""

    status: StatusWriter
    group_events: GroupEvents
    latest_plan: LatestPlan
    faults: FaultReports
    deletions: Deletions
    pod_groups: PodGroups | None = None
    recording: Recording | None = None

    def show(self, snapshot: Snapshot, decided: Plan, cache: CycleCache) -> None:
        """Receive the latest plan, the snapshot it was made from, and what makes the next one cheap."""
        self.group_events.report(snapshot, decided)
        self.status.show(snapshot, decided.over_since)
        self.latest_plan.show(snapshot, decided, cache)
        self.deletions.show(snapshot.world)
        if self.pod_groups is not None:
            self.pod_groups.look()
        if self.recording is not None:
            self.recording.decided(snapshot.world, decided.now)
        self.faults.tell()


class CycleRunner:
    """Runs decision cycles while this process leads."""

    def __init__(
        self,
        state: ClusterState,
        reports: Reports,
        metrics: ReconcilerMetrics,
        wake: Wake,
    ) -> None:
        self._state = state
        self._reports = reports
        self._metrics = metrics
        self._wake = wake
        self._idle_cycles = 0
        self._decider = Decider(state)
        self._timer: asyncio.TimerHandle | None = None

    async def run(self, executor: Executor) -> NoReturn:
        """Run cycles indefinitely."""
        while True:
            requested = await self._wake.wait()
            started = time.perf_counter()
            was_changed = self._state.changed
            begun, now = executor.begun, datetime.now(UTC)
            try:
                with nullcontext() if self._decider.last else keep_all_made():
                    snapshot, decided = self._decide_once(executor, now)
            except Exception as error:
                await self._set_aside_cause(error, now)
                continue
            self._carry_out(executor, snapshot, decided)
            ended = time.perf_counter()
            took = timedelta(seconds=ended - started)
            self._metrics.cycles.cycled(took, ended - requested)
            self._metrics.writes.assumptions.set(len(self._state.work.overlay.assumptions))
            moments = (
                decided.wake_at,
                decided.next_turn,
                decided.next_end,
                self._state.next_change,
                executor.next_due(now),
            )
            self._set_timer(min(filter(None, moments), default=None))
            await self._add_up_accounts()
            await self._pause_if_idle(is_idle=not was_changed and executor.begun == begun)
            await self._wake.pause(took)

    async def _pause_if_idle(self, *, is_idle: bool) -> None:
        """Wait after two cycles in a row without a change, longer each time; a change in the cluster ends the wait.

        No rule needs such cycles. The pause keeps the process from spinning if one cycle should trigger the next.
        """
        self._wake.observed.clear()
        if not is_idle:
            self._idle_cycles = 0
            return
        self._idle_cycles += 1
        self._metrics.cycles.cycled_idle()
        if self._idle_cycles < 2:
            return
        pause = min(_FIRST_IDLE_PAUSE * 2 ** min(self._idle_cycles - 2, 16), _LONGEST_IDLE_PAUSE)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._wake.observed.wait(), pause.total_seconds())

    def _decide_once(self, executor: Executor, now: datetime) -> tuple[Snapshot, Plan]:
        snapshot = self._decider.measure(now)
        for key, workload in list(self._state.work.follow_ups.unadmitted_running.items()):
            with self._state.work.readings.set_aside_if_fails(key):
                if workload.group in snapshot.leaves:
                    executor.annotator.adopt(key, flavors_for(workload, snapshot), now)
        self._write_unready(executor, snapshot, now)
        if self._state.changed:
            snapshot = self._decider.measure(now, snapshot)
        return snapshot, self._decider.plan(snapshot)

    def _carry_out(self, executor: Executor, snapshot: Snapshot, decided: Plan) -> None:
        self._state.remember_over(decided.over_since)
        executor.carry_out(decided, decided.now)
        if self._state.accounts is not None:
            # After the writes of decisions: no start waits for it.
            runtime = {key: each.runtime for key, each in snapshot.numbers.get(ROOT, {}).items()}
            self._state.accounts.after(snapshot.world, decided.now, runtime)
        self._reports.show(snapshot, decided, self._decider.cache)
        self._metrics.groups.show(snapshot, decided)

    async def _add_up_accounts(self) -> None:
        """Go on with the sum of the accounts that is under way: by a slice, and by more while no cycle is requested.

        A start waits for one slice at most, and other tasks run between two.
        """
        book = self._state.accounts
        if book is None or not book.is_adding_up:
            return
        while book.add_slice():
            await asyncio.sleep(0)
            if self._wake.is_requested:
                return
        self._wake.request()  # The statuses are to show it.

    async def _set_aside_cause(self, error: Exception, now: datetime) -> None:
        """Set aside the object on which deciding has failed. Raises `error` if none is responsible.

        Other tasks run between the steps of the search.
        """
        log.critical("Deciding failed: our own bug; looking for the object", exc_info=error)
        for _ in self._decider.recover(error, now):
            # What the failed decision has left is of no use to them.
            self._reports.latest_plan.cache = self._decider.cache
            await asyncio.sleep(0)
        self._reports.latest_plan.cache = self._decider.cache
        self._reports.faults.tell()
        self._wake.request()

    def _write_unready(self, executor: Executor, snapshot: Snapshot, now: datetime) -> None:
        """Write since when workloads have lost readiness, where a deadline or lost capacity counts from then."""
        is_short = _is_short(snapshot)
        for key in list(self._state.work.follow_ups.unready):
            with self._state.work.readings.set_aside_if_fails(key):
                if is_short or self._waits_for_pods(key, snapshot):
                    executor.annotator.write_unready(key, now)

    def _waits_for_pods(self, key: str, snapshot: Snapshot) -> bool:
        workload = self._state.work.index.workload(key)
        leaf = snapshot.leaves.get(workload.group) if workload is not None else None
        return leaf is not None and leaf.startup.wait_for_pods_ready

    def _set_timer(self, wake_at: datetime | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if wake_at is not None:
            seconds = min(max((wake_at - datetime.now(UTC)).total_seconds(), 0.001), _LONGEST_TIMER)
            self._timer = asyncio.get_running_loop().call_later(seconds, self._wake.request)


def _is_short(snapshot: Snapshot) -> bool:
    """Return whether workloads, including those being evicted, use more of some resource than the cluster has."""
    system, root = snapshot.numbers.get(SYSTEM, {}), snapshot.numbers.get(ROOT, {})
    return any(each.used - (system[key].used if key in system else 0) > each.runtime for key, each in root.items())
