"""One leaf's queue as a pass walks through it: who is next, and whom a waiting head blocks. docs/specification.md §6.8.

BestEffortFIFO: later ones may pass one that waits, until it has waited for the leaf's patience. StrictFIFO: a workload
that waits blocks those behind it on the flavors it waits for; one that could never fit is set aside and blocks none.
"""

from collections.abc import Callable, Iterable, Mapping, Set
from datetime import datetime
from typing import NamedTuple

from shared.quota.decide.decisions import WaitReason
from shared.quota.decide.queue.fair_sharing import QueueHead
from shared.quota.decide.state.equivalence import EquivalenceClass, EquivalenceClasses
from shared.quota.decide.state.flavor_assignment import (
    Assignments,
    Candidate,
    Evaluation,
    Fit,
    FlavorChoice,
    without_flavors,
)
from shared.quota.decide.state.leaf_usage import LeafUsage
from shared.quota.decide.state.round_usage import RoundUsage
from shared.quota.measure.snapshot import OpenClaim
from shared.quota.model.settings import ReclaimMode
from shared.quota.model.workload import PreemptorId, Workload, WorkloadId, flavor_names

Choose = Callable[[LeafUsage, Workload, Assignments], QueueHead | None]
"""Returns the head for a workload and its unblocked assignments; None: it cannot be one now."""


class Decided(NamedTuple):
    """What the round has decided of pending workloads so far; a queue reads it and changes nothing."""

    now: datetime
    started: Set[WorkloadId]
    passed_over: Mapping[WorkloadId, WaitReason]
    claims: Mapping[PreemptorId, OpenClaim]


class LeafQueue:
    """Walks through the pending workloads of a leaf in order, and checks each once.

    `choose` returns the head for a workload that can be one.
    """

    __slots__ = (
        "_blocked",
        "_choose",
        "_classes",
        "_decided",
        "_held_back_from",
        "_hopeless",
        "_next",
        "had_heads",
        "leaf_usage",
    )

    def __init__(
        self,
        leaf_usage: LeafUsage,
        classes: EquivalenceClasses,
        decided: Decided,
        choose: Choose,
    ) -> None:
        self.leaf_usage = leaf_usage
        self.had_heads = False
        """Whether the leaf had a head in this pass."""
        self._decided = decided
        self._choose = choose
        self._classes = classes
        self._next = 0
        self._blocked: set[str] = set()
        self._hopeless: set[EquivalenceClass] = set()
        self._held_back_from = leaf_usage.leaf.held_back_from(decided.now)

    def next_head(self) -> QueueHead | None:
        """Return the next workload to try; None at the end of the queue."""
        pending, classes = self.leaf_usage.leaf.pending, self._classes.known.by_workload
        while self._next < len(pending) and not self._is_through:
            workload = pending[self._next]
            own_class = classes[id(workload)]
            self._next += 1
            head = self._evaluate(workload, own_class) if own_class.assignments is not None else None
            if head is not None:
                self.had_heads = True
                return head
        return None

    def go_to(self, place: int) -> None:
        """Make the workload at that place of the queue the head; those before it wait, and are not evaluated."""
        for workload in self.leaf_usage.leaf.pending[:place] if self._held_back_from is not None else ():
            if workload.id not in self._decided.started:
                self.wait(workload)
        self._next = place + 1

    @property
    def _is_through(self) -> bool:
        """Whether no workload that is left can be a head: no class can start, or all flavors are blocked."""
        if len(self._hopeless) >= len(self._classes.known.startable):
            return True
        return bool(self._blocked) and self._classes.known.all_blocked(self._blocked)

    def _evaluate(self, workload: Workload, own_class: EquivalenceClass) -> QueueHead | None:
        decided, ident = self._decided, (workload.kind, workload.key)
        if ident in decided.started or own_class.assignments is None:
            return None
        if ident in decided.passed_over:
            self.wait(workload)
            return None
        head = None
        if own_class not in self._hopeless:
            assignments = without_flavors(own_class.assignments, self._blocked)
            head = None if assignments is None else self._choose(self.leaf_usage, workload, assignments)
            if head is None:
                # Also with flavors blocked: more of them become so, and what is available does not grow in a pass.
                self._hopeless.add(own_class)
        if head is None:
            self.wait(workload)
        return head

    def give_up(self, workload: Workload) -> None:
        """Skip all workloads of this class in this pass; the workload waits."""
        self._hopeless.add(self._classes.class_of(workload))

    def open_assignments(self, workload: Workload) -> Assignments | None:
        """Return the assignments of this workload that no earlier workload blocks."""
        assignments = self._classes.class_of(workload).assignments
        return None if assignments is None else without_flavors(assignments, self._blocked)

    def wait(self, workload: Workload) -> None:
        """Let a waiting workload block those behind it, if the leaf is strict about its order or it has waited long."""
        if self._held_back_from is not None and workload.queued <= self._held_back_from:
            claim = self._decided.claims.get(workload.preemptor_id)
            self._blocked |= (
                flavor_names(claim.flavors) if claim is not None else self._classes.class_of(workload).flavors
            )


def evaluate(
    usage: RoundUsage,
    may_not_borrow: Set[WorkloadId],
    leaf_usage: LeafUsage,
    workload: Workload,
    assignments: Assignments,
) -> Iterable[Candidate]:
    """Return how the workload fares now in each assignment.

    In a Strict leaf borrowed room needs a leaf below its runtime.
    """
    strict = leaf_usage.leaf.reclaim.mode is ReclaimMode.STRICT
    may_borrow = workload.id not in may_not_borrow
    room = usage.room(leaf_usage.path)  # no other decision is made while the workload is evaluated

    def fit(option: FlavorChoice) -> Fit:
        if not leaf_usage.may_hold(option.quantities, workload):
            return Fit(entitled=False, fits=False)
        entitled = leaf_usage.is_entitled(option.quantities, workload)
        fits = room.holds(option.quantities)
        borrows = may_borrow and (not strict or leaf_usage.is_below_runtime(option.quantities))
        return Fit(entitled, fits and (entitled or borrows))

    evaluation = Evaluation(assignments, fit)
    if not strict:
        return evaluation
    return [each for each in evaluation if each.entitled or leaf_usage.is_below_runtime(each.quantities)]
