"""Strict mode: a leaf over its runtime is brought back with or without a preemptor. docs/specification.md §7.8."""

from collections import Counter

from shared.quota.decide.decisions import EvictionRule
from shared.quota.decide.reclaim.victim_search import VictimSearch
from shared.quota.decide.state.cycle_state import CycleState, Victim
from shared.quota.decide.state.leaf_usage import LeafUsage, RunningWorkload
from shared.quota.model.workload import EvictionReason
from shared.resources import FlavorResource


def recycle_strictly(cycle: CycleState) -> None:
    """In each leaf in Strict mode that is over its runtime, let the least important work go while it overshoots."""
    names = sorted(cycle.cache.strict & cycle.cache.judged.keys())
    settled = _settled_elsewhere(cycle) if names else Counter()
    for name in names:
        if cycle.snapshot.leaves[name].inactive is None:
            _recycle_leaf(cycle, cycle.leaf_usage(name), settled)


def _settled_elsewhere(cycle: CycleState) -> Counter[FlavorResource]:
    """By key, what counted there until now and has just got its room in another flavor.

    So much of a runtime may come back to others with the next measuring. Who is over by no more than that is not
    recycled yet: two jobs could else take turns in evicting each other indefinitely.
    """
    found: Counter[FlavorResource] = Counter()
    placed = [(each.workload, each.flavors) for each in cycle.starts if not each.on_claim]
    placed += [(each.workload, each.flavors) for each in cycle.preemptors]
    for workload, flavors in placed:
        assignments = cycle.assignments(cycle.leaf_usage(workload.group), workload) or ()
        for key, amount in {pair for assignment in assignments for pair in assignment.quantities}:
            if flavors.get(key.resource) != key.flavor:
                found[key] += amount
    return found


def _recycle_leaf(cycle: CycleState, leaf_usage: LeafUsage, settled: Counter[FlavorResource]) -> None:
    name = leaf_usage.name
    keys = sorted(cycle.snapshot.numbers[name])
    over = [key for key in keys if (name, key) in cycle.over_since or cycle.planned.over_runtime(name, key) > 0]
    search = VictimSearch(cycle, delayed=False)
    for key in over:
        while cycle.planned.over_runtime(name, key) > settled[key]:
            running = _next(search, leaf_usage, key, over)
            if running is None:
                break
            victim = Victim(running, leaf_usage, EvictionReason.RECLAIMED, EvictionRule.STRICT, name, key)
            cycle.vacate(victim)
            cycle.forced.append(victim)
    for moment in search.spared_until:
        cycle.wake(moment)


def _next(
    search: VictimSearch, leaf_usage: LeafUsage, key: FlavorResource, over: list[FlavorResource]
) -> RunningWorkload | None:
    """The least important work that uses `key`, if it may go; nobody else goes in its place.

    A key that was over counts even if other victims of this cycle have brought it down: they may be filled back.
    """
    least = leaf_usage.least_important(key)
    if least is None or not search.may_go(leaf_usage, least, key):
        return None
    after = search.cycle.planned
    overshoots = all(
        after.over_runtime(leaf_usage.name, each) >= amount for each, amount in least.quantities if each in over
    )
    return least if overshoots else None
