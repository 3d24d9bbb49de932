"""Carries out decisions: each is assumed at once, written in its own task, and then told, or forgotten.

A write that met another object than it was decided on is forgotten, and the next cycle decides again.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from reconciler.report.events import WorkloadEvents
from reconciler.report.metrics import ReconcilerMetrics
from reconciler.state.cluster_state import ClusterState
from reconciler.state.workload_reader import WorkloadObject
from reconciler.write import annotations, patches
from reconciler.write.annotator import Annotator
from reconciler.write.pod_evictions import PodEvictions
from reconciler.write.workload_writer import WorkloadWriter, WriteOutcome
from reconciler.write.write_queue import WAITS, Spawn, WriteQueue
from shared.api.core.job import Job
from shared.api.core.pod import Pod
from shared.api.names import ADMISSION, EVICTION, NOTICE, REQUEUE
from shared.api.patches import Operation
from shared.quota.decide.decisions import Evict, Plan, Start, Tier
from shared.quota.model.workload import Admission, Eviction

_ANSWER: Final = timedelta(seconds=30)
"""By then the Job controller has seen a suspension, and has ended what pods it had made."""

_SIGHT: Final = timedelta(seconds=10)
"""By then the watch of pods has shown those of a Job that was deleted."""


class Executor:
    """The only caller of the writer. `spawn` runs a write beside the cycle; `wake` asks for another cycle."""

    def __init__(  # noqa: PLR0913
        self,
        state: ClusterState,
        writer: WorkloadWriter,
        telling: WorkloadEvents,
        metrics: ReconcilerMetrics,
        *,
        spawn: Spawn,
        wake: Callable[[], None],
    ) -> None:
        self._state = state
        self._telling = telling
        self._metrics = metrics
        self._wake = wake
        self._writes = WriteQueue(state.work, writer, metrics, spawn, wake)
        self.annotator = Annotator(state.work, self._writes, telling)
        self._pod_evictions = PodEvictions(writer, state.work.has_pod, spawn)

    def carry_out(self, plan: Plan, now: datetime) -> None:
        """Assume and begin everything the plan says, and go on with what an earlier process left half done."""
        self._writes.now = now
        for unit in list(self._state.work.half_done):
            self._go_on(unit)
        self._wait_for_answers()
        for evict in self._whole_plans(plan.evictions):
            self._evict(evict, now)
        for start in plan.starts:
            self._start(start, now)
        for notice in plan.notices:
            self.annotator.give_notice(notice, now)
        for workload in plan.notices_withdrawn:
            self.annotator.withdraw_notice(workload)
        for ended in plan.claims_ended:
            self.annotator.end_claim(ended)

    async def finish(self, within: timedelta) -> bool:
        """Let the writes under way come to their end; cancel those that have not by then. Whether all had."""
        self._pod_evictions.cancel()
        return await self._writes.finish(within)

    def _start(self, start: Start, now: datetime) -> None:
        unit = self._writes.free_unit(start.workload)
        if unit is None:
            return
        objects = self._writes.free_objects(unit)
        text = annotations.write_admission(start.flavors, now)
        mark = (ADMISSION, text)
        is_answered = not isinstance(objects[0], Job)
        admission = Admission(start.flavors, now, answered=is_answered)
        started = replace(start.workload, admission=admission, notice=None)
        self._state.work.assume(unit, started, mark)
        decided = time.perf_counter()

        async def write() -> None:
            outcome = await self._writes.patch(unit, objects, lambda each: self._start_patch(each, start, text), mark)
            if outcome.fate is WriteOutcome.WRITTEN:
                self._metrics.started(start, time.perf_counter() - decided)
                self._telling.started(start, objects)
                return
            if outcome.fate is WriteOutcome.INVALID:
                self._state.work.block(unit, set(start.flavors.values()))
                self._telling.start_refused(start, objects, f"other flavors are tried: {outcome.message}")
                return
            wait = WAITS[outcome.fate]
            self._state.work.park(unit, now + wait)
            if outcome.fate is not WriteOutcome.STALE:
                again = f"tried again in {wait.total_seconds():.0f} s"
                self._telling.start_refused(start, objects, f"{again}: {outcome.message}")

        self._writes.begin(unit, write())

    def _start_patch(self, target: WorkloadObject, start: Start, text: str) -> list[Operation]:
        group = start.workload.group
        if isinstance(target, Job):
            return patches.start_job(target.metadata, group, {ADMISSION: text})
        names = sorted(set(start.flavors.values()))
        flavors = [self._state.flavors[name] for name in names if name in self._state.flavors]
        return patches.start_pod(target, group, {ADMISSION: text}, flavors)

    def _evict(self, evict: Evict, now: datetime) -> None:
        unit = self._writes.free_unit(evict.workload)
        if unit is None:
            return
        objects = self._writes.free_objects(unit)
        text = annotations.write_eviction(evict, now)
        written = {EVICTION: text, REQUEUE: annotations.write_requeue(evict.requeue)}
        mark = (EVICTION, text)
        gone = replace(evict.workload, eviction=Eviction(evict.reason, now), claim=evict.claim, notice=None)
        self._state.work.assume(unit, gone, mark)

        async def write() -> None:
            outcome = await self._writes.patch(unit, objects, lambda each: _evict_patch(each, evict, written), mark)
            if outcome.fate is WriteOutcome.WRITTEN:
                self._metrics.evicted(evict)
                self._telling.evicted(evict, objects, self._preemptor(evict))
                self._pod_evictions.begin(objects)
            elif outcome.fate is not WriteOutcome.STALE:
                self._telling.eviction_refused(evict, objects, outcome.message)

        self._writes.begin(unit, write())

    def _whole_plans(self, evictions: Sequence[Evict]) -> list[Evict]:
        """Those that can be written now. The victims of one preemptor go together: some alone would free too little."""
        busy = {each.workload.id for each in evictions if self._writes.free_unit(each.workload) is None}
        waiting = {each.claim.preemptor_id for each in evictions if each.claim is not None and each.workload.id in busy}
        return [
            each
            for each in evictions
            if each.workload.id not in busy and (each.claim is None or each.claim.preemptor_id not in waiting)
        ]

    def _wait_for_answers(self) -> None:
        """Let Jobs whose pods nobody has seen yet be in use for no longer than is reasonable.

        They were suspended before their start was answered, or deleted before the watch of pods showed any.
        """
        for units, patience, give_up in (
            (self._state.work.taken_back.fresh, _ANSWER, self._state.work.await_no_answer),
            (self._state.work.unseen_pods, _SIGHT, self._state.await_no_pods),
        ):
            for unit in units:
                asyncio.get_running_loop().call_later(patience.total_seconds(), self._give_up, give_up, unit)
            units.clear()

    def _give_up(self, waiting_for: Callable[[str], None], unit: str) -> None:
        waiting_for(unit)
        self._wake()

    def _go_on(self, unit: str) -> None:
        """Finish what was begun: evict the other pods of an eviction, start the other pods of a start."""
        workload, objects = self._state.work.workload(unit), self._writes.free_objects(unit)
        if workload is None or workload.admission is None or not objects:
            return
        if workload.is_evicting:
            self._pod_evictions.begin(objects)
            return
        gated = [each for each in objects if isinstance(each, Pod) and each.is_gated]
        flavors = workload.admission.flavors
        text = annotations.write_admission(flavors, workload.admission.since)

        async def write() -> None:
            start = Start(workload, flavors, Tier.ENTITLED)
            mark = (ADMISSION, text)
            await self._writes.patch(unit, gated, lambda each: self._start_patch(each, start, text), mark)

        self._writes.begin(unit, write())

    def _preemptor(self, evict: Evict) -> list[WorkloadObject]:
        unit = None if evict.claim is None else self._state.work.unit_named(evict.claim.preemptor)
        return [] if unit is None else self._state.work.objects(unit)


def _evict_patch(target: WorkloadObject, evict: Evict, written: patches.Notes) -> list[Operation]:
    if isinstance(target, Job):
        return patches.evict_job(target.metadata, evict.workload.group, written)
    return patches.annotate(target.metadata, {**written, NOTICE: None})
