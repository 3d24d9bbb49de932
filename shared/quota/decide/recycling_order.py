"""In which order the running workloads of a leaf are recycled; those that are evicted already are passed over.

A workload that was evicted is passed over once, not at every search: a plan of n victims takes n steps. One that is
restored is found again.

See docs/specification.md §7.4.
"""

from collections.abc import Iterable, Sequence, Set
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush
from typing import NamedTuple

from shared.api.durations import later
from shared.quota.measure.static.pod_set_choices import Counted
from shared.quota.model.workload import Workload, WorkloadId
from shared.resources import FlavorResource

_END = datetime.max.replace(tzinfo=UTC)


class RunningWorkload(NamedTuple):
    """A running workload, its quantities, the time of its latest start, and its id."""

    workload: Workload
    quantities: Counted
    since: datetime
    id: WorkloadId

    @property
    def rank(self) -> tuple[int, timedelta]:
        """Sort key: the lowest is recycled first; lowest priority, then latest started."""
        return (self.workload.priority, _END - self.since)


def freed_by(running: RunningWorkload) -> Counted:
    """Return what others can use once it is gone, by key: what it holds on nodes that take pods; 0 is left out."""
    held = running.workload.on_closed_nodes
    if not held:
        return running.quantities
    left = ((key, amount - held.get(key, 0)) for key, amount in running.quantities)
    return tuple((key, amount) for key, amount in left if amount > 0)


class RunningInOrder:
    """The preemptible workloads that run in one leaf, least important first; for the same workloads, made once."""

    __slots__ = ("place_of", "places", "running")

    def __init__(self, last_queued_first: Iterable[RunningWorkload]) -> None:
        """Workloads of one rank stay in the order that they are given in."""
        self.running = sorted(last_queued_first, key=lambda each: each.rank)
        self.place_of = {each.id: place for place, each in enumerate(self.running)}
        self.places = _places_by_key([each.quantities for each in self.running])
        """key -> the places of those that use it, in order."""


class RecyclingOrder:
    """The workloads of one leaf that can be recycled, least important first."""

    __slots__ = ("_all", "_evicted", "_exempt", "_exempt_ends", "_freed", "_now", "_place_of", "_ready", "running")

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
        self._place_of = in_order.place_of
        self._freed = freed
        self._evicted = evicted
        self._now = now
        self._exempt = exempt
        by_key = in_order.places if freed is None else _places_by_key(freed)
        self._all: dict[FlavorResource, list[int]] = {key: list(places) for key, places in by_key.items()}
        """key -> heap of the places of those that use it. Evicted ones are removed when they come first."""
        self._ready: dict[FlavorResource, list[int]] = {} if exempt else self._all
        """key -> heap of the places of those that use it and are not exempt; `_all` itself where none can be."""
        self._exempt_ends: dict[FlavorResource, datetime] = {}
        """key -> when the first one that uses it stops being exempt."""
        if exempt:
            for key, places in by_key.items():
                self._note_exemptions(key, places)

    def _note_exemptions(self, key: FlavorResource, places: Iterable[int]) -> None:
        for place in places:
            ends = self.exempt_until(self.running[place])
            if ends <= self._now:
                self._ready.setdefault(key, []).append(place)
            else:
                self._exempt_ends[key] = min(ends, self._exempt_ends.get(key, ends))

    def first(self, key: FlavorResource) -> RunningWorkload | None:
        """Return the least important workload that uses `key`."""
        return self._first_of(self._all.get(key))

    def first_ready(self, key: FlavorResource) -> RunningWorkload | None:
        """Return the least important workload that uses `key` and is not exempt."""
        return self._first_of(self._ready.get(key))

    def exempt_ends(self, key: FlavorResource) -> datetime:
        """Return when the first workload that uses `key` stops being exempt; there must be one that is."""
        return self._exempt_ends[key]

    def exempt_until(self, each: RunningWorkload) -> datetime:
        """Return when this workload stops being exempt; one that starts in the future starts now."""
        return later(min(each.since, self._now), self._exempt)

    def restore(self, workload: WorkloadId) -> None:
        """Return this workload again: it is not evicted any more."""
        place = self._place_of.get(workload)
        if place is None:
            return
        restored = self.running[place]
        heaps = [self._all]
        if self._exempt and self.exempt_until(restored) <= self._now:
            heaps.append(self._ready)
        for key, _ in restored.quantities if self._freed is None else self._freed[place]:
            for heap in heaps:
                heappush(heap[key], place)

    def _first_of(self, places: list[int] | None) -> RunningWorkload | None:
        while places:
            first = self.running[places[0]]
            if first.id not in self._evicted:
                return first
            heappop(places)
        return None


def _places_by_key(counted: Sequence[Counted]) -> dict[FlavorResource, list[int]]:
    """Return key -> the places of those of which something counts there."""
    found: dict[FlavorResource, list[int]] = {}
    for place, quantities in enumerate(counted):
        for key, _ in quantities:
            found.setdefault(key, []).append(place)
    return found
