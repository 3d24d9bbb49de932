"""The usage that every decision of a round is based on, and changes.

A workload starts only if it fits all three usage views, so that it never uses capacity reserved by a claim, and never
capacity that this cycle's victims still hold:

* `current` counts all workloads whose pods have not ended;
* `after_evictions` is without those that are already being evicted, and with the claims on their capacity;
* `planned` is `after_evictions` with this cycle's plan: without its victims, with its preemptors.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from types import MappingProxyType

from shared.quota.decide.decisions import Start
from shared.quota.decide.recycling_order import RunningWorkload
from shared.quota.decide.state.known_leaf import KnownLeaf
from shared.quota.decide.state.leaf_usage import LeafUsage, flavors_of
from shared.quota.decide.state.round_input import FIRST_ROUND, TakenOver
from shared.quota.decide.state.usage import FrozenNumbers, GroupPath, Quantities, Usage, lost_with, quantities_of
from shared.quota.decide.state.usage_views import UsageViews, UsedSums
from shared.quota.measure.snapshot import Snapshot
from shared.quota.measure.static.pod_set_choices import sum_of
from shared.quota.model.workload import Workload, WorkloadId
from shared.resources import Amount, FlavorResource


class Room(dict[FlavorResource, Amount]):
    """key -> how much of it is available to one group; computed when first requested, and right until usage changes."""

    __slots__ = ("_path", "_views")

    def __init__(self, views: UsageViews, path: GroupPath) -> None:
        self._views = views
        self._path = path

    def __missing__(self, key: FlavorResource) -> Amount:
        found = self[key] = self._views.available(self._path, key)
        return found

    def holds(self, quantities: Quantities) -> bool:
        """Return whether there is room for all of these quantities."""
        for key, amount in quantities:  # noqa: SIM110 - a generator costs as much again, and this runs most
            if self[key] < amount:
                return False
        return True


class RoundUsage:
    """The usage views of one round, its leaves' sums, and the workloads that it has started."""

    __slots__ = (
        "_gone",
        "_known",
        "_leaf_usages",
        "_not_evicted",
        "_views",
        "after_evictions",
        "current",
        "planned",
        "snapshot",
        "started",
        "starts",
        "used",
    )

    def __init__(
        self,
        snapshot: Snapshot,
        evicting: Iterable[str],
        taken_over: TakenOver = FIRST_ROUND,
        known: Mapping[str, KnownLeaf] = MappingProxyType({}),
    ) -> None:
        """`evicting`: the leaves in which workloads are being evicted; `known`: leaf -> the record kept of it."""
        self.snapshot = snapshot
        self._known = known
        numbers, evicting = FrozenNumbers(snapshot.numbers), tuple(evicting)
        self.current = Usage(numbers)
        under_way = snapshot.claims or evicting
        self.after_evictions = Usage(numbers) if under_way else self.current
        self.planned = Usage(numbers)
        others = (self.after_evictions,) if under_way else ()
        self._views = UsageViews((self.current, *others, self.planned))
        self.used = UsedSums(snapshot.numbers)
        self._gone = UsedSums({})
        """The part of `used` that is being evicted, or is planned to be."""
        self.starts: list[Start] = []
        self.started: set[WorkloadId] = set(taken_over.started)
        """Ids of all workloads started in this cycle, in this round and the rounds before it."""
        self._not_evicted: dict[str, set[WorkloadId]] = {}
        """leaf → what the rounds before have started there; without what can be taken back, because it is a trial."""
        for workload in (each.workload for each in taken_over.starts):
            if workload.id not in taken_over.trial:
                self._not_evicted.setdefault(workload.group, set()).add(workload.id)
        self._leaf_usages: dict[str, LeafUsage] = {}
        for leaf in map(snapshot.leaves.__getitem__, evicting):
            for workload in leaf.evicting:
                quantities = quantities_of(workload, flavors_of(workload))
                lost = lost_with(workload, quantities)
                self.after_evictions.end(leaf.path, quantities, lost)
                self.planned.end(leaf.path, quantities, lost)
                self._gone.add(leaf.path, quantities)

    @property
    def now(self) -> datetime:
        """The moment for which the cycle decides."""
        return self.snapshot.now

    def leaf(self, name: str) -> LeafUsage:
        """Return the usage of that leaf, made at the first call."""
        found = self._leaf_usages.get(name)
        if found is None:
            leaf, known = self.snapshot.leaves[name], self._known.get(name)
            in_order = known.in_order if known is not None and known.leaf is leaf else None
            found = self._leaf_usages[name] = LeafUsage(
                leaf, self.snapshot.numbers[name], self._not_evicted.get(name, ()), in_order
            )
        return found

    def is_touched(self, leaf: str) -> bool:
        """Return whether this round has changed anything in that leaf so far."""
        found = self._leaf_usages.get(leaf)
        return found is not None and found.touched

    @property
    def touched(self) -> dict[str, LeafUsage]:
        """Leaves in which this round has changed something so far."""
        return {name: each for name, each in self._leaf_usages.items() if each.touched}

    def used_planned(self, group: str, key: FlavorResource) -> Amount:
        """Return what the admitted workloads of the subtree request, without those evicted, or planned to be."""
        return self.used.used(group, key) - self._gone.used(group, key)

    def room(self, path: GroupPath) -> Room:
        """Return the most that the group at the start of `path` can still take in every view, by key."""
        return Room(self._views, path)

    def fits(self, leaf_usage: LeafUsage, quantities: Quantities) -> bool:
        """Return whether `quantities` fit all three usage views, within every limit on the leaf's path."""
        return self.room(leaf_usage.path).holds(quantities)

    def start(self, leaf_usage: LeafUsage, start: Start) -> None:
        """Admit a workload: it counts in every view from now on."""
        quantities = quantities_of(start.workload, start.flavors)
        for usage in self._views.usages:
            usage.add(leaf_usage.path, quantities)
        self.used.add(leaf_usage.path, quantities)
        leaf_usage.start(quantities, start.workload, self.now)
        self.starts.append(start)
        self.started.add(start.workload.id)

    def reserve(self, leaf_usage: LeafUsage, quantities: Quantities, workload: Workload) -> None:
        """Count a pending workload in `planned` as if it had started."""
        self.planned.add(leaf_usage.path, quantities)
        leaf_usage.reserve(quantities, workload)

    def release(self, leaf_usage: LeafUsage, quantities: Quantities, workload: Workload) -> None:
        """Undo `reserve`."""
        self.planned.remove(leaf_usage.path, quantities)
        leaf_usage.release(quantities, workload)

    def claim(self, leaf_usage: LeafUsage, quantities: Quantities, workload: Workload) -> None:
        """Reserve room that evictions under way leave to a pending workload."""
        self.reserve(leaf_usage, quantities, workload)
        self.after_evictions.add(leaf_usage.path, quantities)

    def unclaim(self, leaf_usage: LeafUsage, quantities: Quantities, workload: Workload) -> None:
        """Undo `claim`."""
        self.release(leaf_usage, quantities, workload)
        self.after_evictions.remove(leaf_usage.path, quantities)

    def evict(self, leaf_usage: LeafUsage, *evicted: RunningWorkload) -> None:
        """Count running workloads of this leaf as evicted: `planned` is without them."""
        quantities, lost = _used_and_lost(evicted)
        self.planned.end(leaf_usage.path, quantities, lost)
        self._gone.add(leaf_usage.path, quantities)
        leaf_usage.evict(evicted)

    def restore(self, leaf_usage: LeafUsage, *restored: RunningWorkload) -> None:
        """Undo `evict`."""
        quantities, lost = _used_and_lost(restored)
        self.planned.resume(leaf_usage.path, quantities, lost)
        self._gone.remove(leaf_usage.path, quantities)
        leaf_usage.restore(restored)


def _used_and_lost(running: Collection[RunningWorkload]) -> tuple[Quantities, Quantities]:
    """Return what these use together, and what root's capacity loses when they end; there can be thousands."""
    lost = [lost_with(each.workload, each.quantities) for each in running if each.workload.on_closed_nodes]
    return sum_of([each.quantities for each in running]), sum_of(lost)
