"""What one cycle has decided so far, and the usage that every further decision in it is based on.

Three usage views give the room. `present` counts all work whose pods have not ended; `soon` is how it will be when the
evictions already under way have ended and their claims are served; `after` is the same with what this cycle plans: its
victims gone, its preemptors in. Work starts only where it fits all three, so that it never takes reserved room even if
this cycle's victims take long to end. Everything here is mutable and exists for one call of `plan`.
"""

from dataclasses import dataclass, field
from datetime import datetime

from shared.quota.decide.decisions import ClaimEnd, EvictionRule, Notice, Start, Tier, WaitReason
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.decide.state.equivalence import EquivalenceClasses
from shared.quota.decide.state.flavor_assignment import Assignments
from shared.quota.decide.state.leaf_usage import LeafUsage, RunningWorkload, flavors_of
from shared.quota.decide.state.usage import GroupKey, Quantities, Usage, UsageLimits, UsedSums, quantities_of
from shared.quota.measure.inputs.world import OverSince
from shared.quota.measure.snapshot import OpenClaim, Snapshot
from shared.quota.model.workload import EvictionReason, Flavors, PreemptorId, Workload
from shared.resources import Amount, FlavorResource


@dataclass(slots=True, eq=False)
class Preemptor:
    """Pending work for which room is made or kept."""

    workload: Workload
    leaf_usage: LeafUsage
    flavors: Flavors
    quantities: Quantities
    victims: list["Victim"] = field(default_factory=list)
    bounds: Quantities = ()
    """For a swap: what its leaf's charge may not pass, by key. Empty for an entitled preemptor."""

    @property
    def swaps(self) -> bool:
        """Whether it replaces work of its own leaf without being entitled."""
        return bool(self.bounds)


@dataclass(slots=True, eq=False)
class Victim:
    """Running work that this cycle means to evict: for whom, by which rule, and at which group and key it is owed."""

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


