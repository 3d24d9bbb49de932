"""When the use of one leaf changed: from each workload's admission to the end of its last pod.

A workload is counted from the moment of its admission, also if it is seen later. Its end is the moment at which its
Job finished, where that is known, else the moment at which no pod of it was seen any more. So pods of a finished Job
that are still seen count no more: the watch of pods can be behind that of Jobs.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from shared.quota.measure.accounts.periods import milliseconds
from shared.quota.measure.accounts.run_times import EndedRun, PastArrival, series_of
from shared.quota.measure.accounts.waits import EndedWait, ForeseenWaits
from shared.quota.measure.inputs.workload_set import WorkloadSet, amounts_in
from shared.quota.model.workload import EvictionReason, Workload, WorkloadId, namespace_of
from shared.resources import Amount, FlavorResource

Uses = Mapping[FlavorResource, Amount]
StartKey = tuple[str, int]
"""(uid, or the key where that changes; when it was admitted): the same for all that one start leaves."""


class UseChange(NamedTuple):
    """At `time`, in milliseconds since 1970, a namespace began to use so much more or less."""

    time: int
    namespace: str
    key: FlavorResource
    delta: Amount


class LostUse(NamedTuple):
    """At `time` a workload was evicted that had used so much since its start, times milliseconds."""

    time: int
    key: FlavorResource
    amount: Amount


class EndedUse(NamedTuple):
    """A start that has ended, as the object tells it that is left of it. `evicted`: when; None: it was not."""

    leaf: str
    namespace: str
    start: StartKey
    use: Uses
    end: int
    evicted: int | None = None
    run: EndedRun | None = None
    """Given: it ended by itself."""


@dataclass(slots=True)
class _Running:
    """A workload that uses something. `since`: when `use` began; `idle_since`: when its last pods were gone."""

    start: StartKey
    namespace: str
    use: Uses
    since: int
    earlier: dict[FlavorResource, Amount] = field(default_factory=dict)
    """What it has used since its start, before `since`."""
    idle_since: int | None = None
    was_answered: bool = False
    is_lost: bool = False
    is_finished: bool = False
    """Its Job has finished, and its end is counted."""
    workload: Workload | None = None
    """As it was when its use was first seen; None: it had ended by then."""


@dataclass(slots=True)
class LeafUse:
    """What runs in one leaf, what it used at the moment until which all is counted, and what has changed since then."""

    until: int
    """All groups have counted until then; what is seen later counts from then on, in all of them."""
    levels: dict[tuple[str, FlavorResource], Amount] = field(default_factory=dict)
    """(namespace, key) -> what was used then."""
    changes: list[UseChange] = field(default_factory=list)
    losses: list[LostUse] = field(default_factory=list)
    runs: list[EndedRun] = field(default_factory=list)
    """Runs that ended by themselves."""
    waits: list[EndedWait] = field(default_factory=list)
    """How long workloads waited for which a start was forecast."""
    foreseen: ForeseenWaits = field(default_factory=ForeseenWaits)
    _running: dict[WorkloadId, _Running] = field(default_factory=dict)
    _fresh: list[UseChange] = field(default_factory=list)

    def forget_ended(
        self, workloads: WorkloadSet, now: int, ends: Mapping[str, int], ended: dict[StartKey, int]
    ) -> None:
        """Count what no longer runs as ended.

        `ends`: by uid, when a Job finished. `ended`: receives when each start ended.
        """
        for known in [each for each in self._running if _admitted(workloads, each) is None]:
            gone, after = self._running.pop(known), workloads.by_id.get(known)
            if after is not None and after.eviction is None and not gone.was_answered:
                self._change(gone, gone.since, -1)  # the start was never written
                continue
            end = ends.get(gone.start[0], now if gone.idle_since is None else gone.idle_since)
            end = max(end, gone.since)
            if after is not None:
                self._note_loss(gone, after)
            elif not gone.is_lost and (known.kind != "Job" or gone.start[0] in ends):
                self.runs.extend(run_of(each, gone.start, end) for each in filter(None, [gone.workload]))
            self._change(gone, end, -1)
            ended[gone.start] = end

    def observe(
        self,
        workloads: WorkloadSet,
        now: int,
        ends: Mapping[str, int],
        ended: Mapping[StartKey, int],
        *,
        is_first: bool,
    ) -> None:
        """Count what runs now. `ends`, `ended`: as for `forget_ended`.

        `is_first`: what is seen now may have run all the time since its admission.
        """
        for workload in chain(workloads.admitted, workloads.evicting):
            known = self._running.get(workload.id)
            if known is None:
                self._begin(workload, now, ended, is_first=is_first)
            if workload.is_left_over and workload.uid in ends:
                self._finish(self._running[workload.id], ends[workload.uid])
            elif known is not None:
                self._adjust(known, workload, now)

    def add_ended(self, use: EndedUse) -> None:
        """Count a start that has ended before a leader looked."""
        gone = _Running(use.start, use.namespace, use.use, use.start[1])
        self._change(gone, gone.since, 1)
        self._change(gone, max(use.end, gone.since), -1)
        if use.evicted is not None:
            self._lose(gone, use.evicted)
        if use.run is not None:
            self.runs.append(use.run)

    def knows(self, start: StartKey) -> bool:
        """Return whether something of this start runs."""
        return any(each.start == start for each in self._running.values())

    def take_fresh(self) -> list[UseChange]:
        """Return the changes that were seen since the last call."""
        fresh, self._fresh = self._fresh, []
        return fresh

    def stop_idle(self, until: int) -> None:
        """Count workloads whose last pods were gone by then as ended: no later end of them is known."""
        for known in self._running.values():
            if known.idle_since is not None and known.idle_since <= until:
                self._stop_idle(known)

    def close(self, until: int) -> "LeafUse":
        """Return what was seen by now, to be added up until that moment; what is seen later counts from there on."""
        closed = LeafUse(self.until, dict(self.levels), self.changes, self.losses, self.runs, self.waits)
        self.settle(until)
        return closed

    def settle(self, until: int) -> None:
        """Forget the changes up to that moment: `levels` has them."""
        self.until = until
        for each in self.changes:
            if each.time <= until:
                where = each.namespace, each.key
                self.levels[where] = self.levels.get(where, 0) + each.delta
        self.levels = {where: amount for where, amount in self.levels.items() if amount}
        self.changes = [each for each in self.changes if each.time > until]
        self.losses = [each for each in self.losses if each.time > until]
        self.runs = [each for each in self.runs if each.end > until]
        self.waits = [each for each in self.waits if each.start > until]

    @property
    def is_active(self) -> bool:
        """Whether anything has been used since the moment until which all is counted."""
        return bool(self.levels or self.changes or self.losses or self.runs or self.waits)

    def _begin(self, workload: Workload, now: int, ended: Mapping[StartKey, int], *, is_first: bool) -> None:
        start = start_of(workload)
        begin = now if workload.is_left_over and not is_first else start[1]
        begin = max(self.until, ended.get(start, begin))
        begun = _Running(start, namespace_of(workload.key), uses_of(workload), begin)
        begun.is_lost, begun.workload = workload.is_left_over, workload
        self.waits.extend(filter(None, [self.foreseen.ended(workload.id, begin)]))
        self._running[workload.id] = begun
        self._change(begun, begun.since, 1)
        begun.was_answered = workload.is_answered
        self._note_loss(begun, workload)

    def _adjust(self, known: _Running, workload: Workload, now: int) -> None:
        if start_of(workload) != known.start:
            end = max(known.since, min(now, start_of(workload)[1]))
            self._change(known, end, -1)
            self._begin(workload, now, {}, is_first=True)
            return
        if known.is_finished:
            return
        known.was_answered = known.was_answered or workload.is_answered
        self._note_loss(known, workload)
        use = uses_of(workload)
        if known.idle_since is not None and use:
            self._stop_idle(known)
        if use == known.use or known.idle_since is not None:
            return
        if not use:
            known.idle_since = now
            return
        self._replace(known, use, now)

    def _finish(self, known: _Running, end: int) -> None:
        self._stop_idle(known)
        self._replace(known, {}, end)
        known.is_finished = True

    def _stop_idle(self, known: _Running) -> None:
        if known.idle_since is not None:
            self._replace(known, {}, known.idle_since)
            known.idle_since = None

    def _replace(self, known: _Running, use: Uses, now: int) -> None:
        now = max(now, known.since)
        self._change(known, now, -1)
        known.earlier = used_until(known, now)
        known.use, known.since = use, now
        self._change(known, now, 1)

    def _change(self, running: _Running, time: int, sign: int) -> None:
        for key, amount in running.use.items():
            change = UseChange(time, running.namespace, key, sign * amount)
            self.changes.append(change)
            self._fresh.append(change)

    def _note_loss(self, known: _Running, workload: Workload) -> None:
        eviction = workload.eviction
        if known.is_lost or eviction is None or eviction.reason is EvictionReason.SUSPENDED:
            return
        at = milliseconds(eviction.at)
        if at >= known.start[1]:
            known.is_lost = True
            self._lose(known, at)

    def _lose(self, running: _Running, at: int) -> None:
        for key, amount in used_until(running, at).items():
            if amount > 0:
                self.losses.append(LostUse(max(at, self.until + 1), key, amount))


def run_of(workload: Workload, start: StartKey, end: int) -> EndedRun:
    """Return the run of a workload from that start to its end."""
    took = max(0, end - start[1])
    came = PastArrival(
        milliseconds(workload.created) // 1000, max(1, took // 1000), workload.request, workload.priority
    )
    return EndedRun(series_of(workload.key), end, took, workload.run_time.expected, came)


def used_until(running: _Running, at: int) -> dict[FlavorResource, Amount]:
    """Return what it has used since its start, times milliseconds."""
    used = dict(running.earlier)
    for key, amount in running.use.items():
        used[key] = used.get(key, 0) + amount * (at - running.since)
    return used


def start_of(workload: Workload) -> StartKey:
    """Return the start of a workload that is admitted; of another one, none that can be.

    A pod group has the uid of its first pod, which may end before the others: it is known by its key.
    """
    since = None if workload.admission is None else workload.admission.since
    known_by = workload.key if workload.kind == "PodGroup" else workload.uid or workload.key
    return known_by, 0 if since is None else milliseconds(since)


def uses_of(workload: Workload) -> Uses:
    """Return what an admitted workload uses."""
    return {} if workload.admission is None else summed(amounts_in(workload, workload.admission.flavors))


def summed(amounts: Iterable[tuple[FlavorResource, Amount]]) -> Uses:
    """Return the sums by key."""
    found: dict[FlavorResource, Amount] = {}
    for key, amount in amounts:
        found[key] = found.get(key, 0) + amount
    return found


def _admitted(workloads: WorkloadSet, workload: WorkloadId) -> Workload | None:
    found = workloads.by_id.get(workload)
    return None if found is None or found.admission is None else found
