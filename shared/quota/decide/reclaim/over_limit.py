"""What must come down with or without a preemptor: use above a ceiling, or above what the cluster has left.

Judged by used, not by charge, without work being evicted; at root without `system`. Groups are taken from the leaves
upwards, because what goes for a child's sake also lowers its parents.

See docs/specification.md §7.9 and §7.10.
"""

import heapq
from collections.abc import Iterator, Sequence
from fractions import Fraction
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


def cure(cycle: CycleState, group: str, over: Sequence[Excess]) -> None:
    """Vacate whatever lowers the group's excesses, all its keys together, until they are gone or nobody may go.

    The next victim is the least important workload that uses a key still exceeded, of the leaf furthest over its
    runtime. Over cpu and gpu by 4 each: `low` (priority 1, 4 gpu) goes before `high` (priority 100, 4 cpu and 4 gpu).
    """
    search = VictimSearch(cycle, delayed=False)
    for excess in over:
        cycle.cured[group, excess.key] = excess.limit + _system_part(cycle, group, excess.key)
    queue = [(_place(cycle, leaf, over), leaf) for leaf in _leaves(cycle, group, over)]
    heapq.heapify(queue)
    while queue and (exceeded := [each for each in over if used_below(cycle, group, each.key) > each.limit]):
        place, leaf = heapq.heappop(queue)
        current = _place(cycle, leaf, exceeded)
        if current != place:
            heapq.heappush(queue, (current, leaf))
            continue
        running = search.over_limit(cycle.leaf_usage(leaf), group, (each.key for each in exceeded))
        if running is None:
            continue
        used = {key for key, _ in running.quantities}
        key = next(each.key for each in exceeded if each.key in used)
        victim = Victim(running, cycle.leaf_usage(leaf), *_cause(group), group, key)
        cycle.vacate(victim)
        cycle.victims.append(victim)
        heapq.heappush(queue, (_place(cycle, leaf, exceeded), leaf))
    for moment in search.spared_until:
        cycle.wake(moment)


def _leaves(cycle: CycleState, group: str, over: Sequence[Excess]) -> Iterator[str]:
    for leaf in cycle.snapshot.world.tree.leaves_below(group):
        state = cycle.snapshot.leaves.get(leaf)
        uses = any(cycle.used_planned.used(leaf, each.key) > 0 for each in over)
        if state is not None and state.inactive is None and uses:
            yield leaf


def _place(cycle: CycleState, leaf: str, over: Sequence[Excess]) -> Fraction:
    """Lowest first: how far the leaf is over its runtime, in proportion to the limit, on the key where it is most.

    It only grows while victims go and keys are cured, so that an entry of the queue is never too late.
    """
    return -max(Fraction(cycle.planned.over_runtime(leaf, each.key), max(1, each.limit)) for each in over)


def _cause(group: str) -> tuple[EvictionReason, EvictionRule]:
    if group == ROOT:
        return EvictionReason.CAPACITY_LOST, EvictionRule.CAPACITY
    return EvictionReason.OVER_CEILING, EvictionRule.CEILING
