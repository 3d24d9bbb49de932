"""Carries out decisions: each is assumed at once, written in its own task, and then told, or forgotten.

A write that met another object than it was decided on is forgotten, and the next cycle decides anew.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from reconciler import notes, patches
from reconciler.assumptions import Mark
from reconciler.cluster_state import ClusterState
from reconciler.metrics import Metrics
from reconciler.pod_evictions import PodEvictions
from reconciler.reader import WorkObject
from reconciler.telling import Telling
from reconciler.under_way import Spawn, UnderWay
from reconciler.workload_writer import WRITTEN, Fate, Outcome, WorkloadWriter
from shared.api.annotations import BadNote
from shared.api.job import Job
from shared.api.names import ADMISSION, EVICTION, NOTICE, REQUEUE
from shared.api.patches import Operation
from shared.api.pod import Pod
from shared.quota.decide.decisions import ClaimEnd, Evict, Notice, Plan, Start, Tier
from shared.quota.model.workload import Admission, Eviction, Flavors, Workload
from shared.telemetry import get_logger

_ECHO: Final = timedelta(seconds=10)
"""By then the watch has shown a write, or has been found silent and is opened again."""

_ANSWER: Final = timedelta(seconds=30)
"""By then the Job controller has seen a suspension, and has ended what pods it had made."""

_WAITS: Final = {
    Fate.STALE: timedelta(seconds=1),
    Fate.REFUSED: timedelta(seconds=15),
    Fate.INVALID: timedelta(milliseconds=10),
}
"""How long an object is left alone after a write failed; a change of its spec ends it before that.