class CycleState:
    """The usage and the decisions of one cycle in the making."""

    def __init__(self, snapshot: Snapshot, cache: CycleCache) -> None:
        cache.survey(snapshot)
        self.cache = cache
        self.snapshot = snapshot
        self.now = snapshot.now
        terms = UsageLimits(snapshot.numbers)
        self.present = Usage(terms)
        under_way = snapshot.claims or cache.evicting
        self.soon = Usage(terms, self.present.versions) if under_way else self.present
        self.after = Usage(terms, self.present.versions)
        self._usages = (self.present, self.soon, self.after) if under_way else (self.present, self.after)
        self.used = UsedSums(snapshot.numbers)
        self.used_after = UsedSums(snapshot.numbers)
        self.starts: list[Start] = []
        self.victims: list[Victim] = []
        """For preemptors, or to cure an excess; those who need not go are filled back."""
        self.forced: list[Victim] = []
        """Going finally: stopped groups, start-ups given up, Strict mode."""
        self.cured: dict[GroupKey, Amount] = {}
        """What used may not pass: the limits for whose sake work goes."""
        self.preemptors: list[Preemptor] = []
        self.kept: list[Preemptor] = []
        self.claims: dict[PreemptorId, OpenClaim] = {}
        """Claims that stand and are not served yet."""
        self.claims_ended: list[ClaimEnd] = []
        self.notices: list[Notice] = []
        self.notices_withdrawn: list[Workload] = []
        self.over_since: OverSince = {}
        self.wait_reasons: dict[tuple[str, str], WaitReason] = {}
        """Why this cycle passed over work, where the numbers alone would not tell."""
        self.blocked_by: Workload | None = None
        """Work whose pods are not ready and that holds back the whole cluster."""
        self.blocked_leaves: dict[str, Workload] = {}
        """leaf -> work whose pods are not ready and that holds back its leaf."""
        self.started: set[tuple[str, str]] = set()
        self._wakes: list[datetime] = []
        self._guarded: list[Preemptor] | None = None
        self._available_of: dict[GroupKey, tuple[int, Amount]] = {}
        """By leaf and key: the least that the three views have available, and how often they had changed by then."""
        self._queues: dict[str, EquivalenceClasses] = {}
        self._leaf_usages: dict[str, LeafUsage] = {}
        self._let_evicting_go()

    def _let_evicting_go(self) -> None:
        for leaf in map(self.snapshot.leaves.__getitem__, self.cache.evicting):
            for workload in leaf.evicting:
                quantities = quantities_of(workload, flavors_of(workload))
                self.soon.remove(leaf.path, quantities)
                self.after.remove(leaf.path, quantities)
                self.used_after.remove(leaf.path, quantities)

    def leaf_usage(self, leaf: str) -> LeafUsage:
        """The usage of that leaf, made at the first call."""
        found = self._leaf_usages.get(leaf)
        if found is None:
            found = self._leaf_usages[leaf] = LeafUsage(self.snapshot.leaves[leaf], self.snapshot.numbers[leaf])
        return found

    def is_touched(self, leaf: str) -> bool:
        """Whether this cycle has changed anything in that leaf so far."""
        found = self._leaf_usages.get(leaf)
        return found is not None and found.touched

    def queue(self, leaf: str) -> EquivalenceClasses:
        """The kinds of the leaf's pending work, also for those who ask when the memory is further on."""
        state, facts = self.snapshot.leaves[leaf], self.cache.facts.get(leaf)
        if facts is not None and facts.leaf is state:
            return self.cache.queue(leaf, self.snapshot)
        found = self._queues.get(leaf)
        if found is None:
            found = self._queues[leaf] = EquivalenceClasses(state, self.snapshot.world.flavors)
        return found

    def assignments(self, leaf_usage: LeafUsage, workload: Workload) -> Assignments | None:
        """What this work may take, in order of preference; None when it could never start in its leaf."""
        return self.queue(leaf_usage.name).kind_of(workload).assignments

    def wake(self, at: datetime) -> None:
        """The passing of time until `at` may change what is decided; a moment that is past is of no interest."""
        if at > self.now:
            self._wakes.append(at)

    @property
    def wake_at(self) -> datetime | None:
        """The nearest moment passed to `wake`."""
        return min(self._wakes, default=None)

    def left(self, group: str, key: FlavorResource) -> Amount:
        """The least that this one group has left below its limit in any of the views; negative when it is passed."""
        return min([-usage.excess(group, key) for usage in self._usages])

    @property
    def moved(self) -> frozenset[str]:
        """Groups whose usage this cycle has changed."""
        return frozenset().union(*[usage.moved for usage in self._usages])

    def fits(self, leaf_usage: LeafUsage, quantities: Quantities) -> bool:
        """Whether the room is there, now and after the evictions under way, and nobody's plan needs it."""
        versions, name = self.present.versions, leaf_usage.name
        for key, amount in quantities:
            version, found = versions.get(key, 0), self._available_of.get((name, key))
            if found is None or found[0] != version:
                least = min([usage.available(leaf_usage.path, key) for usage in self._usages])
                found = self._available_of[name, key] = (version, least)
            if found[1] < amount:
                return False
        return True

    def is_held_back(self, leaf_usage: LeafUsage) -> bool:
        """Whether admitted work that is not ready yet holds back this leaf."""
        return self.blocked_by is not None or leaf_usage.name in self.blocked_leaves

    def start(self, leaf_usage: LeafUsage, start: Start) -> None:
        """Admit work: it is present from here on."""
        quantities = quantities_of(start.workload, start.flavors)
        for usage in self._usages:
            usage.add(leaf_usage.path, quantities)
        self.used.add(leaf_usage.path, quantities)
        self.used_after.add(leaf_usage.path, quantities)
        leaf_usage.start(quantities, start.workload, self.now)
        self.starts.append(start)
        self.started.add(start.workload.id)

    def reserve(self, leaf_usage: LeafUsage, quantities: Quantities, workload: Workload) -> None:
        """Count pending work as if it had its room."""
        self.after.add(leaf_usage.path, quantities)
        leaf_usage.reserve(quantities, workload)

    def release(self, leaf_usage: LeafUsage, quantities: Quantities, workload: Workload) -> None:
        """Undo `reserve`."""
        self.after.remove(leaf_usage.path, quantities)
        leaf_usage.release(quantities, workload)

    def keep(self, preemptor: Preemptor) -> None:
        """Keep room that is only delayed: it counts in its leaf at once, and for all who would borrow."""
        preemptor.leaf_usage.reserve(preemptor.quantities, preemptor.workload)
        self.kept.append(preemptor)
        if self._guarded is not None:
            self._guarded.append(preemptor)
            self.after.add(preemptor.leaf_usage.path, preemptor.quantities)

    def guard_kept_room(self) -> None:
        """From here on nobody may take room that is kept."""
        self._guarded = list(self.kept)
        for preemptor in self._guarded:
            self.after.add(preemptor.leaf_usage.path, preemptor.quantities)

    def open_kept_room(self) -> None:
        """Undo `guard_kept_room`: victims are judged by what is used and what is claimed."""
        for preemptor in self._guarded or ():
            self.after.remove(preemptor.leaf_usage.path, preemptor.quantities)
        self._guarded = None

    def vacate(self, victim: Victim) -> None:
        """Count running work as gone once the evictions under way have ended."""
        self.after.remove(victim.leaf_usage.path, victim.running.quantities)
        self.used_after.remove(victim.leaf_usage.path, victim.running.quantities)
        victim.leaf_usage.vacate(victim.workload)

    def restore(self, victim: Victim) -> None:
        """Undo `vacate`."""
        self.after.add(victim.leaf_usage.path, victim.running.quantities)
        self.used_after.add(victim.leaf_usage.path, victim.running.quantities)
        victim.leaf_usage.restore(victim.workload)

    def tier(self, leaf_usage: LeafUsage, quantities: Quantities, workload: Workload) -> Tier:
        """On what basis this workload would start there now."""
        return Tier.ENTITLED if leaf_usage.is_entitled(quantities, workload) else Tier.OPPORTUNISTIC
