"""The usage that every decision of a round is based on, and changes.

A workload starts only if it fits all three usage views, so that it never uses capacity reserved by a claim, and never
capacity that this cycle's victims still hold:

* `current` counts all workloads whose pods have not ended;
* `after_evictions` is without those that are already being evicted, and with the claims on their capacity;
* `planned` is `after_evictions` with this cycle's plan: without its victims, with its preemptors.
"""

from collections.abc import Iterable
from datetime import datetime

from shared.quota.decide.decisions import Start
from shared.quota.decide.recycling_order import RunningWorkload
from shared.quota.decide.state.leaf_usage import LeafUsage, flavors_of
from shared.quota.decide.state.round_input import FIRST_ROUND, TakenOver
from shared.quota.decide.state.usage import GroupPath, Quantities, Usage, UsageLimits, quantities_of
from shared.quota.decide.state.usage_views import UsageViews, UsedSums
from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.workload import Workload, WorkloadId
from shared.resources import Amount, FlavorResource


class RoundUsage:
    """The usage views of one round, its leaves' sums, and the workloads that it has started."""

    __slots__ = (
        "_leaf_usages",
        "_not_evicted",
        "_usages",
        "_views",
        "after_evictions",
        "current",
        "planned",
        "snapshot",
        "started",
        "starts",
        "used",
        "used_planned",
    )

    def __init__(self, snapshot: Snapshot, evicting: Iterable[str], taken_over: TakenOver = FIRST_ROUND) -> None:
        """`evicting`: the leaves in which workloads are being evicted."""
        self.snapshot = snapshot
        limits, evicting = UsageLimits(snapshot.numbers), tuple(evicting)
        self.current = Usage(limits)
        under_way = snapshot.claims or evicting
        self.after_evictions = Usage(limits) if under_way else self.current
        self.planned = Usage(limits)
        self._usages = (self.current, self.after_evictions, self.planned) if under_way else (self.current, self.planned)
        self._views = UsageViews(self._usages)
        self.used = UsedSums(snapshot.numbers)
        self.used_planned = UsedSums(snapshot.numbers)
        """Without what is being evicted, or is planned to be."""
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
                self.after_evictions.end(leaf.path, quantities, workload)
                self.planned.end(leaf.path, quantities, workload)
                self.used_planned.remove(leaf.path, quantities)

    @property
    def now(self) -> datetime:
        """The moment for which the cycle decides."""
        return self.snapshot.now

    def leaf(self, name: str) -> LeafUsage:
        """Return the usage of that leaf, made at the first call."""
        found = self._leaf_usages.get(name)
        if found is None:
            found = self._leaf_usages[name] = LeafUsage(
                self.snapshot.leaves[name], self.snapshot.numbers[name], self._not_evicted.get(name, ())
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

    def available(self, path: GroupPath, key: FlavorResource) -> Amount:
        """Return the most of `key` that the group at the start of `path` can still take in every view."""
        return self._views.available(path, key)

    def fits(self, leaf_usage: LeafUsage, quantities: Quantities) -> bool:
        """Return whether `quantities` fit all three usage views, within every limit on the leaf's path."""
        return self._views.fits(leaf_usage.path, quantities)

    def start(self, leaf_usage: LeafUsage, start: Start) -> None:
        """Admit a workload: it counts in every view from now on."""
        quantities = quantities_of(start.workload, start.flavors)
        for usage in self._usages:
            usage.add(leaf_usage.path, quantities)
        self.used.add(leaf_usage.path, quantities)
        self.used_planned.add(leaf_usage.path, quantities)
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

    def evict(self, leaf_usage: LeafUsage, running: RunningWorkload) -> None:
        """Count a running workload as evicted: `planned` is without it."""
        self.planned.end(leaf_usage.path, running.quantities, running.workload)
        self.used_planned.remove(leaf_usage.path, running.quantities)
        leaf_usage.evict(running)

    def restore(self, leaf_usage: LeafUsage, running: RunningWorkload) -> None:
        """Undo `evict`."""
        self.planned.resume(leaf_usage.path, running.quantities, running.workload)
        self.used_planned.add(leaf_usage.path, running.quantities)
        leaf_usage.restore(running)
