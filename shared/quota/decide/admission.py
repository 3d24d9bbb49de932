"""Who starts: first all entitled work, then what borrows. docs/specification.md §6.

Two passes over the same queues. In the first, entitled work starts, or has room made or kept for it; entitled work
whose first choice is to borrow in another flavor is deferred to the second, where its own room stays kept for it.
"""

from collections.abc import Callable, Iterable

from shared.quota.decide.decisions import Start, Tier, WaitReason
from shared.quota.decide.queue.candidates import BorrowingLeaves, leaves_with_entitled
from shared.quota.decide.queue.fair_sharing import QueueHead, Tournament
from shared.quota.decide.queue.leaf_queue import LeafQueue, evaluate
from shared.quota.decide.reclaim.notice import is_early
from shared.quota.decide.reclaim.planner import ReclaimOutcome, plan_reclaim
from shared.quota.decide.state.cycle_state import CycleState, Preemptor
from shared.quota.decide.state.flavor_assignment import Assignments, Candidate, candidates, entitled_candidate
from shared.quota.decide.state.leaf_usage import LeafUsage
from shared.quota.decide.state.pods_ready import note_unready
from shared.quota.model.tree import Preemption
from shared.quota.model.workload import Workload, WorkloadId

Choose = Callable[[LeafUsage, Workload, Assignments], QueueHead | None]


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
        for line in _run(self._cycle, leaves_with_entitled(self._cycle), self._entitled_head, self._try_entitled):
            if not line.had_heads and not line.account.touched:
                self._cycle.memory.facts[line.account.name].none_entitled = True

    def start_borrowing(self) -> None:
        """Second pass, with all room kept that entitled work waits for."""
        cycle = self._cycle
        cycle.guard_kept_room()
        for workload_id, each in self._deferred.items():
            if cycle.fits(each.account, each.ask):
                cycle.after.add(each.account.path, each.ask)
                self._guarded.add(workload_id)
        is_reliable = not self._deferred
        room = BorrowingLeaves(cycle)
        lines = _run(cycle, room.candidates(), self._borrowing_head, self._try_borrowing)
        room.remember(lines, is_reliable=is_reliable)
        for workload_id in list(self._deferred):
            self._take_back(workload_id)
        cycle.open_kept_room()

    def _entitled_head(self, account: LeafUsage, workload: Workload, wish: Assignments) -> QueueHead | None:
        entitled = entitled_candidate(evaluate(self._cycle, account, workload, wish))
        return None if entitled is None else QueueHead(workload, entitled.ask, account)

    def _try_entitled(self, line: LeafQueue, head: QueueHead) -> None:
        cycle, account, workload = self._cycle, head.account, head.workload
        wish = line.open_wish(workload)
        stood = evaluate(cycle, account, workload, wish or ())
        for attempt in candidates(stood, account.leaf.group) if entitled_candidate(stood) is not None else ():
            if attempt.starts and attempt.entitled and not cycle.is_held_back(account):
                _start(cycle, account, workload, attempt)
                return
            if self._settles(account, workload, attempt):
                break
        else:
            line.give_up(workload)
        line.wait(workload)

    def _settles(self, account: LeafUsage, workload: Workload, attempt: Candidate) -> bool:
        """Whether this attempt decides what becomes of entitled work that does not start in it now."""
        cycle = self._cycle
        if attempt.starts and attempt.entitled:
            cycle.promise(account, attempt.ask, workload)
            cycle.notes[workload.id] = WaitReason.PODS_NOT_READY
            return True
        if attempt.starts:
            self._defer(account, workload)
            return True
        return (
            not cycle.is_held_back(account)
            and plan_reclaim(cycle, account, workload, attempt) is not ReclaimOutcome.NONE
        )

    def _borrowing_head(self, account: LeafUsage, workload: Workload, wish: Assignments) -> QueueHead | None:
        cycle = self._cycle
        if cycle.is_held_back(account):
            return None
        if workload.id in self._deferred:
            return QueueHead(workload, wish[0].ask, account)
        stood = evaluate(cycle, account, workload, wish)
        for each in candidates(stood, account.leaf.group):
            if each.starts and self._spares_kept(account, workload, each):
                return QueueHead(workload, each.ask, account)
        return None

    def _try_borrowing(self, line: LeafQueue, head: QueueHead) -> None:
        cycle, account, workload = self._cycle, head.account, head.workload
        deferred = self._take_back(workload.id)
        wish = line.open_wish(workload) if not cycle.is_held_back(account) else None
        for attempt in candidates(evaluate(cycle, account, workload, wish or ()), account.leaf.group):
            if attempt.starts and self._spares_kept(account, workload, attempt):
                _start(cycle, account, workload, attempt)
                return
            if deferred and plan_reclaim(cycle, account, workload, attempt) is not ReclaimOutcome.NONE:
                break
        else:
            line.give_up(workload)
        line.wait(workload)

    def _spares_kept(self, account: LeafUsage, workload: Workload, attempt: Candidate) -> bool:
        """Whether entitled work of this leaf whose room is only delayed stays entitled when this one borrows.

        Else the delay would cost it its turn: what it cannot preempt counts before it in the next cycle.
        """
        asked = {key for key, _ in attempt.ask}
        may_preempt = account.leaf.group.preemption is Preemption.LOWER_PRIORITY and workload.preemptible
        for preemptor in () if attempt.entitled else self._delayed_in(account):
            yields = may_preempt and workload.priority < preemptor.workload.priority
            if not yields and any(key in asked for key, _ in preemptor.ask):
                self._cycle.notes[workload.id] = WaitReason.ROOM_KEPT_FOR_OTHERS
                return False
        return True

    def _delayed_in(self, account: LeafUsage) -> Iterable[Preemptor]:
        """Entitled work of that leaf whose room comes later without a claim to hold it.

        It is kept, it comes with evictions that are under way for others, or somebody cannot go yet.
        """
        cycle = self._cycle
        extent = len(cycle.kept), len(cycle.preemptors)
        if self._delayed_of[0] != extent:
            planned = (*cycle.forced, *cycle.victims)
            is_slow = any(is_early(victim, cycle) for victim in planned)
            told_first = (each for each in cycle.preemptors if not each.swaps and (is_slow or not each.victims))
            found: dict[str, list[Preemptor]] = {}
            for preemptor in (*cycle.kept, *told_first):
                found.setdefault(preemptor.account.name, []).append(preemptor)
            self._delayed_of = extent, found
        return self._delayed_of[1].get(account.name, ())

    def _defer(self, account: LeafUsage, workload: Workload) -> None:
        wish = self._cycle.wish(account, workload)
        own = entitled_candidate(evaluate(self._cycle, account, workload, wish or ()))
        if own is not None:
            self._deferred[workload.id] = Preemptor(workload, account, own.flavors, own.ask)
            account.promise(own.ask, workload)

    def _take_back(self, workload_id: WorkloadId) -> bool:
        """Keep nothing for this work any more; whether it was deferred."""
        own = self._deferred.pop(workload_id, None)
        if own is None:
            return False
        own.account.forget(own.ask, own.workload)
        if workload_id in self._guarded:
            self._cycle.after.take(own.account.path, own.ask)
        return True


def _run(
    cycle: CycleState, leaves: Iterable[str], choose: Choose, attempt: Callable[[LeafQueue, QueueHead], None]
) -> Iterable[LeafQueue]:
    """Try one head after another in the tournament's order, until no leaf has one or nobody may start.

    The lines walked to their end are returned; none when the pass was broken off.
    """
    if cycle.blocked_by is not None:
        return ()
    lines = {name: LeafQueue(cycle, cycle.account(name), choose) for name in leaves}
    heads = (line.next_head() for line in lines.values())
    tournament = Tournament(cycle.snapshot, cycle.used, (head for head in heads if head is not None))
    while (head := tournament.best) is not None and cycle.blocked_by is None:
        line = lines[head.account.name]
        attempt(line, head)
        tournament.enter(head.account, line.next_head())
    return () if cycle.blocked_by is not None else lines.values()


def _start(cycle: CycleState, account: LeafUsage, workload: Workload, attempt: Candidate) -> None:
    tier = Tier.ENTITLED if attempt.entitled else Tier.OPPORTUNISTIC
    cycle.start(account, Start(workload, attempt.flavors, tier))
    note_unready(cycle, account, workload)
