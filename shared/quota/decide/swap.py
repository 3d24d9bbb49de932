"""Higher priority takes the place of lower in a leaf that may not grow. DESIGN section 7, "Swap".

Judged after all entitled and opportunistic work, and after Strict mode: the leaf's use grows on no key.
"""

from shared.quota.decide.account import LeafAccount
from shared.quota.decide.cycle import Asker, Cycle, Victim
from shared.quota.decide.decisions import EvictionRule, WaitReason
from shared.quota.decide.flavors import Assignment, Wish, entitled_attempt
from shared.quota.decide.line import Line, attempts_of
from shared.quota.decide.ordering import Head
from shared.quota.decide.room import Ask
from shared.quota.decide.victims import Search
from shared.quota.model.tree import Preemption
from shared.quota.model.workload import EvictionReason, Workload


def plan_swap(cycle: Cycle, account: LeafAccount, workload: Workload, assignment: Assignment) -> bool:
    """Plan to replace strictly lower-priority preemptible work of this leaf in these flavors, if that is possible."""
    ask = assignment.ask
    if account.leaf.group.preemption is Preemption.NEVER or not ask:
        return False
    if any(account.claimed.get(key, 0) for key, _ in ask) or not account.may_hold(ask, workload):
        return False
    bounds = tuple((key, cycle.after.charge(account.name, key)) for key, _ in ask)
    asker = Asker(workload, account, assignment.flavors, ask, bounds=bounds)
    cycle.promise(account, ask, workload)
    if _free(cycle, asker, bounds) and cycle.after.keeps_limits(account.path, ask):
        cycle.victims.extend(asker.victims)
        cycle.askers.append(asker)
        cycle.notes[workload.id] = WaitReason.WAITING_FOR_EVICTIONS
        return True
    for victim in asker.victims:
        cycle.restore(victim)
    cycle.forget(account, ask, workload)
    return False


def _free(cycle: Cycle, asker: Asker, bounds: Ask) -> bool:
    """Vacate lower-priority work, least important first, until the leaf's use is at most what it was on every key."""
    search, account = Search(cycle, delayed=False), asker.account
    for key, most in bounds:
        while cycle.after.charge(account.name, key) > most:
            standing = search.least_important(account, key)
            if standing is None or standing.workload.priority >= asker.workload.priority:
                for moment in search.spared_until:
                    cycle.wake(moment)
                return False
            victim = Victim(standing, account, EvictionReason.PREEMPTED, EvictionRule.SWAP, account.name, key, asker)
            asker.victims.append(victim)
            cycle.vacate(victim)
    return True


def swap_in_leaves(cycle: Cycle) -> None:
    """Try a swap for all work that waits, is entitled nowhere, and has lower-priority work in its leaf."""
    for name in sorted(cycle.memory.swapping):
        leaf, account = cycle.snapshot.leaves[name], cycle.account(name)
        if cycle.is_held_back(account):
            continue
        lowest = leaf.admitted[-1].priority

        def choose(account: LeafAccount, workload: Workload, wish: Wish, least: int = lowest) -> Head | None:
            if workload.priority <= least or not _may_swap(cycle, account, workload, wish):
                return None
            return Head(workload, (), account)

        line = Line(cycle, account, choose)
        while (head := line.next_head()) is not None:
            line.wait(head.workload)


def _may_swap(cycle: Cycle, account: LeafAccount, workload: Workload, wish: Wish) -> bool:
    """Whether a swap was planned for this work: it is entitled nowhere, and some assignment allows it."""
    if entitled_attempt(attempts_of(cycle, account, workload, wish)) is not None:
        return False
    if any(_comes_anyway(cycle, account, workload, assignment) for assignment in wish):
        cycle.notes[workload.id] = WaitReason.WAITING_FOR_EVICTIONS
        return False
    return any(plan_swap(cycle, account, workload, assignment) for assignment in wish)


def _comes_anyway(cycle: Cycle, account: LeafAccount, workload: Workload, assignment: Assignment) -> bool:
    """Whether evictions under way, this cycle's included, free the room, so that nobody need go for it.

    One that takes longer than claimTimeout is not waited for: a PodDisruptionBudget may hold it for ever.
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
