"""Writes of evictions: the patch that stops a workload with its reason, and the requests that end its pods.

See docs/specification.md §5.6.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from reconciler.report.events.decisions import WorkloadEvents, placement_text
from reconciler.report.metrics import ReconcilerMetrics
from reconciler.write import annotations, patches
from reconciler.write.evictions.pods import PodEvictions
from reconciler.write.sorts.registry import writes_of
from reconciler.write.workload_writer import WorkloadWriter, WriteOutcome
from reconciler.write.write_queue import DONE, Spawn, WriteQueue
from shared.api.json.patches import Operation
from shared.api.names import ADMISSION, EVICTION, NOTICE, REQUEUE, TURN
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.sorts.sort import WorkloadObject
from shared.cluster.state.workloads.object_store import PodRef
from shared.quota.decide.decisions import Evict, EvictionRule
from shared.quota.model.workload import Workload

_GUARDED_TRIES: Final = 2
"""After this many stale tries an eviction no longer tests the generation: an owner who keeps changing the spec must
not delay it.
"""


class EvictionWrites:
    """Each eviction is assumed at once, and dropped if its write fails."""

    def __init__(  # noqa: PLR0913
        self,
        state: ClusterState,
        writes: WriteQueue,
        events: WorkloadEvents,
        metrics: ReconcilerMetrics,
        *,
        writer: WorkloadWriter,
        spawn: Spawn,
    ) -> None:
        self._state = state
        self._writes = writes
        self._events = events
        self._metrics = metrics
        timeout, is_alive = state.settings.reclaim.eviction_timeout, state.work.objects.has_pod
        self._pods = PodEvictions(
            writer, is_alive, self._report_failing, self._report_deletion, spawn=spawn, timeout=timeout
        )

    def whole_plans(self, evictions: Sequence[Evict]) -> list[Evict]:
        """Return the evictions that can be written now.

        Victims of one preemptor are evicted together: some alone would free too little.
        """
        busy = {each.workload.id for each in evictions if self._writes.free_key(each.workload) is None}
        waiting = {each.claim.preemptor_id for each in evictions if each.claim is not None and each.workload.id in busy}
        return [
            each
            for each in evictions
            if each.workload.id not in busy and (each.claim is None or each.claim.preemptor_id not in waiting)
        ]

    def evict(self, evict: Evict, now: datetime) -> None:
        """Begin the write, if the workload can be written now."""
        key = self._writes.free_key(evict.workload)
        if key is None:
            return
        evict = self._with_places(key, evict)
        objects, taker = self._writes.free_objects(key), self._taker(evict)
        text = annotations.write_eviction(evict, now)
        written, mark = {EVICTION: text, REQUEUE: annotations.write_requeue(evict.requeue)}, (EVICTION, text)
        self._state.work.decided.assume(key, _evicting(evict, now), mark)
        guard = patches.Guard.SPEC if self._writes.stale_tries(key) < _GUARDED_TRIES else patches.Guard.IDENTITY

        def patch(each: WorkloadObject) -> list[Operation]:
            return writes_of(each).evict(each, evict.workload.group, written, guard)

        async def write() -> None:
            outcome = await self._writes.patch(key, objects, patch, mark, _least_eviction)
            if outcome.fate in DONE:
                self._state.work.overlay.unwritten.drop(key)
                if outcome.fate is WriteOutcome.REDUCED:
                    self._state.work.decided.keep_unwritten(key, {**written, ADMISSION: None, NOTICE: None, TURN: None})
                self._metrics.evictions.evicted(evict, now, taker)
                self._events.evicted(evict, objects, self._preemptor(evict))
                self.complete(key, now)
            elif outcome.fate not in (WriteOutcome.STALE, WriteOutcome.UNANSWERED):
                self._events.eviction_refused(evict, objects, outcome.message)

        self._writes.begin(key, write())

    def _with_places(self, key: str, evict: Evict) -> Evict:
        """The eviction with the reason why pods have no node, if that is its cause."""
        unplaced = self._state.work.objects.unplaced(key) if evict.rule is EvictionRule.STARTUP_TIMEOUT else []
        return replace(evict, message=f"{evict.message}; {placement_text(unplaced)}") if unplaced else evict

    def complete(self, key: str, since: datetime) -> None:
        """Evict the remaining pods of a workload evicted at `since`."""
        self._pods.begin(self._state.work.objects.pods_to_evict(key), since)

    def cancel(self) -> None:
        """Stop requesting evictions of pods."""
        self._pods.cancel()

    def _report_failing(self, pod: PodRef, why: str) -> None:
        self._events.pod_not_evicted(pod.name, self._state.work.objects.of(pod.key), why)

    def _report_deletion(self, pod: PodRef) -> None:
        victim = self._state.work.index.workload(pod.key)
        preemptor = [] if victim is None else self._preemptor(victim)
        self._events.pod_deleted(pod.name, self._state.work.objects.of(pod.key), preemptor)

    def _taker(self, evict: Evict) -> str | None:
        """Return the group of the preemptor."""
        key = None if evict.claim is None else self._state.work.readings.key_claiming(evict.claim)
        preemptor = None if key is None else self._state.work.index.workload(key)
        return None if preemptor is None else preemptor.group

    def _preemptor(self, evicted: Evict | Workload) -> list[WorkloadObject]:
        key = None if evicted.claim is None else self._state.work.readings.key_claiming(evicted.claim)
        return [] if key is None else self._state.work.objects.of(key)


def _evicting(evict: Evict, now: datetime) -> Workload:
    """Return the workload after the eviction."""
    victim = evict.workload
    eviction, times = evict.as_eviction(now), victim.evictions + 1
    return replace(victim, eviction=eviction, claim=evict.claim, notice=None, turn=None, evictions=times)


def _least_eviction(target: WorkloadObject) -> list[Operation]:
    return writes_of(target).least_eviction(target)
