"""What must come down with or without a preemptor: use above a ceiling, or above what the cluster has left.

Judged by used, not by charge, without workloads being evicted; at root without `system`. Groups are taken from the
leaves upwards, because what is evicted for a child also lowers its parents.

See docs/specification.md §7.9 and §7.10.
"""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from shared.quota.decide.decisions import EvictionRule
from shared.quota.decide.reclaim.victim_search import EvictionDelays, VictimSearch
from shared.quota.decide.recycling_order import RunningWorkload
from shared.quota.decide.state.eviction_plan import EvictionPlan, Victim
from shared.quota.decide.state.leaf_usage import LeafUsage
from shared.quota.decide.state.round_usage import RoundUsage
from shared.quota.decide.state.usage import Keys
from shared.quota.decide.waits import Waits
from shared.quota.model.tree import ROOT, SYSTEM
from shared.quota.model.workload import EvictionReason, WorkloadId
from shared.resources import MAX_AMOUNT, Amount, FlavorResource


class Excess(NamedTuple):
    """A group that uses more of a key than its limit, and the rule that follows; without `system` at root."""

    group: str
    key: FlavorResource
    limit: Amount
    rule: EvictionRule = EvictionRule.CEILING


def excesses(usage: RoundUsage, suspects: Mapping[str, Keys]) -> Iterator[Excess]:
    """Yield each group and key whose use is above its ceiling, deepest first; then what is above root's runtime.

    A ceiling that is no tighter than one above it is left to that one: what helps there helps here too. `suspects`:
    group -> the keys of which it may use more than its limit, evicting workloads included.
    """
    tree = usage.snapshot.world.tree
    for group in sorted(suspects, key=lambda name: (-len(tree.path(name)), name)):
        for key in suspects[group]:
            limit = _ceiling(usage, group, key)
            above = (_ceiling(usage, each, key) for each in tree.path(group)[1:])
            if used_below(usage, group, key) > limit and all(limit < each for each in above):
                yield Excess(group, key, limit)
            elif group == ROOT and used_below(usage, group, key) > usage.planned.limit(group, key):
                yield Excess(group, key, usage.planned.limit(group, key), EvictionRule.CAPACITY)


def _ceiling(usage: RoundUsage, group: str, key: FlavorResource) -> Amount:
    """Return the group's ceiling; root's is its own max.

    What nodes leave is no ceiling, also where it stands for a max.
    """
    if group != ROOT:
        limit = usage.planned.limit(group, key)
        return MAX_AMOUNT if limit == usage.snapshot.capacity.get(key, 0) else limit
    entry = usage.snapshot.world.tree[ROOT].entry(key.flavor)
    return MAX_AMOUNT if entry is None else entry.max.get(key.resource, MAX_AMOUNT)


def used_below(usage: RoundUsage, group: str, key: FlavorResource) -> Amount:
    """Return what the group's admitted workloads use that are not being evicted; at root without `system`."""
    return usage.used_planned(group, key) - _system_part(usage, group, key)


def _system_part(usage: RoundUsage, group: str, key: FlavorResource) -> Amount:
    return usage.used_planned(SYSTEM, key) if group == ROOT else 0


def lower_excess(
    usage: RoundUsage, evictions: EvictionPlan, waits: Waits, delays: EvictionDelays, over: Sequence[Excess]
) -> None:
    """Evict whatever lowers the excesses of one group, all its keys together, until they are gone or nobody may go.

    All are of one rule. For capacity that is lost, only workloads go that have pods without a place.
    The next victim is the least important workload that uses a key still exceeded, of the leaf furthest over its
    runtime. Over cpu and gpu by 4 each: `low` (priority 1, 4 gpu) goes before `high` (priority 100, 4 cpu and 4 gpu).
    """
    search, group, rule = VictimSearch(usage, delays), over[0].group, over[0].rule
    for excess in over:
        evictions.most_used[group, excess.key] = excess.limit + _system_part(usage, group, excess.key)
    queue = [(_place(usage, leaf, over), leaf) for leaf in _leaves(usage, over)]
    heapq.heapify(queue)
    candidates: dict[str, Iterator[RunningWorkload]] = {}
    while queue and (exceeded := [each for each in over if used_below(usage, group, each.key) > each.limit]):
        place, leaf = heapq.heappop(queue)
        current = _place(usage, leaf, exceeded)
        if current != place:
            heapq.heappush(queue, (current, leaf))
            continue
        running = _next_of(search, usage.leaf(leaf), exceeded, candidates)
        if running is None:
            continue
        used = {key for key, _ in running.quantities}
        key = next(each.key for each in exceeded if each.key in used)
        reason = EvictionReason.CAPACITY_LOST if rule is EvictionRule.CAPACITY else EvictionReason.OVER_CEILING
        victim = Victim(running, usage.leaf(leaf), reason, rule, group, key)
        usage.evict(victim.leaf_usage, victim.running)
        evictions.victims.append(victim)
        heapq.heappush(queue, (_place(usage, leaf, exceeded), leaf))
    waits.wake(*search.spared_until)


def _next_of(
    search: VictimSearch,
    leaf_usage: LeafUsage,
    exceeded: Sequence[Excess],
    candidates: dict[str, Iterator[RunningWorkload]],
) -> RunningWorkload | None:
    """Return the least important workload of the leaf that uses an exceeded key and may go.

    `candidates`: leaf -> its workloads that were not looked at yet. One that was passed over is never looked at again:
    nobody is restored meanwhile, and no key becomes exceeded.
    """
    (group, _, _, rule), keys = exceeded[0], [each.key for each in exceeded]
    is_lost = rule is EvictionRule.CAPACITY
    wanted = search.keys_lost(group, keys) if is_lost else search.keys_over_ceiling(leaf_usage, group, keys)
    if not wanted:
        return None
    line = candidates.get(leaf_usage.name)
    if line is None:
        lost = search.without_a_place(leaf_usage) if is_lost else frozenset[WorkloadId]()
        running = leaf_usage.running.order(search.usage.now).running
        line = candidates[leaf_usage.name] = (each for each in running if not is_lost or each.id in lost)
    for each in line:
        is_using = each.id not in leaf_usage.running.evicted_now and any(key in wanted for key, _ in each.quantities)
        if is_using and search.has_run_long_enough(leaf_usage, each):
            return each
    return None


def _leaves(usage: RoundUsage, over: Sequence[Excess]) -> Iterator[str]:
    is_lost = over[0].rule is EvictionRule.CAPACITY
    for leaf in usage.snapshot.world.tree.leaves_below(over[0].group):
        state = usage.snapshot.leaves.get(leaf)
        if is_lost and not (state is not None and state.without_place):
            continue
        uses = any(usage.used_planned(leaf, each.key) > 0 for each in over)
        if state is not None and state.inactive is None and uses:
            yield leaf


def _place(usage: RoundUsage, leaf: str, over: Sequence[Excess]) -> Fraction:
    """Lowest first: how far the leaf is over its runtime, in proportion to the limit, on the key where it is most.

    It only grows while victims go and fewer keys are exceeded, so that an entry of the queue is never too late.
    """
    return -max(Fraction(usage.planned.over_runtime(leaf, each.key), max(1, each.limit)) for each in over)