What is invalid is not tried again as it is: a start gets other flavors or none.
"""

log = get_logger(__name__)


class Executor:
    """The only caller of the writer. `spawn` runs a write beside the cycle; `wake` asks for another cycle."""

    def __init__(  # noqa: PLR0913
        self,
        state: ClusterState,
        writer: WorkloadWriter,
        telling: Telling,
        metrics: Metrics,
        *,
        spawn: Spawn,
        wake: Callable[[], None],
    ) -> None:
        self._state = state
        self._writer = writer
        self._telling = telling
        self._metrics = metrics
        self._wake = wake
        self._under_way = UnderWay(state.work, spawn, wake)
        self._pod_evictions = PodEvictions(writer, state.work.has_pod, spawn)

    def carry_out(self, plan: Plan, now: datetime) -> None:
        """Assume and begin everything the plan says, and go on with what an earlier process left half done."""
        self._under_way.now = now
        for unit in list(self._state.work.half_done):
            self._go_on(unit)
        self._wait_for_answers()
        for evict in self._whole_plans(plan.evictions):
            self._evict(evict, now)
        for start in plan.starts:
            self._start(start, now)
        for notice in plan.notices:
            self._notice(notice, now)
        for workload in plan.notices_withdrawn:
            self._annotate(workload, replace(workload, notice=None), {NOTICE: None}, (NOTICE, None))
        for ended in plan.claims_ended:
            self._end_claim(ended)

    async def finish(self, within: timedelta) -> bool:
        """Let the writes under way come to their end; cancel those that have not by then. Whether all had."""
        self._pod_evictions.cancel()
        return await self._under_way.finish(within)

    def adopt(self, unit: str, flavors: Flavors, now: datetime) -> None:
        """Count work that runs without an admission, and write the admission down."""
        objects = self._under_way.free_objects(unit)
        workload = self._state.work.foundlings.get(unit)
        if not objects or workload is None:
            return
        admission = Admission(flavors, now)
        text = notes.write_admission(flavors, now)
        adopted = replace(workload, admission=admission, hold=False)
        if self._annotate(workload, adopted, {ADMISSION: text}, (ADMISSION, text)):
            self._telling.adopted(workload.group, objects, flavors)

    def note_unready(self, unit: str, now: datetime) -> None:
        """Write down since when work that was ready is not."""
        workload = self._state.work.workload(unit)
        if workload is None or workload.admission is None or not self._under_way.free_objects(unit):
            return
        admission = replace(workload.admission, unready_since=workload.admission.unready_since or now)
        text = notes.write_unready(admission)
        self._annotate(workload, replace(workload, admission=admission), {ADMISSION: text}, (ADMISSION, text))

    def _start(self, start: Start, now: datetime) -> None:
        unit = self._under_way.free_unit(start.workload)
        if unit is None:
            return
        objects = self._under_way.free_objects(unit)
        text = notes.write_admission(start.flavors, now)
        mark = (ADMISSION, text)
        is_answered = not isinstance(objects[0], Job)
        admission = Admission(start.flavors, now, answered=is_answered)
        started = replace(start.workload, admission=admission, notice=None)
        self._state.work.assume(unit, started, mark)
        decided = time.perf_counter()

        async def write() -> None:
            outcome = await self._patch_all(objects, lambda each: self._start_patch(each, start, text), mark)
            self._conclude(unit, objects, mark, outcome)
            if outcome.fate is Fate.WRITTEN:
                self._metrics.started(start, time.perf_counter() - decided)
                self._telling.started(start, objects)
                return
            if outcome.fate is Fate.INVALID:
                self._state.work.block(unit, set(start.flavors.values()))
            else:
                self._state.work.park(unit, now + _WAITS[outcome.fate])
            if outcome.fate is not Fate.STALE:
                self._telling.start_refused(start, objects, outcome.message)

        self._under_way.begin(unit, write())

    def _start_patch(self, target: WorkObject, start: Start, text: str) -> list[Operation]:
        group = start.workload.group
        if isinstance(target, Job):
            return patches.start_job(target.metadata, group, {ADMISSION: text})
        names = sorted(set(start.flavors.values()))
        flavors = [self._state.flavors[name] for name in names if name in self._state.flavors]
        return patches.start_pod(target, group, {ADMISSION: text}, flavors)

    def _evict(self, evict: Evict, now: datetime) -> None:
        unit = self._under_way.free_unit(evict.workload)
        if unit is None:
            return
        objects = self._under_way.free_objects(unit)
        text = notes.write_eviction(evict, now)
        written = {EVICTION: text, REQUEUE: notes.write_requeue(evict.requeue)}
        mark = (EVICTION, text)
        gone = replace(evict.workload, eviction=Eviction(evict.reason, now), claim=evict.claim, notice=None)
        self._state.work.assume(unit, gone, mark)

        async def write() -> None:
            outcome = await self._patch_all(objects, lambda each: _evict_patch(each, evict, written), mark)
            self._conclude(unit, objects, mark, outcome)
            if outcome.fate is Fate.WRITTEN:
                self._metrics.evicted(evict)
                self._telling.evicted(evict, objects, self._asker(evict))
                self._pod_evictions.begin(objects)
            elif outcome.fate is not Fate.STALE:
                self._telling.eviction_refused(evict, objects, outcome.message)

        self._under_way.begin(unit, write())

    def _whole_plans(self, evictions: Sequence[Evict]) -> list[Evict]:
        """Those that can be written now. Who goes for one asker goes together: some alone would go in vain."""
        busy = {each.workload.id for each in evictions if self._under_way.free_unit(each.workload) is None}
        waiting = {each.claim.asker_id for each in evictions if each.claim is not None and each.workload.id in busy}
        return [
            each
            for each in evictions
            if each.workload.id not in busy and (each.claim is None or each.claim.asker_id not in waiting)
        ]

    def _wait_for_answers(self) -> None:
        """Let Jobs that were suspended before their start was answered be in use for no longer than is reasonable."""
        waiting = self._state.work.taken_back.fresh
        for unit in waiting:
            asyncio.get_running_loop().call_later(_ANSWER.total_seconds(), self._await_no_answer, unit)
        waiting.clear()

    def _await_no_answer(self, unit: str) -> None:
        self._state.work.await_no_answer(unit)
        self._wake()

    def _go_on(self, unit: str) -> None:
        """Finish what was begun: evict the other pods of an eviction, start the other pods of a start."""
        workload, objects = self._state.work.workload(unit), self._under_way.free_objects(unit)
        if workload is None or workload.admission is None or not objects:
            return
        if workload.is_evicting:
            self._pod_evictions.begin(objects)
            return
        gated = [each for each in objects if isinstance(each, Pod) and each.is_gated]
        flavors = workload.admission.flavors
        text = notes.write_admission(flavors, workload.admission.since)

        async def write() -> None:
            start = Start(workload, flavors, Tier.ENTITLED)
            mark = (ADMISSION, text)
            outcome = await self._patch_all(gated, lambda each: self._start_patch(each, start, text), mark)
            self._conclude(unit, objects, mark, outcome)

        self._under_way.begin(unit, write())

    def _asker(self, evict: Evict) -> list[WorkObject]:
        unit = None if evict.claim is None else self._state.work.unit_named(evict.claim.asker)
        return [] if unit is None else self._state.work.objects(unit)

    def _notice(self, notice: Notice, now: datetime) -> None:
        text = notes.write_notice(notice, now)
        told = replace(notice.workload, notice=now)
        if self._annotate(notice.workload, told, {NOTICE: text}, (NOTICE, text)):
            unit = self._state.work.unit_of(notice.workload)
            self._telling.noticed(notice, self._state.work.objects(unit) if unit else [])

    def _end_claim(self, ended: ClaimEnd) -> None:
        self._state.work.end_claim(ended.victim)
        unit = self._under_way.free_unit(ended.victim)
        objects = self._under_way.free_objects(unit) if unit else []
        for each in objects[:1]:
            try:
                text = notes.end_claim(each.metadata.annotations, ended.reason)
            except BadNote:
                text = None
            if text is not None:
                self._annotate(ended.victim, replace(ended.victim, claim=None), {EVICTION: text}, (EVICTION, text))

    def _annotate(self, before: Workload, after: Workload, written: patches.Notes, mark: Mark) -> bool:
        """Write notes that change nothing but what is known; whether that was begun."""
        unit = self._under_way.free_unit(before)
        objects = self._under_way.free_objects(unit) if unit else []
        if unit is None or not objects:
            return False
        self._state.work.assume(unit, after, mark)

        async def write() -> None:
            outcome = await self._patch_all(objects, lambda each: patches.annotate(each.metadata, written), mark)
            self._conclude(unit, objects, mark, outcome)
            # Notes move no generation, and a later note may hide this one: do not wait for its echo for ever.
            asyncio.get_running_loop().call_later(_ECHO.total_seconds(), self._state.work.forget, unit, mark)

        self._under_way.begin(unit, write())
        return True

    async def _patch_all(
        self, objects: Sequence[WorkObject], patch: Callable[[WorkObject], list[Operation]], mark: Mark
    ) -> Outcome:
        """Patch every object of a unit; the worst outcome counts."""
        outcomes = await asyncio.gather(*(self._writer.patch(each, patch(each), mark) for each in objects))
        for fate in (Fate.INVALID, Fate.REFUSED, Fate.STALE):
            for outcome in outcomes:
                if outcome.fate is fate:
                    return outcome
        return WRITTEN

    def _conclude(self, unit: str, objects: list[WorkObject], mark: Mark, outcome: Outcome) -> None:
        self._metrics.wrote(mark[0], outcome.fate.value)
        if outcome.fate is Fate.WRITTEN:
            return
        log.info("Write not carried out", unit=unit, what=mark[0], fate=outcome.fate.value, why=outcome.message)
        self._state.work.forget(unit, mark)
        self._under_way.leave_alone(unit, objects[0].metadata.generation, _WAITS[outcome.fate])


def _evict_patch(target: WorkObject, evict: Evict, written: patches.Notes) -> list[Operation]:
    if isinstance(target, Job):
        return patches.evict_job(target.metadata, evict.workload.group, written)
    return patches.annotate(target.metadata, {**written, NOTICE: None})
