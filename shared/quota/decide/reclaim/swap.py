"""Higher priority takes the place of lower in a leaf that may not grow. docs/specification.md §7.7.

Judged after all entitled and opportunistic work, and after Strict mode: the leaf's use grows on no key.
"""

from shared.quota.decide.decisions import EvictionRule, WaitReason
from shared.quota.decide.queue.fair_sharing import QueueHead
from shared.quota.decide.queue.leaf_queue import LeafQueue, evaluate
from shared.quota.decide.reclaim.victim_search import VictimSearch
from shared.quota.decide.state.cycle_state import CycleState, Preemptor, Victim
from shared.quota.decide.state.flavor_assignment import Assignments, FlavorAssignment, entitled_candidate
from shared.quota.decide.state.leaf_usage import LeafUsage
from shared.quota.decide.state.usage import Quantities
from shared.quota.model.tree import Preemption
from shared.quota.model.workload import EvictionReason, Workload


def plan_swap(cycle: CycleState, account: LeafUsage, workload: Workload, assignment: FlavorAssignment) -> bool:
    """Plan to replace strictly lower-priority preemptible work of this leaf in these flavors, if that is possible."""
    ask = assignment.ask
    if account.leaf.group.preemption is Preemption.NEVER or not ask:
        return False
    if any(account.claimed.get(key, 0) for key, _ in ask) or not account.may_hold(ask, workload):
        return False
    bounds = tuple((key, cycle.after.charge(account.name, key)) for key, _ in ask)
    preemptor = Preemptor(workload, account, assignment.flavors, ask, bounds=bounds)
    cycle.promise(account, ask, workload)
    if _free(cycle, preemptor, bounds) and cycle.after.keeps_limits(account.path, ask):
        cycle.victims.extend(preemptor.victims)
        cycle.preemptors.append(preemptor)
        cycle.notes[workload.id] = WaitReason.WAITING_FOR_EVICTIONS
        return True
    for victim in preemptor.victims:
        cycle.restore(victim)
    cycle.forget(account, ask, workload)
    return False


def _free(cycle: CycleState, preemptor: Preemptor, bounds: Quantities) -> bool:
    """Vacate lower-priority work, least important first, until the leaf's use is at most what it was on every key."""
    search, account = VictimSearch(cycle, delayed=False), preemptor.account
    for key, most in bounds:
        while cycle.after.charge(account.name, key) > most:
            standing = search.least_important(account, key)
            if standing is None or standing.workload.priority >= preemptor.workload.priority:
                for moment in search.spared_until:
                    cycle.wake(moment)
                return False
            victim = Victim(
                standing, account, EvictionReason.PREEMPTED, EvictionRule.SWAP, account.name, key, preemptor
            )
            preemptor.victims.append(victim)
            cycle.vacate(victim)
    return True


def swap_in_leaves(cycle: CycleState) -> None:
    """Try a swap for all work that waits, is entitled nowhere, and has lower-priority work in its leaf."""
    for name in sorted(cycle.memory.swapping):
        leaf, account = cycle.snapshot.leaves[name], cycle.account(name)
        if cycle.is_held_back(account):
            continue
        lowest = leaf.admitted[-1].priority

        def choose(account: LeafUsage, workload: Workload, wish: Assignments, least: int = lowest) -> QueueHead | None:
            if workload.priority <= least or not _may_swap(cycle, account, workload, wish):
                return None
            return QueueHead(workload, (), account)

        line = LeafQueue(cycle, account, choose)
        while (head := line.next_head()) is not None:
            line.wait(head.workload)


def _may_swap(cycle: CycleState, account: LeafUsage, workload: Workload, wish: Assignments) -> bool:
    """Whether a swap was planned for this work: it is entitled nowhere, and some assignment allows it."""
    if entitled_candidate(evaluate(cycle, account, workload, wish)) is not None:
        return False
    if any(_comes_anyway(cycle, account, workload, assignment) for assignment in wish):
        cycle.notes[workload.id] = WaitReason.WAITING_FOR_EVICTIONS
        return False
    return any(plan_swap(cycle, account, workload, assignment) for assignment in wish)


def _comes_anyway(cycle: CycleState, account: LeafUsage, workload: Workload, assignment: FlavorAssignment) -> bool:
    """Whether evictions under way, this cycle's included, free the room, so that nobody need go for it.

    One that takes longer than claimTimeout is not waited for: a PodDisruptionBudget may hold it indefinitely.
    """
    ask = assignment.ask
    if cycle.present.fits(account.path, ask) or not cycle.after.fits(account.path, ask):
        return False
    patience = account.leaf.reclaim.claim_timeout
    leaves = map(cycle.snapshot.leaves.__getitem__, sorted(cycle.memory.evicting))
    ends = [each.eviction.at + patience for leaf in leaves for each in leaf.evicting if each.eviction is not None]
    for end in ends:
        cycle.wake(end)
    is_soon = bool(cycle.victims or cycle.forced) or any(end > cycle.now for end in ends)
    return is_soon and account.may_hold(ask, workload)
