"""What must come down with or without a preemptor: use above a ceiling, or above what the cluster has left.

Judged by used, not by charge, without work being evicted; at root without `system`. Groups are taken from the leaves
upwards, because what goes for a child's sake also lowers its parents.

See docs/specification.md §7.9 and §7.10.
"""

import heapq
from collections.abc import Iterator
from typing import NamedTuple

from shared.quota.decide.decisions import EvictionRule
from shared.quota.decide.reclaim.victim_search import VictimSearch
from shared.quota.decide.state.cycle_state import CycleState, Victim
from shared.quota.model.tree import ROOT, SYSTEM
from shared.quota.model.workload import EvictionReason
from shared.resources import Amount, FlavorResource


class Excess(NamedTuple):
    """A group that uses more of a key than its limit; both without `system` at root."""

    group: str
    key: FlavorResource
    limit: Amount


def excesses(cycle: CycleState) -> Iterator[Excess]:
    """Every group and key whose use is above its ceiling (root: its runtime), deepest groups first.

    A limit that is no tighter than one above it is left to that one: curing that cures both.
    """
    tree, suspects = cycle.snapshot.world.tree, cycle.cache.beyond
    for group in sorted(suspects, key=lambda name: (-len(tree.path(name)), name)):
        for key in suspects[group]:
            limit = cycle.planned.limit(group, key)
            above = (cycle.planned.limit(each, key) for each in tree.path(group)[1:])
            if used_below(cycle, group, key) > limit and all(limit < each for each in above):
                yield Excess(group, key, limit)


def used_below(cycle: CycleState, group: str, key: FlavorResource) -> Amount:
    """What the group's admitted work uses that is not being evicted; at root without `system`."""
    return cycle.used_planned.used(group, key) - _system_part(cycle, group, key)


def _system_part(cycle: CycleState, group: str, key: FlavorResource) -> Amount:
    return cycle.used_planned.used(SYSTEM, key) if group == ROOT else 0


def cure(cycle: CycleState, excess: Excess) -> None:
    """Vacate whatever lowers the excess, from the leaf furthest over its runtime, until it is gone or nobody may go."""
    group, key, limit = excess
    search = VictimSearch(cycle, delayed=False)
    cycle.cured[group, key] = limit + _system_part(cycle, group, key)
    queue = [_place(cycle, leaf, key) for leaf in _leaves(cycle, group, key)]
    heapq.heapify(queue)
    while queue and used_below(cycle, group, key) > limit:
        place = heapq.heappop(queue)
        leaf = place[1]
        running = search.over_limit(cycle.leaf_usage(leaf), group, key)
        if running is None:
            continue
        victim = Victim(running, cycle.leaf_usage(leaf), *_cause(group), group, key)
        cycle.vacate(victim)
        cycle.victims.append(victim)
        heapq.heappush(queue, _place(cycle, leaf, key))
    for moment in search.spared_until:
        cycle.wake(moment)


def _leaves(cycle: CycleState, group: str, key: FlavorResource) -> Iterator[str]:
    for leaf in cycle.snapshot.world.tree.leaves_below(group):
        state = cycle.snapshot.leaves.get(leaf)
        if state is not None and state.inactive is None and cycle.used_planned.used(leaf, key) > 0:
            yield leaf


def _place(cycle: CycleState, leaf: str, key: FlavorResource) -> tuple[Amount, str]:
    return (-cycle.planned.over_runtime(leaf, key), leaf)


def _cause(group: str) -> tuple[EvictionReason, EvictionRule]:
    if group == ROOT:
        return EvictionReason.CAPACITY_LOST, EvictionRule.CAPACITY
    return EvictionReason.OVER_CEILING, EvictionRule.CEILING
