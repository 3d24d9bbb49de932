"""Who starts: first all entitled workloads, then those that borrow. docs/specification.md §6.

Two passes over the same queues. In the first, entitled workloads start, or have room made or kept for them. Those whose
first choice is to borrow in another flavor are deferred to the second pass, where their own room stays kept for them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from shared.quota.decide.decisions import Start, Tier, WaitReason
from shared.quota.decide.queue.borrowers import Borrowers
from shared.quota.decide.queue.fair_sharing import QueueHead, Tournament
from shared.quota.decide.queue.leaf_queue import Choose, Decided, LeafQueue, evaluate
from shared.quota.decide.reclaim.notices.notice import is_early
from shared.quota.decide.reclaim.planner import ReclaimOutcome, ReclaimPlanner
from shared.quota.decide.reclaim.standing_claims import StandingClaims
from shared.quota.decide.state.cycle_cache import Sort
from shared.quota.decide.state.eviction_plan import EvictionPlan, Preemptor
from shared.quota.decide.state.flavor_assignment import (
    Assignments,
    Candidate,
    borrows_first_fitting,
    candidates,
    entitled_candidate,
    with_other_plans,
)
from shared.quota.decide.state.leaf_usage import LeafUsage
from shared.quota.decide.state.pods_ready import AdmissionBlock
from shared.quota.decide.state.round_input import RoundInput
from shared.quota.decide.state.round_usage import RoundUsage
from shared.quota.decide.state.usage import Quantities
from shared.quota.decide.waits import Waits
from shared.quota.model.settings import ReclaimMode
from shared.quota.model.tree import ROOT, Preemption, WhenCanBorrow
from shared.quota.model.workload import Workload, WorkloadId


@dataclass(slots=True)
class AdmissionPasses:
    """Both passes of one round: changes the usage by what starts, and by what its planner evicts and reserves."""

    inputs: RoundInput
    claims: StandingClaims
    block: AdmissionBlock
    usage: RoundUsage
    evictions: EvictionPlan
    waits: Waits
    planner: ReclaimPlanner
    _delayed_of: tuple[tuple[int, int], dict[str, list[Preemptor]]] = field(default=((0, 0), {}), init=False)
    _deferred: dict[WorkloadId, Preemptor] = field(default_factory=dict, init=False)
    """Entitled workloads that would rather borrow, and their own room, which counts in their leaf at once."""
    _guarded: set[WorkloadId] = field(default_factory=set, init=False)
    """Entitled workloads whose own room is kept from borrowers."""

    @property
    def kept_room_while_borrowing(self) -> bool:
        """Whether the second pass began with room kept for workloads that it could let borrow elsewhere."""
        return bool(self._guarded)

    def start_entitled(self) -> None:
        """Make the first pass: start entitled workloads, or make or keep room for them."""
        cache, usage = self.inputs.cache, self.usage
        names = sorted(cache.of(Sort.UNDECIDED) | (usage.touched.keys() & cache.of(Sort.WAITING)))
        queues = {name: self._queue(name, self._entitled_head) for name in names}
        if self.block.by is not None:
            return
        heads = (queue.next_head() for queue in queues.values())
        tournament = Tournament(usage, (head for head in heads if head is not None))
        while (head := tournament.best) is not None and self.block.by is None:
            queue = queues[head.path[0]]
            self._try_entitled(queue, head)
            tournament.replace_best(queue.next_head())
        if self.block.by is None:
            for name, queue in queues.items():
                if not queue.had_heads and not queue.leaf_usage.touched:
                    cache.note_none_entitled(name)

    def start_borrowing(self) -> None:
        """Make the second pass: let others borrow, while all room is kept that entitled workloads wait for."""
        usage = self.usage
        self.evictions.count_delayed(usage)
        for workload_id, each in self._deferred.items():
            if usage.fits(each.leaf_usage, each.quantities):
                usage.planned.add(each.leaf_usage.path, each.quantities)
                self._guarded.add(workload_id)
        if self.block.by is None:
            self._let_borrow()
        for workload_id in list(self._deferred):
            self._take_back(workload_id)
        self.evictions.uncount_delayed(usage)

    def _let_borrow(self) -> None:
        """Try one head after another, until nothing fits any more.

        What is available only shrinks, except when a deferred workload is tried: until then nobody is left out.
        """
        borrowers = Borrowers(
            self.inputs, self.usage, self.block, self._deferred, lambda name: self._queue(name, self._borrowing_head)
        )
        tournament = Tournament(self.usage, borrowers.heads())
        while (head := tournament.best) is not None and self.block.by is None:
            is_below_a_child = len(head.path) > 2
            if self._deferred or not borrowers.is_out(head.path[-2] if is_below_a_child else ROOT):
                tournament.replace_best(borrowers.take_turn(head, self._try_borrowing))
            elif is_below_a_child and not borrowers.is_out(ROOT):
                tournament.drop_best_child_of_root()
            else:
                return

    def _queue(self, leaf: str, choose: Choose) -> LeafQueue:
        decided = Decided(self.inputs.now, self.usage.started, self.waits.reasons, self.claims.open)
        return LeafQueue(self.usage.leaf(leaf), self.inputs.classes(leaf), decided, choose)

    def _evaluate(self, leaf_usage: LeafUsage, workload: Workload, assignments: Assignments) -> Iterable[Candidate]:
        return evaluate(self.usage, self.inputs.taken_over.may_not_borrow, leaf_usage, workload, assignments)

    def _entitled_head(self, leaf_usage: LeafUsage, workload: Workload, assignments: Assignments) -> QueueHead | None:
        if not any(leaf_usage.is_entitled(each.quantities, workload) for each in assignments):
            return None
        entitled = entitled_candidate(self._evaluate(leaf_usage, workload, assignments))
        return None if entitled is None else _head(workload, entitled.quantities, leaf_usage)

    def _try_entitled(self, queue: LeafQueue, head: QueueHead) -> None:
        leaf_usage, workload = queue.leaf_usage, head.workload
        assignments = queue.open_assignments(workload)
        evaluation = self._evaluate(leaf_usage, workload, assignments or ())
        is_entitled = entitled_candidate(evaluation) is not None
        for candidate, others in with_other_plans(candidates(evaluation, leaf_usage.leaf.group) if is_entitled else ()):
            if candidate.starts and candidate.entitled and not self.block.holds(leaf_usage):
                self._start(leaf_usage, workload, candidate)
                return
            if self._decides_without_start(leaf_usage, workload, candidate, others):
                break
        else:
            if not self.inputs.snapshot.turns.holders or not self._keep_beside_turns(queue, workload, evaluation):
                queue.give_up(workload)
        queue.wait(workload)

    def _decides_without_start(
        self, leaf_usage: LeafUsage, workload: Workload, candidate: Candidate, others: Sequence[Candidate]
    ) -> bool:
        """Return whether this candidate decides about an entitled workload that does not start in it now."""
        if candidate.starts and candidate.entitled:
            self.usage.reserve(leaf_usage, candidate.quantities, workload)
            self.waits.reasons[workload.id] = WaitReason.PODS_NOT_READY
            return True
        if candidate.starts:
            self._defer(leaf_usage, workload)
            return True
        return (
            not self.block.holds(leaf_usage)
            and self.planner.plan(leaf_usage, workload, candidate, others) is not ReclaimOutcome.NONE
        )

    def _borrowing_head(self, leaf_usage: LeafUsage, workload: Workload, assignments: Assignments) -> QueueHead | None:
        if self.block.holds(leaf_usage):
            return None
        if self._deferred and workload.id in self._deferred:
            return _head(workload, assignments[0].quantities, leaf_usage)
        for each in self._borrowing_candidates(leaf_usage, workload, assignments):
            if each.starts and self._spares_kept(leaf_usage, workload, each):
                head = _head(workload, each.quantities, leaf_usage)
                return head if self._deferred else head._replace(chosen=each)
        return None

    def _borrowing_candidates(
        self, leaf_usage: LeafUsage, workload: Workload, assignments: Assignments
    ) -> Iterable[Candidate]:
        """Return what is worth trying, best first; nothing where nothing fits."""
        room, group = self.usage.room(leaf_usage.path), leaf_usage.leaf.group
        place = next((at for at, each in enumerate(assignments) if room.holds(each.quantities)), None)
        if place is None:
            return ()
        may_not_borrow = self.inputs.taken_over.may_not_borrow
        if (may_not_borrow and workload.id in may_not_borrow) or not _tries_one(leaf_usage, workload, assignments):
            return self._all_candidates(leaf_usage, workload, assignments)
        first = assignments[place]
        for each in (first,) if group.when_can_borrow is WhenCanBorrow.BORROW else assignments[place:]:
            if leaf_usage.is_entitled(each.quantities, workload) and room.holds(each.quantities):
                return (Candidate(each, entitled=True, starts=True, rank=()),)
        return (Candidate(first, entitled=False, starts=True, rank=()),)

    def _all_candidates(
        self, leaf_usage: LeafUsage, workload: Workload, assignments: Assignments
    ) -> Iterable[Candidate]:
        """Return what is worth trying, best first, also what room must be made for."""
        return candidates(self._evaluate(leaf_usage, workload, assignments), leaf_usage.leaf.group)

    def _try_borrowing(self, queue: LeafQueue, head: QueueHead) -> None:
        leaf_usage, workload = queue.leaf_usage, head.workload
        if head.chosen is not None and self._still_starts(leaf_usage, workload, head.chosen):
            self._start(leaf_usage, workload, head.chosen)
            return
        deferred = self._take_back(workload.id)
        assignments = queue.open_assignments(workload) if not self.block.holds(leaf_usage) else None
        candidates_of = self._all_candidates if deferred else self._borrowing_candidates
        for candidate, others in with_other_plans(candidates_of(leaf_usage, workload, assignments or ())):
            if candidate.starts and self._spares_kept(leaf_usage, workload, candidate):
                self._start(leaf_usage, workload, candidate)
                return
            if deferred and self.planner.plan(leaf_usage, workload, candidate, others) is not ReclaimOutcome.NONE:
                break
        else:
            tried = self._all_candidates(leaf_usage, workload, assignments or ()) if deferred else ()
            if not self.inputs.snapshot.turns.holders or not self._keep_beside_turns(queue, workload, tried):
                queue.give_up(workload)
        queue.wait(workload)

    def _still_starts(self, leaf_usage: LeafUsage, workload: Workload, chosen: Candidate) -> bool:
        """Return whether the workload can start in what was the best for it when that was chosen.

        Room only shrinks, and nothing else has changed its leaf since: what was better then did not fit, and does not.
        """
        if self.block.holds(leaf_usage) or not self.usage.fits(leaf_usage, chosen.quantities):
            return False
        return self._spares_kept(leaf_usage, workload, chosen)

    def _keep_beside_turns(self, queue: LeafQueue, workload: Workload, tried: Iterable[Candidate]) -> bool:
        """Keep room for a workload that nothing serves now, in the first of these where a turn alone delays that."""
        plans = (each for each in tried if each.entitled and not each.starts)
        if self.block.holds(queue.leaf_usage):
            return False
        return any(self.planner.keep_beside_turns(queue.leaf_usage, workload, each) for each in plans)

    def _spares_kept(self, leaf_usage: LeafUsage, workload: Workload, candidate: Candidate) -> bool:
        """Return whether entitled workloads of this leaf whose room is only delayed stay entitled if this one borrows.

        Else the delay would cost it its turn: what it cannot preempt counts before it in the next cycle.
        """
        asked = {key for key, _ in candidate.quantities}
        may_preempt = leaf_usage.leaf.group.preemption is Preemption.LOWER_PRIORITY and workload.preemptible
        for preemptor in () if candidate.entitled else self._delayed_in(leaf_usage):
            yields = may_preempt and workload.priority < preemptor.workload.priority
            if not yields and any(key in asked for key, _ in preemptor.quantities):
                self.waits.reasons[workload.id] = WaitReason.ROOM_KEPT_FOR_OTHERS
                return False
        return True

    def _delayed_in(self, leaf_usage: LeafUsage) -> Iterable[Preemptor]:
        """Entitled workloads of that leaf whose room comes later, without a claim that keeps it.

        It is kept, it comes with evictions that are under way for others, or a victim cannot be evicted yet.
        """
        evictions = self.evictions
        extent = len(evictions.delayed), len(evictions.preemptors)
        if self._delayed_of[0] != extent:
            planned = (*evictions.forced, *evictions.victims)
            is_slow = any(is_early(victim, self.usage.now) for victim in planned)
            told_first = (each for each in evictions.preemptors if not each.swaps and (is_slow or not each.victims))
            found: dict[str, list[Preemptor]] = {}
            for preemptor in (*evictions.delayed, *told_first):
                found.setdefault(preemptor.leaf_usage.name, []).append(preemptor)
            self._delayed_of = extent, found
        return self._delayed_of[1].get(leaf_usage.name, ())

    def _defer(self, leaf_usage: LeafUsage, workload: Workload) -> None:
        assignments = self.inputs.assignments(leaf_usage.name, workload)
        own = entitled_candidate(self._evaluate(leaf_usage, workload, assignments or ()))
        if own is not None:
            self._deferred[workload.id] = Preemptor(workload, leaf_usage, own.flavors, own.quantities)
            leaf_usage.reserve(own.quantities, workload)

    def _take_back(self, workload_id: WorkloadId) -> bool:
        """Keep nothing for this workload any more; return whether it was deferred."""
        own = self._deferred.pop(workload_id, None)
        if own is None:
            return False
        own.leaf_usage.release(own.quantities, own.workload)
        if workload_id in self._guarded:
            self.usage.planned.remove(own.leaf_usage.path, own.quantities)
        return True

    def _start(self, leaf_usage: LeafUsage, workload: Workload, candidate: Candidate) -> None:
        tier = Tier.ENTITLED if candidate.entitled else Tier.OPPORTUNISTIC
        self.usage.start(leaf_usage, Start(workload, candidate.flavors, tier))
        self.block.hold_others_back(leaf_usage, workload)


def _tries_one(leaf_usage: LeafUsage, workload: Workload, assignments: Assignments) -> bool:
    """Return whether only one of these is worth trying: the first with room, one to which it is entitled if any."""
    if leaf_usage.leaf.reclaim.mode is ReclaimMode.STRICT or not workload.preemptible:
        return False
    return borrows_first_fitting(assignments, leaf_usage.leaf.group)


def _head(workload: Workload, quantities: Quantities, leaf_usage: LeafUsage) -> QueueHead:
    keys = tuple([key for key, _ in quantities])
    return QueueHead(workload, keys, leaf_usage.path, not leaf_usage.stays_within_min(quantities))
