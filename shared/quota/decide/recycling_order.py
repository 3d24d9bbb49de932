"""In which order the running workloads of a leaf are recycled; those that are evicted already are passed over.

A search returns as many at once as are needed, and passes over a workload that was evicted once: a plan of n victims
takes n steps. Once some were restored, the next search begins with the first again.

See docs/specification.md §7.4.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import datetime, timedelta
from itertools import takewhile
from operator import attrgetter
from typing import NamedTuple

from shared.api.durations import later
from shared.quota.measure.inputs.workload_set import QueuePlace, queue_order
from shared.quota.measure.static.pod_set_choices import Counted
from shared.quota.model.workload import Workload, WorkloadId
from shared.resources import Amount, FlavorResource

Importance = tuple[int, datetime, QueuePlace]


class RunningWorkload(NamedTuple):
    """A running workload, its quantities, the time of its latest start, and its id."""

    workload: Workload
    quantities: Counted
    since: datetime
    id: WorkloadId

    @property
    def importance(self) -> Importance:
        """Sort key: the highest is recycled first: lowest priority, then latest started, then last of the queue."""
        return (-self.workload.priority, self.since, queue_order(self.workload))


RunningByKey = Mapping[FlavorResource, Sequence[tuple[RunningWorkload, Amount]]]
"""key -> those of which something counts there, in the order of recycling, and what each uses of it."""


def freed_by(running: RunningWorkload) -> Counted:
    """Return what others can use once it is gone, by key: what it holds on nodes that take pods; 0 is left out."""
    held = running.workload.on_closed_nodes
    if not held:
        return running.quantities
    left = ((key, amount - held.get(key, 0)) for key, amount in running.quantities)
    return tuple((key, amount) for key, amount in left if amount > 0)


class RunningInOrder:
    """The preemptible workloads that run in one leaf, least important first; for the same workloads, made once."""

    __slots__ = ("by_key", "running")

    def __init__(self, running: Iterable[RunningWorkload]) -> None:
        self.running = sorted(running, key=attrgetter("importance"), reverse=True)
        self.by_key = _by_key(self.running, [each.quantities for each in self.running])


class RecyclingOrder:
    """The workloads of one leaf that can be recycled, least important first."""

    __slots__ = ("_all", "_exempt", "_exempt_ends", "_now", "_ready", "running")

    def __init__(
        self,
        in_order: RunningInOrder,
        evicted: Set[WorkloadId],
        now: datetime,
        exempt: timedelta,
        freed: Sequence[Counted] | None = None,
    ) -> None:
        """`evicted` is read at each search; `exempt`: for so long after its start, none of them goes.

        `freed`: what each frees, if only those that free some of a key are to be found for it.
        """
        self.running = in_order.running
        self._now = now
        self._exempt = exempt
        by_key = in_order.by_key if freed is None else _by_key(in_order.running, freed)
        self._all = self._ready = _Remaining(by_key, evicted)
        """`_ready`: those that are not exempt."""
        self._exempt_ends: dict[FlavorResource, datetime] = {}
        """key -> when the first one that uses it stops being exempt."""
        if exempt:
            ready = {}
            for key, using in by_key.items():
                ends = [self.exempt_until(each) for each, _ in using]
                ready[key] = [each for each, end in zip(using, ends, strict=True) if end <= now]
                self._exempt_ends[key] = min((end for end in ends if end > now), default=now)
            self._ready = _Remaining(ready, evicted)

    def first(self, key: FlavorResource, amount: Amount = 1) -> Sequence[RunningWorkload]:
        """Return the least important workloads that use `key`: as many as use that amount, all exempt or none."""
        found = self._all.first(key, amount)
        if not self._exempt or not found:
            return found
        are_exempt = self.is_exempt(found[0])
        return list(takewhile(lambda each: self.is_exempt(each) is are_exempt, found))

    def first_ready(self, key: FlavorResource, amount: Amount = 1) -> Sequence[RunningWorkload]:
        """Return the least important workloads that use `key` and are not exempt: as many as use that amount."""
        return self._ready.first(key, amount)

    def exempt_ends(self, key: FlavorResource) -> datetime:
        """Return when the first workload that uses `key` stops being exempt; there must be one that is."""
        return self._exempt_ends[key]

    def is_exempt(self, each: RunningWorkload) -> bool:
        """Return whether this workload has not run for long enough to go."""
        return bool(self._exempt) and self.exempt_until(each) > self._now

    def exempt_until(self, each: RunningWorkload) -> datetime:
        """Return when this workload stops being exempt; one that starts in the future starts now."""
        return later(min(each.since, self._now), self._exempt)

    def restart(self) -> None:
        """Search from the first again: some are not evicted any more."""
        self._all.restart()
        self._ready.restart()


class _Remaining:
    """For each key, those that use it and are not evicted: which come first."""

    __slots__ = ("_evicted", "_passed", "_running")

    def __init__(self, running: RunningByKey, evicted: Set[WorkloadId]) -> None:
        self._running = running
        self._evicted = evicted
        self._passed: dict[FlavorResource, int] = {}
        """key -> how many of those that use it, from the first, are evicted."""

    def first(self, key: FlavorResource, amount: Amount) -> Sequence[RunningWorkload]:
        running, place = self._running.get(key, ()), self._passed.get(key, 0)
        found: list[RunningWorkload] = []
        while place < len(running) and amount > 0:
            each, used = running[place]
            place += 1
            if each.id not in self._evicted:
                found.append(each)
                amount -= used
            elif not found:
                self._passed[key] = place
        return found

    def restart(self) -> None:
        self._passed.clear()


def _by_key(running: Iterable[RunningWorkload], counted: Iterable[Counted]) -> RunningByKey:
    found: dict[FlavorResource, list[tuple[RunningWorkload, Amount]]] = {}
    for each, quantities in zip(running, counted, strict=True):
        used = dict(each.quantities)
        for key, _ in quantities:
            found.setdefault(key, []).append((each, used[key]))
    return found
