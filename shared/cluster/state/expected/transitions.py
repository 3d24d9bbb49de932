"""What only the change from one state to the next shows, and no single object. Pure.

Pods that were ready and no longer are; a Job that its owner suspended before the Job controller acknowledged its start;
an object of a governed kind that was stopped before all its pods were seen.
"""

from dataclasses import dataclass, field, replace

from shared.api.annotations import BadAnnotation, read_admission
from shared.cluster.state.expected.delays import Delay, Delays
from shared.cluster.state.sorts.registry import sort_of
from shared.cluster.state.sorts.sort import WorkloadObject
from shared.quota.model.read.kind_objects import PodsBySet
from shared.quota.model.workload import Eviction, EvictionReason, Workload


def with_readiness(before: Workload | None, after: Workload) -> tuple[Workload, bool]:
    """`after`, marked as once ready if it was so since its start; whether that is still to be written.

    `before`: what it was until now. What is being evicted loses its pods anyway.
    """
    then, now = before.admission if before else None, after.admission
    if then is None or now is None or then.since != now.since or now.ready or not then.was_ready or after.is_evicting:
        return after, False
    if now.unready_since is not None and not then.ready:
        return after, False
    since = None if then.ready else then.unready_since
    return replace(after, admission=replace(now, was_ready=True, unready_since=since)), True


@dataclass(slots=True)
class RevokedStarts:
    """Owners of pods suspended so soon that they show none, while their controllers may be making them.

    Each is in use until its controller shows that it has seen the suspension, or is given up waiting for. Of the
    objects of governed kinds none shows that.
    """

    delays: Delays = field(default_factory=Delays)

    def judge(self, key: str, before: Workload | None, owner: WorkloadObject, after: Workload) -> Workload:
        """Return the owner as it counts, when it reads as `after` and counted as `before` until now."""
        sort = sort_of(owner)
        noted, delay = sort.suspended_since(owner), self.delays.find(key)
        is_answered = delay is not None and noted is not None and noted != delay.noted
        if is_answered or not (after.is_pending and sort.is_suspended(owner)) or owner.metadata.is_deleting:
            self.delays.end(key)
            return after
        if delay is None:
            if before is None or before.is_evicting or before.is_answered or not _carries_start(owner, before):
                return after
            self.delays.begin(key, noted)
        return after if before is None else _stopping(before, after)

    def give_up(self, delay: Delay) -> None:
        """Stop waiting: the time limit has passed."""
        if self.delays.is_under_way(delay):
            self.delays.end(delay.key)

    def forget(self, key: str) -> None:
        """Drop it: it is deleted."""
        self.delays.end(key)


@dataclass(slots=True)
class EarlyStops:
    """Objects of governed kinds that were stopped before all their pods were seen.

    Their operators have seen the stop, but what these have made, such as Jobs, may be making pods still. Each counts as
    before it was stopped, until all its pods are there at once, or it is given up waiting for more.
    """

    delays: Delays = field(default_factory=Delays)
    _complete: set[str] = field(default_factory=set)
    """The pods of these were all seen since their start, maybe only after their stop, or are waited for no more."""

    def judge(
        self, key: str, before: Workload | None, seen: WorkloadObject, pods: PodsBySet, after: Workload
    ) -> Workload:
        """Return the object as it counts, when it reads as `after` and counted as `before` until now."""
        sort = sort_of(seen)
        if not sort.lacks_pods(seen, pods):
            self._complete.add(key)
            self.delays.end(key)
        if not sort.is_suspended(seen):
            return after
        is_early = sort.has_noted_stop(seen) and key not in self._complete
        if is_early and before is not None and before.admission is not None and before.is_answered:
            self.delays.begin(key)
            stopping = _stopping(before, after)
            eviction = before.eviction or stopping.eviction
            stopping = replace(stopping, eviction=eviction, request=before.request)
            return replace(stopping, pods=before.pods, pod_sets=before.pod_sets)
        if after.is_pending:
            self.forget(key)
        return after

    def give_up(self, delay: Delay) -> None:
        """Stop waiting: the time limit has passed."""
        if self.delays.is_under_way(delay):
            self.delays.end(delay.key)
            self._complete.add(delay.key)

    def forget(self, key: str) -> None:
        """Drop it: its pods have ended, or it is deleted."""
        self.delays.end(key)
        self._complete.discard(key)


def _carries_start(owner: WorkloadObject, before: Workload) -> bool:
    """Return whether the object carries the start of `before`; a failed start leaves nothing on it."""
    try:
        admission = read_admission(owner.metadata.annotations)
    except BadAnnotation:
        return False
    return admission is not None and before.admission is not None and admission.time == before.admission.since


def _stopping(before: Workload, after: Workload) -> Workload:
    """Return the suspended owner as a workload that still uses what it was started with."""
    if before.admission is None:
        return after
    eviction = Eviction(EvictionReason.SUSPENDED, before.admission.since)
    return replace(after, admission=before.admission, eviction=eviction)
