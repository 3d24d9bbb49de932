"""Executes decisions: each is assumed at once, written in its own task, then reported, or dropped on failure.

A write whose object has changed since the decision is dropped, and the next cycle decides again.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime, timedelta

from reconciler.report.events.decisions import WorkloadEvents
from reconciler.report.metrics import ReconcilerMetrics
from reconciler.write.annotator import Annotator
from reconciler.write.evictions.writes import EvictionWrites
from reconciler.write.policy_changes import PolicyChanges
from reconciler.write.starts.times import StartTimes
from reconciler.write.starts.writes import StartWrites
from reconciler.write.unseen_pods_limits import UnseenPodsLimits
from reconciler.write.workload_writer import WorkloadWriter
from reconciler.write.write_queue import Spawn, WriteQueue
from shared.cluster.state.cluster_state import ClusterState
from shared.quota.decide.decisions import Plan
from shared.quota.model.workload import Workload


class Executor:
    """The only caller of the writer. `spawn` runs a write beside the cycle; `wake` asks for another cycle."""

    def __init__(  # noqa: PLR0913
        self,
        state: ClusterState,
        writer: WorkloadWriter,
        events: WorkloadEvents,
        metrics: ReconcilerMetrics,
        *,
        spawn: Spawn,
        wake: Callable[[], None],
    ) -> None:
        self._state = state
        self._writes = WriteQueue(state.work, writer, metrics, spawn, wake)
        self._starts = StartWrites(state, self._writes, events, metrics, wake)
        self._evictions = EvictionWrites(state, self._writes, events, metrics, writer=writer, spawn=spawn)
        self._limits = UnseenPodsLimits(state, wake)
        self._start_times = StartTimes(state.work, self._writes)
        self._policy_changes = PolicyChanges(state.work, self._writes)
        self.annotator = Annotator(state.work, self._writes, events)

    @property
    def begun(self) -> int:
        """How many writes were begun since this process leads."""
        return self._writes.begun

    def next_due(self, now: datetime) -> datetime | None:
        """Return when something has to be written that no decision is about."""
        return self._policy_changes.next_due(now)

    def is_busy(self) -> bool:
        """Return whether any write is under way."""
        return self._writes.is_busy

    def carry_out(self, plan: Plan, now: datetime) -> None:
        """Assume and begin everything in the plan, and complete what an earlier process left incomplete."""
        self._writes.now = now
        work = self._state.work
        for key in list(work.follow_ups.incomplete):
            with work.readings.set_aside_if_fails(key):
                self._complete(key)
        self._limits.begin()
        self._start_times.reset_kept()
        self._policy_changes.apply_due(now)
        for evict in self._evictions.whole_plans(plan.evictions):
            with self._one(evict.workload):
                self._evictions.evict(evict, now)
        for start in plan.starts:
            with self._one(start.workload):
                self._starts.start(start, now)
        for notice in plan.notices:
            with self._one(notice.workload):
                self.annotator.give_notice(notice, now)
        for workload in plan.notices_withdrawn:
            with self._one(workload):
                self.annotator.withdraw_notice(workload)
        for begun in plan.turns_begun:
            with self._one(begun.workload):
                self.annotator.begin_turn(begun)
        for without in plan.turns_ended:
            with self._one(without):
                self.annotator.end_turn(without)
        for ended in plan.claims_ended:
            with self._one(ended.victim):
                self.annotator.end_claim(ended)

    def _one(self, workload: Workload) -> AbstractContextManager[None]:
        """A decision that fails concerns its workload alone."""
        return self._state.work.readings.set_aside_if_fails(self._state.work.index.key_of(workload) or "")

    async def finish(self, within: timedelta) -> bool:
        """Wait for the writes and cancel slow ones; return whether all ended in time."""
        self._evictions.cancel()
        return await self._writes.finish(within)

    def _complete(self, key: str) -> None:
        """Evict the remaining pods of an eviction, or start the remaining pods of a start."""
        workload = self._state.work.index.workload(key)
        if workload is None or not self._writes.free_objects(key):
            return
        if workload.eviction is not None and workload.admission is not None:
            self._evictions.complete(key, workload.eviction.at)
        else:
            self._starts.complete(key, workload)
