"""Since when who is over: the grace period runs only while a leaf stays over without a break.

Judged once, at the start of a cycle, on use without workloads being evicted and with claims; carried from plan to plan.

See docs/specification.md §7.1.
"""

from collections.abc import Sequence

from shared.quota.decide.reclaim.over_limit import Excess
from shared.quota.decide.reclaim.standing_claims import StandingClaims
from shared.quota.decide.state.cycle_cache import CycleCache, Sort
from shared.quota.decide.state.round_usage import RoundUsage
from shared.quota.decide.state.usage import Keys
from shared.quota.measure.inputs.world import OverSince


def find_over(usage: RoundUsage, cache: CycleCache, claims: StandingClaims, excesses: Sequence[Excess]) -> OverSince:
    """Return every leaf above its runtime and every group above its limit, each since it was so first."""
    certain = cache.over_since.by_numbers
    uncertain = cache.of(Sort.EVICTING) | {
        claim.preemptor.group for claim in claims.open.values() if claim.preemptor is not None
    }
    found = {name: _over(usage, name) for name in sorted(uncertain)}
    for group, key, _, _ in excesses:
        found[group] = tuple(sorted({*found.get(group, certain.get(group, ())), key}))
    return cache.over_since.compute(usage.snapshot.world.over_since, found, usage.now)


def _over(usage: RoundUsage, name: str) -> Keys:
    numbers = usage.snapshot.numbers[name]
    return tuple(sorted(key for key in numbers if usage.planned.over_runtime(name, key) + numbers[key].spared > 0))
