"""Since when who is over: the grace period runs only while a leaf stays over without a break.

Judged once, at the start of a cycle, on use without work being evicted and with claims; carried from plan to plan.

See docs/specification.md §7.1.
"""

from collections.abc import Sequence
from datetime import datetime

from shared.quota.decide.reclaim.over_limit import Excess
from shared.quota.decide.state.cycle_cache import Keys
from shared.quota.decide.state.cycle_state import CycleState
from shared.resources import FlavorResource


def judge_over(cycle: CycleState, excesses: Sequence[Excess]) -> None:
    """Note every leaf above its runtime and every group above its limit, each since it was so first."""
    cache, previous = cycle.cache, cycle.snapshot.world.over_since
    uncertain = cache.evicting | {
        claim.preemptor.group for claim in cycle.claims.values() if claim.preemptor is not None
    }
    judged = dict(cache.over)
    for name in sorted(uncertain):
        judged[name] = _over(cycle, name)
    for group, key, _ in excesses:
        judged[group] = tuple(sorted({*judged.get(group, ()), key}))
    judged = {name: keys for name, keys in judged.items() if keys}
    if previous is cache.over_since and judged == cache.judged:
        cycle.over_since = previous
    else:
        cycle.over_since = _since(cycle, judged)
    cache.over_since, cache.judged = cycle.over_since, judged


def _over(cycle: CycleState, name: str) -> Keys:
    keys = cycle.snapshot.numbers[name]
    return tuple(sorted(key for key in keys if cycle.planned.over_runtime(name, key) > 0))


def _since(cycle: CycleState, judged: dict[str, Keys]) -> dict[tuple[str, FlavorResource], datetime]:
    previous = cycle.snapshot.world.over_since
    return {(name, key): previous.get((name, key), cycle.now) for name, keys in judged.items() for key in keys}
