"""Higher priority takes the place of lower in a leaf that must not grow. docs/specification.md §7.7.

Judged after all entitled and opportunistic work, and after Strict mode: the leaf's use grows on no key.
"""

from collections.abc import Iterator

from shared.quota.decide.decisions import EvictionRule, WaitReason
from shared.quota.decide.queue.fair_sharing import QueueHead
from shared.quota.decide.queue.leaf_queue import LeafQueue, evaluate
from shared.quota.decide.reclaim.victim_search import VictimSearch
from shared.quota.decide.state.cycle_state import CycleState, Preemptor, Victim
from shared.quota.decide.state.flavor_assignment import Assignments, FlavorAssignment, entitled_candidate
from shared.quota.decide.state.leaf_usage import LeafUsage
from shared.quota.decide.state.smallest_requests import could_fit
from shared.quota.decide.state.usage import Quantities
from shared.quota.measure.group_usage import NO_NUMBERS
from shared.quota.model.tree import Preemption
from shared.quota.model.workload import EvictionReason, Workload
from shared.resources import Amount, FlavorResource


def plan_swap(cycle: CycleState, leaf_usage: LeafUsage, workload: Workload, assignment: FlavorAssignment) -> bool:
    """Plan to replace strictly lower-priority preemptible work of this leaf in these flavors, if that is possible."""
    quantities = assignment.quantities
    if leaf_usage.leaf.group.preemption is Preemption.NEVER or not quantities:
        return False
    if any(leaf_usage.claimed.get(key, 0) for key, _ in quantities) or not leaf_usage.may_hold(quantities, workload):
        return False
    if not leaf_usage.could_preempt(quantities, workload.priority):
        return False
    bounds = tuple((key, cycle.planned.charge(leaf_usage.name, key)) for key, _ in quantities)
    preemptor = Preemptor(workload, leaf_usage, assignment.flavors, quantities, bounds=bounds)
    cycle.reserve(leaf_usage, quantities, workload)
    if _make_place(cycle, preemptor, bounds) and cycle.planned.keeps_limits(leaf_usage.path, quantities):
        cycle.victims.extend(preemptor.victims)
        cycle.preemptors.append(preemptor)
        cycle.wait_reasons[workload.id] = WaitReason.WAITING_FOR_EVICTIONS
        return True
    for victim in preemptor.victims:
        cycle.restore(victim)
    cycle.release(leaf_usage, quantities, workload)
    return False


def _make_place(cycle: CycleState, preemptor: Preemptor, bounds: Quantities) -> bool:
    """Vacate lower-priority work, least important first, until the leaf's use is at most what it was on every key."""
    search, leaf_usage = VictimSearch(cycle, delayed=False), preemptor.leaf_usage
    for key, most in bounds:
        while cycle.planned.charge(leaf_usage.name, key) > most:
            running = search.least_important(leaf_usage, key)
            if running is None or running.workload.priority >= preemptor.workload.priority:
                for moment in search.spared_until:
                    cycle.wake(moment)
                return False
            victim = Victim(
                running, leaf_usage, EvictionReason.PREEMPTED, EvictionRule.SWAP, leaf_usage.name, key, preemptor
            )
            preemptor.victims.append(victim)
            cycle.vacate(victim)
    return True


def swap_in_leaves(cycle: CycleState) -> None:
    """Try a swap for all work that waits, is entitled nowhere, and has lower-priority work in its leaf."""
    for name in sorted(_leaves_with_swaps(cycle)):
        leaf, leaf_usage = cycle.snapshot.leaves[name], cycle.leaf_usage(name)
        if cycle.is_held_back(leaf_usage):
            continue
        lowest = leaf.admitted[-1].priority

        def choose(
            leaf_usage: LeafUsage, workload: Workload, assignments: Assignments, least: int = lowest
        ) -> QueueHead | None:
            if workload.priority <= least or not _may_swap(cycle, leaf_usage, workload, assignments):
                return None
            return QueueHead(workload, (), leaf_usage)

        line = LeafQueue(cycle, leaf_usage, choose)
        while (head := line.next_head()) is not None:
            line.wait(head.workload)


def _leaves_with_swaps(cycle: CycleState) -> Iterator[str]:
    """Leaves in which a swap might be planned, or a workload waits for evictions under way instead of a swap."""
    is_evicting = bool(cycle.victims or cycle.forced or cycle.cache.evicting)
    for name in cycle.cache.swapping:
        if cycle.is_touched(name) or _could_swap(cycle, name) or (is_evicting and _may_come_anyway(cycle, name)):
            yield name


def _may_come_anyway(cycle: CycleState, name: str) -> bool:
    """Whether something of this leaf may fit once all evictions have ended."""
    path, numbers = cycle.snapshot.leaves[name].path, cycle.snapshot.numbers[name]

    def available(key: FlavorResource) -> Amount:
        return cycle.planned.available(path[1:], key) + numbers.get(key, NO_NUMBERS).guarantee

    return could_fit(cycle.cache.tree.requests[name], available)


def _could_swap(cycle: CycleState, name: str) -> bool:
    cached = cycle.cache.leaves[name]
    if cached.could_swap is None:
        leaf_usage, classes = cycle.leaf_usage(name), cycle.queue(name)
        examples = dict(zip(classes.kinds, leaf_usage.leaf.pending, strict=True))
        cached.could_swap = any(
            _may_be_worth_it(leaf_usage, example, each.assignments)
            for each, example in examples.items()
            if each.assignments is not None
        )
    return cached.could_swap


def _may_be_worth_it(leaf_usage: LeafUsage, workload: Workload, assignments: Assignments) -> bool:
    """Whether the workload is entitled nowhere, and enough of lower priority runs to replace."""
    if not any(leaf_usage.could_preempt(each.quantities, workload.priority) for each in assignments):
        return False
    return not any(
        all(
            leaf_usage.may_hold(option.quantities, workload) and leaf_usage.is_entitled(option.quantities, workload)
            for option in each.options
        )
        for each in assignments
    )


def _may_swap(cycle: CycleState, leaf_usage: LeafUsage, workload: Workload, assignments: Assignments) -> bool:
    """Whether a swap was planned for this work: it is entitled nowhere, and some assignment allows it."""
    if entitled_candidate(evaluate(cycle, leaf_usage, workload, assignments)) is not None:
        return False
    if any(_comes_anyway(cycle, leaf_usage, workload, assignment) for assignment in assignments):
        cycle.wait_reasons[workload.id] = WaitReason.WAITING_FOR_EVICTIONS
        return False
    return any(plan_swap(cycle, leaf_usage, workload, assignment) for assignment in assignments)


def _comes_anyway(cycle: CycleState, leaf_usage: LeafUsage, workload: Workload, assignment: FlavorAssignment) -> bool:
    """Whether evictions under way, this cycle's included, free the room, so that nobody need go for it.

    One that takes longer than claimTimeout is not waited for: a PodDisruptionBudget may hold it indefinitely.
    """
    quantities = assignment.quantities
    if cycle.current.fits(leaf_usage.path, quantities) or not cycle.planned.fits(leaf_usage.path, quantities):
        return False
    patience = leaf_usage.leaf.reclaim.claim_timeout
    leaves = map(cycle.snapshot.leaves.__getitem__, sorted(cycle.cache.evicting))
    ends = [each.eviction.at + patience for leaf in leaves for each in leaf.evicting if each.eviction is not None]
    for end in ends:
        cycle.wake(end)
    is_soon = bool(cycle.victims or cycle.forced) or any(end > cycle.now for end in ends)
    return is_soon and leaf_usage.may_hold(quantities, workload)
