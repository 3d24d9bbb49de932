"""What is known of one leaf: computed from the leaf and its numbers, and from nothing else."""

from datetime import datetime

from shared.quota.decide.recycling_order import RunningInOrder
from shared.quota.decide.state.equivalence import EquivalenceClasses
from shared.quota.decide.state.flavor_assignment import Assignments
from shared.quota.decide.state.leaf_usage import LeafUsage, running_in_order
from shared.quota.decide.state.steps import LeastNeeds, Steps, compute_steps, has_steps, least_needs
from shared.quota.measure.group_usage import GroupNumbers
from shared.quota.measure.snapshot import LeafSnapshot
from shared.quota.measure.turns.heads import LargeHead, large_heads
from shared.quota.model.workload import Workload


class KnownLeaf:
    """One leaf with its numbers; a leaf that is another object, or has other numbers, has another record."""

    __slots__ = (
        "_classes",
        "_could_swap",
        "_in_order",
        "_large_heads",
        "_least_needs",
        "_steps",
        "leaf",
        "none_entitled",
        "numbers",
    )

    def __init__(
        self,
        leaf: LeafSnapshot,
        numbers: GroupNumbers,
        previous: "KnownLeaf | None" = None,
    ) -> None:
        """`previous`: the record of an earlier state of the leaf, whose equivalence classes are taken over.

        If its numbers are the same and the leaf differs only in a flavor that no workload minds, more is.
        """
        self.leaf = leaf
        self.numbers = numbers
        self.none_entitled = False
        """Whether a pass has found that none of its pending workloads is entitled."""
        self._classes: EquivalenceClasses | None = previous._classes if previous is not None else None
        self._steps: Steps | None = None
        self._least_needs: LeastNeeds | None = None
        self._could_swap: bool | None = None
        self._large_heads: tuple[LargeHead, ...] | None = None
        self._in_order: RunningInOrder | None = None
        if previous is not None and previous.leaf.admitted is leaf.admitted:
            self._in_order = previous._in_order
        if previous is not None and previous.numbers is numbers and previous.leaf.is_alike(leaf):
            self.none_entitled = previous.none_entitled
            self._steps, self._could_swap = previous._steps, previous._could_swap

    def as_of(self, leaf: LeafSnapshot, numbers: GroupNumbers) -> "KnownLeaf":
        """Return what is known of an earlier state of the leaf: this record, or the classes of what waited then."""
        if self.leaf is leaf:
            return self
        found = KnownLeaf(leaf, numbers)
        found._classes = None if self._classes is None else self._classes.only(leaf.pending)
        return found

    @property
    def classes(self) -> EquivalenceClasses:
        """The equivalence classes of the pending workloads, computed at the first call."""
        if self._classes is None or self._classes.leaf is not self.leaf:
            self._classes = EquivalenceClasses(self.leaf, self._classes)
        return self._classes

    def steps(self, now: datetime) -> Steps | None:
        """Return the steps of the queue at that moment; None where only an evaluation of the queue can tell."""
        if self._steps is None or (self._steps.until is not None and self._steps.until <= now):
            classes = self.classes
            if not has_steps(self.leaf, classes):
                return None
            self._steps = compute_steps(classes, self.numbers, now)
        return self._steps

    @property
    def least_needs(self) -> LeastNeeds:
        """The least that any workload needs below the leaf's parent, also of those held back."""
        if self._least_needs is None:
            self._least_needs = least_needs(self.classes, self.numbers)
        return self._least_needs

    @property
    def large_heads(self) -> tuple[LargeHead, ...]:
        """The heads that could have a turn (docs/specification.md §6.11)."""
        if self._large_heads is None:
            self._large_heads = tuple(large_heads(self.leaf, self.numbers, self.leaf.eligibility.flavors))
        return self._large_heads

    def in_order(self) -> RunningInOrder:
        """Return the preemptible workloads that run, in the order of recycling, computed at the first call."""
        if self._in_order is None:
            self._in_order = running_in_order(self.leaf.admitted)
        return self._in_order

    @property
    def could_swap(self) -> bool:
        """Whether one that waits and is entitled nowhere requests no more than running ones of lower priority use."""
        if self._could_swap is None:
            usage = LeafUsage(self.leaf, self.numbers)
            self._could_swap = any(
                _could_replace(usage, each.example, each.assignments or ()) for each in set(self.classes.in_order)
            )
        return self._could_swap


def _could_replace(usage: LeafUsage, workload: Workload, assignments: Assignments) -> bool:
    if not any(usage.running.could_preempt(each.quantities, workload.priority) for each in assignments):
        return False
    return not any(all(usage.entitles(option.quantities, workload) for option in each.options) for each in assignments)
