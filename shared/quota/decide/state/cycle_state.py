"""What one cycle has decided so far, and the usage that every further decision in it is based on.

A workload starts only if it fits all three usage views, so that it never uses capacity reserved by a claim, and never
capacity that this cycle's victims still hold:

* `current` counts all workloads whose pods have not ended;
* `after_evictions` is without those that are already being evicted, and with the claims on their capacity;
* `planned` is `after_evictions` with this cycle's plan: without its victims, with its preemptors.

Everything here is mutable and exists for one call of `plan`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import Final

from shared.quota.decide.decisions import ClaimEnd, EndState, EvictionRule, Notice, Start, Tier, WaitReason
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.decide.state.equivalence import EquivalenceClasses
from shared.quota.decide.state.flavor_assignment import Assignments
from shared.quota.decide.state.leaf_usage import LeafUsage, RunningWorkload, flavors_of
from shared.quota.decide.state.usage import (
    GroupKey,
    Path,
    Quantities,
    Usage,
    UsageLimits,
    UsageViews,
    UsedSums,
    quantities_of,
)
from shared.quota.measure.inputs.world import OverSince
from shared.quota.measure.snapshot import OpenClaim, Snapshot
from shared.quota.model.workload import EvictionReason, Flavors, PreemptorId, Workload, WorkloadId
from shared.resources import Amount, FlavorResource


@dataclass(slots=True, eq=False)
class Preemptor:
    """A pending workload for which victims are evicted, or capacity is reserved."""

    workload: Workload
    leaf_usage: LeafUsage
    flavors: Flavors
    quantities: Quantities
    victims: list["Victim"] = field(default_factory=list)
    bounds: Quantities = ()
    """For a swap: the most that its leaf's charge can be, by key. Empty for an entitled preemptor."""

    @property
    def swaps(self) -> bool:
        """Whether it replaces workloads of its own leaf without being entitled."""
        return bool(self.bounds)


@dataclass(slots=True, eq=False)
class Victim:
    """A running workload that this cycle plans to evict: for whom, by which rule, and for which group and key."""

    running: RunningWorkload
    leaf_usage: LeafUsage
    reason: EvictionReason
    rule: EvictionRule
    group: str
    key: FlavorResource | None = None
    preemptor: Preemptor | None = None

    @property
    def workload(self) -> Workload:
        """The victim itself."""
        return self.running.workload


@dataclass(frozen=True, slots=True)
class TakenOver:
    """What one round of a cycle takes over from the rounds before it. docs/specification.md §6.1."""

    starts: tuple[Start, ...] = ()
    """They are in the snapshot, which was measured again with them."""
    measured_after: tuple[int, ...] = ()
    """After how many of `starts` each measuring was done."""
    may_not_borrow: frozenset[WorkloadId] = frozenset()
    """Those that an entitled workload would reclaim at once."""
    trial: frozenset[WorkloadId] = frozenset()
    """Of `starts`, those that may be reclaimed, whatever delays an eviction: this round is not carried out."""


FIRST_ROUND: Final = TakenOver()


