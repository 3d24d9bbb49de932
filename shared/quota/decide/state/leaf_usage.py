"""One leaf's own sums during a cycle: what it uses, what is reserved in it, and what can be recycled there.

Entitlement and over-runtime are found from these; what is available on the path is found from `usage`.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from functools import partial
from types import MappingProxyType

from shared.quota.decide.decisions import LeafSums
from shared.quota.decide.recycling_order import RecyclingOrder, RunningInOrder, RunningWorkload, freed_by
from shared.quota.decide.state.usage import GroupPath, Quantities, quantities_of
from shared.quota.measure.group_usage import NO_NUMBERS, GroupNumbers, Numbers
from shared.quota.measure.snapshot import LeafSnapshot
from shared.quota.model.tree import Preemption
from shared.quota.model.workload import Flavors, Workload, WorkloadId
from shared.resources import Amount, FlavorResource

Sums = dict[FlavorResource, Amount]
GetInOrder = Callable[[], RunningInOrder]


class RunningWorkloads:
    """The workloads that run in one leaf: those that a cycle evicts, those that it starts, and who is recycled first.

    `started`: what this cycle has started before it was measured again; admitted in `leaf`, and not evicted.
    """

    __slots__ = (
        "_admitted",
        "_freeing",
        "_in_order",
        "_leaf",
        "_lower",
        "_order",
        "_unanswered",
        "evicted_now",
        "started_now",
    )

    def __init__(self, leaf: LeafSnapshot, started: Collection[WorkloadId], in_order: GetInOrder | None) -> None:
        self.evicted_now: set[WorkloadId] = set()
        self.started_now: list[RunningWorkload] = []
        """The preemptible ones."""
        self._leaf = leaf
        self._admitted = leaf.admitted
        if started:
            in_order = None
            self.started_now = [
                running_workload(each) for each in leaf.admitted if each.id in started and each.preemptible
            ]
            self._admitted = tuple(each for each in leaf.admitted if each.id not in started)
        self._in_order = in_order or partial(running_in_order, self._admitted)
        self._order: RecyclingOrder | None = None
        self._freeing: RecyclingOrder | None = None
        self._unanswered: tuple[Workload, ...] | None = None
        self._lower: dict[int, Sums] = {}

    def order(self, now: datetime) -> RecyclingOrder:
        """Return the running preemptible workloads in the order of recycling; without those that this cycle starts.

        Workloads of one priority that started at the same moment are in the reverse of the queue's order.
        """
        if self._order is None:
            self._order = RecyclingOrder(self._in_order(), self.evicted_now, now, self._leaf.reclaim.exempt_after_start)
        return self._order

    def freeing(self, now: datetime) -> RecyclingOrder:
        """Return the same order, for each key with those alone whose eviction leaves others something of it."""
        if self._freeing is None:
            self._freeing, in_order = self.order(now), self._in_order()
            if any(each.workload.on_closed_nodes for each in in_order.running):
                exempt, freed = self._leaf.reclaim.exempt_after_start, [freed_by(each) for each in in_order.running]
                self._freeing = RecyclingOrder(in_order, self.evicted_now, now, exempt, freed)
        return self._freeing

    @property
    def unanswered(self) -> tuple[Workload, ...]:
        """Running workloads whose start the Job controller has not acknowledged."""
        if self._unanswered is None:
            self._unanswered = tuple(each for each in self._leaf.admitted if not each.is_answered)
        return self._unanswered

    def least_important(self, key: FlavorResource, now: datetime) -> RunningWorkload | None:
        """Return the first to recycle of all preemptible workloads that use `key`, those started now included."""
        started = [
            each
            for each in self.started_now
            if each.id not in self.evicted_now and any(used == key for used, _ in each.quantities)
        ]
        found = (*started, *self.order(now).first(key))
        return max(found, key=lambda each: each.importance, default=None)

    def restore(self, restored: Iterable[RunningWorkload]) -> None:
        """Take back that this cycle evicts these workloads."""
        self.evicted_now.difference_update([each.id for each in restored])
        for order in (self._order, self._freeing):
            if order is not None:
                order.restart()

    def preemptible_below(self, priority: int) -> Mapping[FlavorResource, Amount]:
        """Return what workloads of lower priority use that could be preempted in the group, or are evicted now."""
        if self._leaf.group.preemption is Preemption.NEVER:
            return {}
        found = self._lower.get(priority)
        if found is None:
            found = {}
            for each in reversed(self._admitted):
                if each.priority >= priority:
                    break
                if each.preemptible:
                    _add(found, quantities_of(each, flavors_of(each)))
            self._lower[priority] = found
        return found

    def could_preempt(self, quantities: Quantities, priority: int) -> bool:
        """Return whether the workloads of lower priority that can be preempted in the group use that much together."""
        below = self.preemptible_below(priority)
        return all(below.get(key, 0) >= amount for key, amount in quantities)


class LeafUsage:
    """The sums of one leaf while a cycle plans."""

    __slots__ = ("_numbers", "claimed", "leaf", "name", "non_preemptible", "path", "running", "touched", "used")

    def __init__(
        self,
        leaf: LeafSnapshot,
        numbers: GroupNumbers,
        started: Collection[WorkloadId] = (),
        in_order: GetInOrder | None = None,
    ) -> None:
        """`started`: what this cycle has started; `in_order` gives the preemptible workloads that run in `leaf`."""
        self.leaf = leaf
        self.name = leaf.group.name
        self.path: GroupPath = leaf.path
        self.used: Sums = {key: each.used for key, each in numbers.items()}
        """Used by workloads that are admitted, being evicted, or started in this cycle."""
        self.claimed: Sums = {}
        """Reserved for its own pending workloads: claims, and delayed reservations."""
        self.non_preemptible: Sums = {key: each.non_preemptible for key, each in numbers.items()}
        """The part of used and claimed that is not preemptible."""
        self.running = RunningWorkloads(leaf, started, in_order)
        self.touched = False
        """Whether this cycle has changed anything here."""
        self._numbers = numbers

    def frozen(self) -> LeafSums:
        """Return the sums as they are now, at the end of a cycle."""
        return LeafSums(*map(MappingProxyType, (self.used, self.claimed, self.non_preemptible)))

    @classmethod
    def of(cls, leaf: LeafSnapshot, numbers: GroupNumbers, sums: LeafSums | None) -> "LeafUsage":
        """Return the usage of the leaf with these sums; None: those of its numbers."""
        usage = cls(leaf, numbers)
        if sums is not None:
            usage.used, usage.claimed = dict(sums.used), dict(sums.claimed)
            usage.non_preemptible = dict(sums.non_preemptible)
        return usage

    def numbers(self, key: FlavorResource) -> Numbers:
        """Return the leaf's frozen numbers."""
        return self._numbers.get(key, NO_NUMBERS)

    def start(self, quantities: Quantities, workload: Workload, now: datetime) -> None:
        """Count this workload as used from now on."""
        self.touched = True
        _add(self.used, quantities)
        if workload.preemptible:
            self.running.started_now.append(RunningWorkload(workload, quantities, now, workload.id))
        else:
            _add(self.non_preemptible, quantities)

    def reserve(self, quantities: Quantities, workload: Workload) -> None:
        """Count a claim, or a delayed reservation, for a workload of this leaf."""
        self.touched = True
        _add(self.claimed, quantities)
        if not workload.preemptible:
            _add(self.non_preemptible, quantities)

    def release(self, quantities: Quantities, workload: Workload) -> None:
        """Undo `reserve`."""
        back = tuple((key, -amount) for key, amount in quantities)
        _add(self.claimed, back)
        if not workload.preemptible:
            _add(self.non_preemptible, back)

    def evict(self, evicted: Iterable[RunningWorkload]) -> None:
        """Mark workloads of this leaf as evicted by this cycle."""
        self.touched = True
        self.running.evicted_now.update([each.id for each in evicted])

    def restore(self, restored: Iterable[RunningWorkload]) -> None:
        """Undo `evict` for all of these."""
        self.running.restore(restored)

    def is_entitled(self, quantities: Quantities, workload: Workload) -> bool:
        """Whether what the leaf uses and cannot preempt for this workload, and this workload, are within runtime."""
        below = self.running.preemptible_below(workload.priority)
        for key, amount in quantities:
            others = self.used.get(key, 0) + self.claimed.get(key, 0) - below.get(key, 0)
            if others + amount > self._numbers.get(key, NO_NUMBERS).runtime:
                return False
        return True

    def entitles(self, quantities: Quantities, workload: Workload) -> bool:
        """Return whether the workload is entitled to these quantities, and may hold them if it is not preemptible."""
        return self.may_hold(quantities, workload) and self.is_entitled(quantities, workload)

    def may_hold(self, quantities: Quantities, workload: Workload) -> bool:
        """Whether non-preemptible workloads together stay within effectiveMin; always true for a preemptible one."""
        return workload.preemptible or all(
            self.non_preemptible.get(key, 0) + amount <= self.numbers(key).effective_min for key, amount in quantities
        )

    def stays_within_min(self, quantities: Quantities) -> bool:
        """Return whether the leaf's used plus `quantities` stays within effectiveMin on every key."""
        return all(self.used.get(key, 0) + amount <= self.numbers(key).effective_min for key, amount in quantities)

    def is_below_runtime(self, quantities: Quantities) -> bool:
        """Return whether the leaf's use, reservations included, is below its runtime on every key."""
        return all(
            self.used.get(key, 0) + self.claimed.get(key, 0) < self.numbers(key).runtime for key, _ in quantities
        )


def running_workload(workload: Workload) -> RunningWorkload:
    """Return the running workload with its quantities and start."""
    return RunningWorkload(workload, quantities_of(workload, flavors_of(workload)), started(workload), workload.id)


def running_in_order(admitted: Iterable[Workload]) -> RunningInOrder:
    """Return the preemptible ones of these."""
    return RunningInOrder(running_workload(each) for each in admitted if each.preemptible)


def started(workload: Workload) -> datetime:
    """Return when an admitted workload was started last; the creation of one that is not admitted."""
    return workload.admission.since if workload.admission else workload.created


def flavors_of(workload: Workload) -> Flavors:
    """Return the flavors of an admitted workload; none for one that is not admitted."""
    return workload.admission.flavors if workload.admission else {}


def _add(sums: Sums, quantities: Quantities) -> None:
    for key, amount in quantities:
        sums[key] = sums.get(key, 0) + amount
