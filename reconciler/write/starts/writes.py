"""Writes of starts: the patch that starts a workload, what follows a refusal, and completion of half-done starts.

See docs/specification.md §5.3.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from reconciler.report.events.decisions import WorkloadEvents
from reconciler.report.metrics import ReconcilerMetrics
from reconciler.write import annotations
from reconciler.write.starts.patches import StartPatches
from reconciler.write.workload_writer import WriteOutcome, WriteResult
from reconciler.write.write_queue import WAITS, WriteQueue
from shared.api.durations import later
from shared.api.names import ADMISSION
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.sorts.registry import sort_of
from shared.cluster.state.sorts.sort import WorkloadObject
from shared.quota.decide.decisions import Start, Tier
from shared.quota.model.workload import Admission, Workload, flavor_names


class StartWrites:
    """Each start is assumed at once, and dropped if its write fails. `wake` asks for another cycle."""

    def __init__(
        self,
        state: ClusterState,
        writes: WriteQueue,
        events: WorkloadEvents,
        metrics: ReconcilerMetrics,
        wake: Callable[[], None],
    ) -> None:
        self._state = state
        self._writes = writes
        self._events = events
        self._metrics = metrics
        self._wake = wake
        self._patches = StartPatches(state)

    def start(self, start: Start, now: datetime) -> None:
        """Begin the write, if the workload can be written now."""
        key = self._writes.free_key(start.workload)
        if key is None:
            return
        objects = self._writes.free_objects(key)
        if problems := self._patches.conflicts(start):
            self._refuse_flavors(key, start, objects, "; ".join(problems))
            self._wake()
            return
        admission = Admission(start.flavors, now, answered=sort_of(objects[0]).starts_alone)
        text = annotations.write_admission(admission, self._state.work.objects.members_named(key, objects))
        mark = (ADMISSION, text)
        self._state.work.decided.assume(key, replace(start.workload, admission=admission, notice=None), mark)
        decided, entitled = time.perf_counter(), self._metrics.entitled_wait(start.workload, now)

        async def write() -> None:
            outcome = await self._writes.patch(key, objects, lambda each: self._patches.of(each, start, text), mark)
            if outcome.fate is not WriteOutcome.WRITTEN:
                self._refused(key, start, objects, outcome, now)
                return
            self._state.work.overlay.unwritten.drop(key)
            self._metrics.starts.started(start, now, entitled, time.perf_counter() - decided)
            self._events.started(start, objects)

        self._writes.begin(key, write())

    def complete(self, key: str, workload: Workload) -> None:
        """Start the gated pods of a started group, with the admission of the others."""
        objects = self._writes.free_objects(key)
        gated = [each for each in objects if sort_of(each).is_gated(each)]
        if not gated or workload.admission is None:
            return
        flavors, since = workload.admission.flavors, workload.admission.since
        admission = Admission(flavors, since)
        text = annotations.write_admission(admission, self._state.work.objects.members_named(key, objects))
        start, mark = Start(workload, flavors, Tier.ENTITLED), (ADMISSION, text)

        async def write() -> None:
            await self._writes.patch(key, gated, lambda each: self._patches.of(each, start, text), mark)

        self._writes.begin(key, write())

    def _refused(
        self, key: str, start: Start, objects: list[WorkloadObject], outcome: WriteResult, now: datetime
    ) -> None:
        """Offer other flavors to what contradicts these, and leave alone for a while what failed in another way."""
        if outcome.fate is WriteOutcome.INVALID:
            self._refuse_flavors(key, start, objects, outcome.message)
            return
        wait = WAITS[outcome.fate]
        self._state.work.decided.park(key, later(now, wait))
        if outcome.fate is WriteOutcome.TOO_LARGE:
            full = "the object has no space left for the admission annotation, shorten its annotations"
            self._events.start_refused(start, objects, f"{full}: {outcome.message}")
        elif outcome.fate is not WriteOutcome.STALE:
            again = f"tried again in {wait.total_seconds():.0f} s"
            self._events.start_refused(start, objects, f"{again}: {outcome.message}")

    def _refuse_flavors(self, key: str, start: Start, objects: list[WorkloadObject], why: str) -> None:
        """Do not start it in these flavors until its spec changes."""
        self._state.work.decided.block(key, flavor_names(start.flavors))
        self._events.start_refused(start, objects, f"other flavors are tried: {why}")
