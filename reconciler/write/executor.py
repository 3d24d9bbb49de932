"""Carries out decisions: each is assumed at once, written in its own task, then reported, or dropped.

A write that met another object than it was decided on is dropped, and the next cycle decides again.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from reconciler.report.events import WorkloadEvents, placement_text
from reconciler.report.metrics import ReconcilerMetrics
from reconciler.state.cluster_state import ClusterState
from reconciler.state.observed.object_store import PodRef
from reconciler.state.observed.workload_reader import WorkloadObject
from reconciler.state.unwritten import AnnotationPatch
from reconciler.write import annotations, patches
from reconciler.write.annotator import Annotator
from reconciler.write.pod_evictions import PodEvictions
from reconciler.write.start_patches import StartPatches
from reconciler.write.workload_writer import WorkloadWriter, WriteOutcome
from reconciler.write.write_queue import DONE, WAITS, Spawn, WriteQueue
from shared.api.core.job import Job
from shared.api.core.pod import Pod
from shared.api.names import ADMISSION, EVICTION, NOTICE, REQUEUE
from shared.api.patches import Operation
from shared.kinds.kind_object import KindObject
from shared.quota.decide.decisions import Evict, EvictionRule, Plan, Start, Tier
from shared.quota.model.workload import Admission, Workload, flavor_names

_ANSWER_LIMIT: Final = timedelta(seconds=30)
"""How long the Job controller may take to see a suspension and to delete the pods it had made."""

_GUARDED_TRIES: Final = 2
"""After so many stale tries an eviction no longer tests the generation: an owner who keeps changing the spec must not
delay it."""
_PODS_SEEN_LIMIT: Final = timedelta(seconds=10)
"""How long the watch of pods may take to show the pods of a deleted Job, or those that were being made when the object
of a governed kind was stopped."""


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
        self._events = events
        self._metrics = metrics
        self._wake = wake
        self._writes = WriteQueue(state.work, writer, metrics, spawn, wake)
        self._start_patches = StartPatches(state)
        self.annotator = Annotator(state.work, self._writes, events)
        self._pod_evictions = PodEvictions(
            writer, state.work.has_pod, self._report_deletion, spawn, state.settings.reclaim.eviction_timeout
        )

    @property
    def begun(self) -> int:
        """How many writes were begun since this process leads."""
        return self._writes.begun

    def carry_out(self, plan: Plan, now: datetime) -> None:
        """Assume and begin everything the plan says, and complete what an earlier process left incomplete."""
        self._writes.now = now
        for key in list(self._state.work.incomplete):
            self._complete(key)
        self._limit_waiting()
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
        """Wait for the writes, cancel those that take longer; whether all ended in time."""
        self._pod_evictions.cancel()
        return await self._writes.finish(within)

    def _start(self, start: Start, now: datetime) -> None:
        key = self._writes.free_key(start.workload)
        if key is None:
            return
        objects = self._writes.free_objects(key)
        if problems := self._start_patches.conflicts(start):
            self._refuse_flavors(key, start, objects, "; ".join(problems))
            self._wake()
            return
        text = annotations.write_admission(start.flavors, now, self._state.work.members_named(key, objects))
        mark = (ADMISSION, text)
        is_answered = isinstance(objects[0], Pod)
        admission = Admission(start.flavors, now, answered=is_answered)
        started = replace(start.workload, admission=admission, notice=None)
        self._state.work.assume(key, started, mark)
        decided, entitled = time.perf_counter(), self._metrics.entitled_wait(start.workload, now)

        async def write() -> None:
            outcome = await self._writes.patch(
                key, objects, lambda each: self._start_patches.of(each, start, text), mark
            )
            if outcome.fate is WriteOutcome.WRITTEN:
                self._state.work.unwritten.drop(key)
                self._metrics.started(start, now, entitled, time.perf_counter() - decided)
                self._events.started(start, objects)
                return
            if outcome.fate is WriteOutcome.INVALID:
                self._refuse_flavors(key, start, objects, outcome.message)
                return
            wait = WAITS[outcome.fate]
            self._state.work.park(key, now + wait)
            if outcome.fate is WriteOutcome.TOO_LARGE:
                full = "the object has no space left for the admission annotation, shorten its annotations"
                self._events.start_refused(start, objects, f"{full}: {outcome.message}")
            elif outcome.fate is not WriteOutcome.STALE:
                again = f"tried again in {wait.total_seconds():.0f} s"
                self._events.start_refused(start, objects, f"{again}: {outcome.message}")

        self._writes.begin(key, write())

    def _refuse_flavors(self, key: str, start: Start, objects: list[WorkloadObject], why: str) -> None:
        """Start it in these flavors no more, until its spec changes."""
        self._state.work.block(key, flavor_names(start.flavors))
        self._events.start_refused(start, objects, f"other flavors are tried: {why}")

    def _evict(self, evict: Evict, now: datetime) -> None:
        key = self._writes.free_key(evict.workload)
        if key is None:
            return
        unplaced = self._state.work.unplaced(key) if evict.rule is EvictionRule.STARTUP_TIMEOUT else []
        if unplaced:
            evict = replace(evict, message=f"{evict.message}; {placement_text(unplaced)}")
        objects = self._writes.free_objects(key)
        text = annotations.write_eviction(evict, now)
        written = {EVICTION: text, REQUEUE: annotations.write_requeue(evict.requeue)}
        mark = (EVICTION, text)
        evicting = replace(
            evict.workload,
            eviction=evict.as_eviction(now),
            claim=evict.claim,
            notice=None,
            evictions=evict.workload.evictions + 1,
        )
        self._state.work.assume(key, evicting, mark)

        taker = self._taker(evict)
        guard = patches.Guard.SPEC if self._writes.stale_tries(key) < _GUARDED_TRIES else patches.Guard.IDENTITY

        def patch(each: WorkloadObject) -> list[Operation]:
            return _evict_patch(each, evict, written, guard)

        async def write() -> None:
            outcome = await self._writes.patch(key, objects, patch, mark, _least_eviction)
            if outcome.fate in DONE:
                self._state.work.unwritten.drop(key)
                if outcome.fate is WriteOutcome.REDUCED:
                    self._state.work.keep_unwritten(key, {**written, ADMISSION: None, NOTICE: None})
                self._metrics.evicted(evict, now, taker)
                self._events.evicted(evict, objects, self._preemptor(evict))
                self._pod_evictions.begin(self._state.work.pods_to_evict(key), now)
            elif outcome.fate is not WriteOutcome.STALE:
                self._events.eviction_refused(evict, objects, outcome.message)

        self._writes.begin(key, write())

    def _whole_plans(self, evictions: Sequence[Evict]) -> list[Evict]:
        """Those that can be written now. All victims of a preemptor go together: some of them would free too little."""
        busy = {each.workload.id for each in evictions if self._writes.free_key(each.workload) is None}
        waiting = {each.claim.preemptor_id for each in evictions if each.claim is not None and each.workload.id in busy}
        return [
            each
            for each in evictions
            if each.workload.id not in busy and (each.claim is None or each.claim.preemptor_id not in waiting)
        ]

    def _limit_waiting(self) -> None:
        """Limit how long owners whose pods were never seen, or not all of them, count as in use.

        They were suspended before their start was answered, deleted before the watch of pods showed any, or stopped
        while their pods were being made.
        """
        for keys, limit, give_up in (
            (self._state.work.revoked_starts.fresh, _ANSWER_LIMIT, self._state.work.stop_waiting_for_answer),
            (self._state.work.unseen_pods, _PODS_SEEN_LIMIT, self._state.stop_waiting_for_pods),
            (self._state.work.early_stops.fresh, _PODS_SEEN_LIMIT, self._state.work.stop_waiting_for_more_pods),
        ):
            for key in keys:
                asyncio.get_running_loop().call_later(limit.total_seconds(), self._give_up, give_up, key)
            keys.clear()

    def _give_up(self, waiting_for: Callable[[str], None], key: str) -> None:
        waiting_for(key)
        self._wake()

    def _complete(self, key: str) -> None:
        """Evict the remaining pods of an eviction, or start the remaining pods of a start."""
        workload, objects = self._state.work.workload(key), self._writes.free_objects(key)
        if workload is None or workload.admission is None or not objects:
            return
        if workload.eviction is not None:
            self._pod_evictions.begin(self._state.work.pods_to_evict(key), workload.eviction.at)
            return
        gated = [each for each in objects if isinstance(each, Pod) and each.is_gated]
        if not gated:
            return
        flavors = workload.admission.flavors
        text = annotations.write_admission(
            flavors, workload.admission.since, self._state.work.members_named(key, objects)
        )

        async def write() -> None:
            start = Start(workload, flavors, Tier.ENTITLED)
            mark = (ADMISSION, text)
            await self._writes.patch(key, gated, lambda each: self._start_patches.of(each, start, text), mark)

        self._writes.begin(key, write())

    def _report_deletion(self, pod: PodRef) -> None:
        victim = self._state.work.workload(pod.key)
        preemptor = [] if victim is None else self._preemptor(victim)
        self._events.pod_deleted(pod.name, self._state.work.objects(pod.key), preemptor)

    def _taker(self, evict: Evict) -> str | None:
        """The group of the workload that this eviction makes room for."""
        key = None if evict.claim is None else self._state.work.key_claiming(evict.claim)
        preemptor = None if key is None else self._state.work.workload(key)
        return None if preemptor is None else preemptor.group

    def _preemptor(self, evicted: Evict | Workload) -> list[WorkloadObject]:
        key = None if evicted.claim is None else self._state.work.key_claiming(evicted.claim)
        return [] if key is None else self._state.work.objects(key)


def _evict_patch(
    target: WorkloadObject, evict: Evict, written: AnnotationPatch, guard: patches.Guard
) -> list[Operation]:
    if isinstance(target, Job):
        return patches.evict_job(target.metadata, evict.workload.group, written, guard)
    if isinstance(target, KindObject):
        return patches.evict_kind(target, evict.workload.group, written, guard)
    return patches.annotate(target.metadata, {**written, NOTICE: None})


def _least_eviction(target: WorkloadObject) -> list[Operation]:
    """A pod needs no patch: the Eviction API alone ends it."""
    if isinstance(target, KindObject):
        return patches.suspend_kind(target)
    return patches.suspend_job(target.metadata) if isinstance(target, Job) else []
