"""Who starts: first all entitled work, then what borrows. docs/specification.md §6.

Two passes over the same queues. In the first, entitled work starts, or has room made or kept for it; entitled work
whose first choice is to borrow in another flavor is deferred to the second, where its own room stays kept for it.
"""

from collections.abc import Callable, Iterable

from shared.quota.decide.decisions import Start, Tier, WaitReason
from shared.quota.decide.queue.candidates import (
    BorrowingLeaves,
    EvaluatedLeaves,
    leaves_with_entitled,
    remember_borrowing,
)
from shared.quota.decide.queue.fair_sharing import QueueHead, Tournament
from shared.quota.decide.queue.leaf_queue import LeafQueue, evaluate
from shared.quota.decide.reclaim.notice import is_early
from shared.quota.decide.reclaim.planner import ReclaimOutcome, plan_reclaim
from shared.quota.decide.state.cycle_state import CycleState, Preemptor
from shared.quota.decide.state.flavor_assignment import Assignments, Candidate, candidates, entitled_candidate
from shared.quota.decide.state.leaf_usage import LeafUsage
from shared.quota.decide.state.pods_ready import hold_others_back
from shared.quota.model.tree import Preemption
from shared.quota.model.workload import Workload, WorkloadId


class AdmissionPasses:
    """Both passes of one cycle."""

    __slots__ = ("_cycle", "_deferred", "_delayed_of", "_guarded")

    def __init__(self, cycle: CycleState) -> None:
        self._cycle = cycle
        self._delayed_of: tuple[tuple[int, int], dict[str, list[Preemptor]]] = (0, 0), {}
        self._deferred: dict[WorkloadId, Preemptor] = {}
        """Entitled work that would rather borrow, and its own room, which counts in its leaf at once."""
        self._guarded: set[WorkloadId] = set()
        """Those whose own room is kept from borrowers."""

    def start_entitled(self) -> None:
        """First pass."""
        leaves = EvaluatedLeaves(self._cycle, self._entitled_head, leaves_with_entitled(self._cycle))
        for line in _run(self._cycle, leaves, self._try_entitled):
            if not line.had_heads and not line.leaf_usage.touched:
                self._cycle.cache.leaves[line.leaf_usage.name].none_entitled = True

    def start_borrowing(self) -> None:
        """Second pass, with all room kept that entitled work waits for."""
        cycle = self._cycle
        cycle.count_delayed()
        for workload_id, each in self._deferred.items():
            if cycle.fits(each.leaf_usage, each.quantities):
                cycle.planned.add(each.leaf_usage.path, each.quantities)
                self._guarded.add(workload_id)
        leaves = BorrowingLeaves(cycle, self._borrowing_head)
        if self._deferred or cycle.taken_over.may_not_borrow:
            # What becomes of them might free capacity again, so that nothing is known for the next cycle.
            _run(cycle, EvaluatedLeaves(cycle, self._borrowing_head, leaves.leaves()), self._try_borrowing)
        else:
            remember_borrowing(cycle, _run(cycle, leaves, self._try_borrowing))
        for workload_id in list(self._deferred):
            self._take_back(workload_id)
        cycle.uncount_delayed()

    def _entitled_head(self, leaf_usage: LeafUsage, workload: Workload, assignments: Assignments) -> QueueHead | None:
        entitled = entitled_candidate(evaluate(self._cycle, leaf_usage, workload, assignments))
        return None if entitled is None else QueueHead(workload, entitled.quantities, leaf_usage)

    def _try_entitled(self, line: LeafQueue, head: QueueHead) -> None:
        cycle, leaf_usage, workload = self._cycle, head.leaf_usage, head.workload
        assignments = line.open_assignments(workload)
        evaluation = evaluate(cycle, leaf_usage, workload, assignments or ())
        for candidate in (
            candidates(evaluation, leaf_usage.leaf.group) if entitled_candidate(evaluation) is not None else ()
        ):
            if candidate.starts and candidate.entitled and not cycle.is_held_back(leaf_usage):
                _start(cycle, leaf_usage, workload, candidate)
                return
            if self._settles(leaf_usage, workload, candidate):
                break
        else:
            line.give_up(workload)
        line.wait(workload)

    def _settles(self, leaf_usage: LeafUsage, workload: Workload, candidate: Candidate) -> bool:
        """Whether this attempt decides what becomes of entitled work that does not start in it now."""
        cycle = self._cycle
        if candidate.starts and candidate.entitled:
            cycle.reserve(leaf_usage, candidate.quantities, workload)
            cycle.wait_reasons[workload.id] = WaitReason.PODS_NOT_READY
            return True
        if candidate.starts:
            self._defer(leaf_usage, workload)
            return True
        return (
            not cycle.is_held_back(leaf_usage)
            and plan_reclaim(cycle, leaf_usage, workload, candidate) is not ReclaimOutcome.NONE
        )

    def _borrowing_head(self, leaf_usage: LeafUsage, workload: Workload, assignments: Assignments) -> QueueHead | None:
        cycle = self._cycle
        if cycle.is_held_back(leaf_usage):
            return None
        if workload.id in self._deferred:
            return QueueHead(workload, assignments[0].quantities, leaf_usage)
        if not any(cycle.fits(leaf_usage, each.quantities) for each in assignments):
            return None
        evaluation = evaluate(cycle, leaf_usage, workload, assignments)
        for each in candidates(evaluation, leaf_usage.leaf.group):
            if each.starts and self._spares_kept(leaf_usage, workload, each):
                return QueueHead(workload, each.quantities, leaf_usage)
        return None

    def _try_borrowing(self, line: LeafQueue, head: QueueHead) -> None:
        cycle, leaf_usage, workload = self._cycle, head.leaf_usage, head.workload
        deferred = self._take_back(workload.id)
        assignments = line.open_assignments(workload) if not cycle.is_held_back(leaf_usage) else None
        for candidate in candidates(evaluate(cycle, leaf_usage, workload, assignments or ()), leaf_usage.leaf.group):
            if candidate.starts and self._spares_kept(leaf_usage, workload, candidate):
                _start(cycle, leaf_usage, workload, candidate)
                return
            if deferred and plan_reclaim(cycle, leaf_usage, workload, candidate) is not ReclaimOutcome.NONE:
                break
        else:
            line.give_up(workload)
        line.wait(workload)

    def _spares_kept(self, leaf_usage: LeafUsage, workload: Workload, candidate: Candidate) -> bool:
        """Whether entitled work of this leaf whose room is only delayed stays entitled when this one borrows.

        Else the delay would cost it its turn: what it cannot preempt counts before it in the next cycle.
        """
        asked = {key for key, _ in candidate.quantities}
        may_preempt = leaf_usage.leaf.group.preemption is Preemption.LOWER_PRIORITY and workload.preemptible
        for preemptor in () if candidate.entitled else self._delayed_in(leaf_usage):
            yields = may_preempt and workload.priority < preemptor.workload.priority
            if not yields and any(key in asked for key, _ in preemptor.quantities):
                self._cycle.wait_reasons[workload.id] = WaitReason.ROOM_KEPT_FOR_OTHERS
                return False
        return True

    def _delayed_in(self, leaf_usage: LeafUsage) -> Iterable[Preemptor]:
        """Entitled work of that leaf whose room comes later without a claim to hold it.

        It is kept, it comes with evictions that are under way for others, or somebody cannot go yet.
        """
        cycle = self._cycle
        extent = len(cycle.delayed), len(cycle.preemptors)
        if self._delayed_of[0] != extent:
            planned = (*cycle.forced, *cycle.victims)
            is_slow = any(is_early(victim, cycle) for victim in planned)
            told_first = (each for each in cycle.preemptors if not each.swaps and (is_slow or not each.victims))
            found: dict[str, list[Preemptor]] = {}
            for preemptor in (*cycle.delayed, *told_first):
                found.setdefault(preemptor.leaf_usage.name, []).append(preemptor)
            self._delayed_of = extent, found
        return self._delayed_of[1].get(leaf_usage.name, ())

    def _defer(self, leaf_usage: LeafUsage, workload: Workload) -> None:
        assignments = self._cycle.assignments(leaf_usage, workload)
        own = entitled_candidate(evaluate(self._cycle, leaf_usage, workload, assignments or ()))
        if own is not None:
            self._deferred[workload.id] = Preemptor(workload, leaf_usage, own.flavors, own.quantities)
            leaf_usage.reserve(own.quantities, workload)

    def _take_back(self, workload_id: WorkloadId) -> bool:
        """Keep nothing for this work any more; whether it was deferred."""
        own = self._deferred.pop(workload_id, None)
        if own is None:
            return False
        own.leaf_usage.release(own.quantities, own.workload)
        if workload_id in self._guarded:
            self._cycle.planned.remove(own.leaf_usage.path, own.quantities)
        return True


def _run(
    cycle: CycleState, leaves: EvaluatedLeaves | BorrowingLeaves, try_head: Callable[[LeafQueue, QueueHead], None]
) -> Iterable[LeafQueue]:
    """Try one head after another in the tournament's order, until no leaf has one or nobody may start.

    Return the queues walked to their end; none if the pass was broken off.
    """
    if cycle.blocked_by is not None:
        return ()
    tournament = Tournament(cycle, leaves)
    while (head := tournament.best) is not None and cycle.blocked_by is None:
        queue = leaves.queues[head.leaf_usage.name]
        try_head(queue, head)
        tournament.enter(head.leaf_usage, queue.next_head())
    return () if cycle.blocked_by is not None else leaves.queues.values()


def _start(cycle: CycleState, leaf_usage: LeafUsage, workload: Workload, candidate: Candidate) -> None:
    tier = Tier.ENTITLED if candidate.entitled else Tier.OPPORTUNISTIC
    cycle.start(leaf_usage, Start(workload, candidate.flavors, tier))
    hold_others_back(cycle, leaf_usage, workload)
