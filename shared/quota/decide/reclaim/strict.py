"""Strict mode: a leaf over its runtime is brought back with or without a preemptor. docs/specification.md §7.8."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from shared.quota.decide.decisions import EvictionRule
from shared.quota.decide.reclaim.victim_search import EvictionDelays, VictimSearch
from shared.quota.decide.recycling_order import RunningWorkload, freed_by
from shared.quota.decide.state.cycle_cache import Sort
from shared.quota.decide.state.eviction_plan import EvictionPlan, Victim
from shared.quota.decide.state.leaf_usage import LeafUsage
from shared.quota.decide.state.round_input import RoundInput
from shared.quota.decide.state.round_usage import RoundUsage
from shared.quota.decide.state.usage import quantities_of
from shared.quota.decide.waits import Waits
from shared.quota.measure.snapshot import measure
from shared.quota.measure.static.pod_set_choices import most_of
from shared.quota.model.workload import EvictionReason
from shared.resources import Amount, FlavorResource


def recycle_strictly(
    inputs: RoundInput, usage: RoundUsage, evictions: EvictionPlan, waits: Waits, delays: EvictionDelays
) -> bool:
    """Evict the least important workloads of each leaf in Strict mode while it is over its runtime.

    Return whether any is evicted.
    """
    count = len(evictions.forced)
    names = sorted(inputs.cache.of(Sort.STRICT) & inputs.cache.over_since.keys_over.keys())
    settled = _settled_elsewhere(inputs, usage, evictions) if names else Counter()
    for name in names:
        if usage.snapshot.leaves[name].inactive is None:
            search = VictimSearch(usage, delays)
            over = _keys_over(usage, delays, name)
            for key in over:
                _recycle(search, evictions, usage.leaf(name), key, (over, settled[key]))
            waits.wake(*search.spared_until)
    _spare_those_that_would_return(usage, evictions, evictions.forced[count:])
    return len(evictions.forced) > count


def _spare_those_that_would_return(usage: RoundUsage, evictions: EvictionPlan, victims: Sequence[Victim]) -> None:
    """Restore victims without which their leaf is below its runtime: they would start again at once, indefinitely.

    A workload that waits counts in every flavor that it could take, and a unit that remains of a division goes to who
    waits, so its leaf can have a larger runtime then.
    """
    if not victims:
        return
    waiting = ((each.workload, replace(each.workload, admission=None, notice=None)) for each in victims)
    numbers = measure(usage.snapshot.world.with_changes(waiting), usage.now, usage.snapshot).numbers
    for each in victims:
        own = numbers[each.leaf_usage.name]
        if all(own[key].used < own[key].runtime for key, _ in each.running.quantities if key in own):
            usage.restore(each.leaf_usage, each.running)
            evictions.forced.remove(each)


def spare_where_others_went(usage: RoundUsage, evictions: EvictionPlan) -> None:
    """Restore victims of Strict mode with which their leaf is within its runtime now, and every limit is kept.

    A preemptor that came after Strict mode has taken others of the leaf.
    """
    for victim in reversed([each for each in evictions.forced if each.rule is EvictionRule.STRICT]):
        leaf_usage, quantities = victim.leaf_usage, victim.running.quantities
        usage.restore(leaf_usage, victim.running)
        is_over = any(usage.planned.over_runtime(leaf_usage.name, key) > 0 for key, _ in quantities)
        if is_over or not usage.planned.keeps_limits(leaf_usage.path, quantities):
            usage.evict(leaf_usage, victim.running)
        else:
            evictions.forced.remove(victim)


def _settled_elsewhere(inputs: RoundInput, usage: RoundUsage, evictions: EvictionPlan) -> Counter[FlavorResource]:
    """Return per key what counted there until now and has just got its room in another flavor.

    So much of a runtime may come back to others with the next measuring. Who is over by no more than that is not
    recycled yet: two jobs could else take turns in evicting each other indefinitely.
    """
    found: Counter[FlavorResource] = Counter()
    placed = [(each.workload, each.flavors) for each in usage.starts if not each.on_claim]
    placed += [(each.workload, each.flavors) for each in evictions.preemptors]
    for workload, flavors in placed:
        assignments, taken = inputs.assignments(workload.group, workload) or (), dict(quantities_of(workload, flavors))
        for key, amount in most_of(assignment.quantities for assignment in assignments):
            found[key] += max(0, amount - taken.get(key, 0))
    return found


def _keys_over(usage: RoundUsage, delays: EvictionDelays, name: str) -> list[FlavorResource]:
    """Return the keys on which the leaf was over, or is so now; what a turn takes from it is no reason."""
    numbers = usage.snapshot.numbers[name]
    return [
        key
        for key in sorted(numbers)
        if ((name, key) in delays.over_since and not numbers[key].spared) or usage.planned.over_runtime(name, key) > 0
    ]


def _recycle(
    search: VictimSearch,
    evictions: EvictionPlan,
    leaf_usage: LeafUsage,
    key: FlavorResource,
    bounds: tuple[list[FlavorResource], Amount],
) -> None:
    """Evict workloads that use `key`. `bounds`: the keys that were over, and how much over may stay on this one."""
    usage, name, (over, spared) = search.usage, leaf_usage.name, bounds
    while usage.planned.over_runtime(name, key) > spared:
        running = _next(search, leaf_usage, key, over)
        if running is None:
            return
        usage.evict(leaf_usage, running)
        evictions.forced.append(Victim(running, leaf_usage, EvictionReason.RECLAIMED, EvictionRule.STRICT, name, key))


def _next(
    search: VictimSearch, leaf_usage: LeafUsage, key: FlavorResource, over: list[FlavorResource]
) -> RunningWorkload | None:
    """Return the least important work that uses `key`, if it may go; nobody else goes in its place.

    A key that was over counts even if other victims of this cycle have brought it down: they may be filled back.
    """
    least = leaf_usage.running.least_important(key, search.usage.now)
    if least is None or not search.may_go(leaf_usage, least, key):
        return None
    if search.usage.snapshot.world.on_closed_nodes and key not in dict(freed_by(least)):
        return None
    after = search.usage.planned
    overshoots = all(
        after.over_runtime(leaf_usage.name, each) >= amount for each, amount in least.quantities if each in over
    )
    return least if overshoots else None