class CycleState:
    """The usage and the decisions of one cycle while it plans."""

    def __init__(self, snapshot: Snapshot, cache: CycleCache, taken_over: TakenOver = FIRST_ROUND) -> None:
        cache.refresh(snapshot)
        self.cache = cache
        self.snapshot = snapshot
        self.now = snapshot.now
        limits = UsageLimits(snapshot.numbers)
        self.current = Usage(limits)
        under_way = snapshot.claims or cache.evicting
        self.after_evictions = Usage(limits, self.current.versions) if under_way else self.current
        self.planned = Usage(limits, self.current.versions)
        self._usages = (self.current, self.after_evictions, self.planned) if under_way else (self.current, self.planned)
        self._views = UsageViews(self._usages)
        self.used = UsedSums(snapshot.numbers)
        self.used_planned = UsedSums(snapshot.numbers)
        self.taken_over = taken_over
        self.starts: list[Start] = []
        self.victims: list[Victim] = []
        """For preemptors, or to cure an excess; victims that are not needed are filled back."""
        self.forced: list[Victim] = []
        """Evicted in any case: stopped groups, failed starts, Strict mode."""
        self.cured: dict[GroupKey, Amount] = {}
        """The most that used can be: the limits for which workloads are evicted."""
        self.preemptors: list[Preemptor] = []
        self.delayed: list[Preemptor] = []
        """Their capacity is reserved, although their victims cannot be evicted yet."""
        self.claims: dict[PreemptorId, OpenClaim] = {}
        """Valid claims that are not served yet."""
        self.claims_ended: list[ClaimEnd] = []
        self.notices: list[Notice] = []
        self.notices_withdrawn: list[Workload] = []
        self.over_since: OverSince = {}
        self.wait_reasons: dict[WorkloadId, WaitReason] = {}
        """Why this cycle passed over a workload, where the numbers alone do not show it."""
        self.blocked_by: Workload | None = None
        """A workload whose pods are not ready, which blocks admission in the whole cluster."""
        self.blocked_leaves: dict[str, Workload] = {}
        """leaf -> a workload whose pods are not ready, which blocks admission in its leaf."""
        self.started: set[WorkloadId] = {each.workload.id for each in taken_over.starts}
        """Of this cycle, also before it was measured again."""
        self._not_evicted = frozenset(self.started - taken_over.trial)
        self._wakes: list[datetime] = []
        self._guarded: list[Preemptor] | None = None
        self._queues: dict[str, EquivalenceClasses] = {}
        self._leaf_usages: dict[str, LeafUsage] = {}
        self._remove_evicting()

    def _remove_evicting(self) -> None:
        for leaf in map(self.snapshot.leaves.__getitem__, self.cache.evicting):
            for workload in leaf.evicting:
                quantities = quantities_of(workload, flavors_of(workload))
                self.after_evictions.remove(leaf.path, quantities)
                self.planned.remove(leaf.path, quantities)
                self.used_planned.remove(leaf.path, quantities)

    def without_borrowing(self, workloads: frozenset[WorkloadId]) -> "CycleState":
        """The same round from its beginning; these workloads do not borrow in it."""
        barred = self.taken_over.may_not_borrow | workloads
        return CycleState(self.snapshot, self.cache, replace(self.taken_over, may_not_borrow=barred))

    def leaf_usage(self, leaf: str) -> LeafUsage:
        """The usage of that leaf, made at the first call."""
        found = self._leaf_usages.get(leaf)
        if found is None:
            found = self._leaf_usages[leaf] = LeafUsage(
                self.snapshot.leaves[leaf], self.snapshot.numbers[leaf], self._not_evicted
            )
        return found

    def is_touched(self, leaf: str) -> bool:
        """Whether this cycle has changed anything in that leaf so far."""
        found = self._leaf_usages.get(leaf)
        return found is not None and found.touched

    @property
    def touched(self) -> set[str]:
        """Leaves in which this cycle has changed something so far."""
        return {name for name, each in self._leaf_usages.items() if each.touched}

    def queue(self, leaf: str) -> EquivalenceClasses:
        """The equivalence classes of the leaf's pending workloads, also once the cache is ahead of this cycle."""
        state, cached = self.snapshot.leaves[leaf], self.cache.leaves.get(leaf)
        if cached is not None and cached.leaf is state:
            return self.cache.queue(leaf, self.snapshot)
        found = self._queues.get(leaf)
        if found is None:
            found = self._queues[leaf] = EquivalenceClasses(state, self.snapshot.world.flavors)
        return found

    def assignments(self, leaf_usage: LeafUsage, workload: Workload) -> Assignments | None:
        """What this workload can take, in order of preference; None if it can never start in its leaf."""
        return self.queue(leaf_usage.name).kind_of(workload).assignments

    def wake(self, at: datetime) -> None:
        """Plan again at `at`, because time alone may change the decision; a moment in the past is ignored."""
        if at > self.now:
            self._wakes.append(at)

    @property
    def wake_at(self) -> datetime | None:
        """The nearest moment passed to `wake`."""
        return min(self._wakes, default=None)

    def available(self, path: Path, key: FlavorResource) -> Amount:
        """The most that the group at the start of `path` can still take in every view."""
        return self._views.available(path, key)

    def fits(self, leaf_usage: LeafUsage, quantities: Quantities) -> bool:
        """Whether `quantities` fit all three usage views, within every limit on the leaf's path."""
        return self._views.fits(leaf_usage.path, quantities)

    def frozen_views(self) -> UsageViews:
        """The usage views as they are now."""
        return self._views.frozen()

    @contextmanager
    def looking_at(self, views: UsageViews) -> Iterator[None]:
        """Judge what is available by these views meanwhile."""
        own, self._views = self._views, views
        yield
        self._views = own

    def is_held_back(self, leaf_usage: LeafUsage) -> bool:
        """Whether an admitted workload that is not ready blocks admission in this leaf."""
        return self.blocked_by is not None or leaf_usage.name in self.blocked_leaves

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

    def delay(self, preemptor: Preemptor) -> None:
        """Reserve capacity that is only delayed: counted in its leaf at once, elsewhere while others borrow."""
        preemptor.leaf_usage.reserve(preemptor.quantities, preemptor.workload)
        self.delayed.append(preemptor)
        if self._guarded is not None:
            self._guarded.append(preemptor)
            self.planned.add(preemptor.leaf_usage.path, preemptor.quantities)

    def count_delayed(self) -> None:
        """Count delayed reservations in `planned`, so that no borrower takes their capacity."""
        self._guarded = list(self.delayed)
        for preemptor in self._guarded:
            self.planned.add(preemptor.leaf_usage.path, preemptor.quantities)

    def uncount_delayed(self) -> None:
        """Undo `count_delayed`: victims are selected on what is used and claimed only."""
        for preemptor in self._guarded or ():
            self.planned.remove(preemptor.leaf_usage.path, preemptor.quantities)
        self._guarded = None

    def frozen(self) -> EndState:
        """The state at the end of the cycle, which changes nothing here any more."""
        self.count_delayed()
        return EndState(
            snapshot=self.snapshot,
            current=self.current.changed,
            after_evictions=self.after_evictions.changed,
            planned=self.planned.changed,
            leaves=MappingProxyType({name: each.frozen() for name, each in self._leaf_usages.items() if each.touched}),
            wait_reasons=MappingProxyType(self.wait_reasons),
            blocked_by=self.blocked_by,
            blocked_leaves=MappingProxyType(self.blocked_leaves),
        )

    def vacate(self, victim: Victim) -> None:
        """Count a running workload as evicted in `planned`."""
        self.planned.remove(victim.leaf_usage.path, victim.running.quantities)
        self.used_planned.remove(victim.leaf_usage.path, victim.running.quantities)
        victim.leaf_usage.vacate(victim.workload)

    def restore(self, victim: Victim) -> None:
        """Undo `vacate`."""
        self.planned.add(victim.leaf_usage.path, victim.running.quantities)
        self.used_planned.add(victim.leaf_usage.path, victim.running.quantities)
        victim.leaf_usage.restore(victim.workload)

    def tier(self, leaf_usage: LeafUsage, quantities: Quantities, workload: Workload) -> Tier:
        """On what basis this workload would start there now."""
        return Tier.ENTITLED if leaf_usage.is_entitled(quantities, workload) else Tier.OPPORTUNISTIC
