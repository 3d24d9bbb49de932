"""Since when who is over: the grace period runs only while a leaf stays over without a break. DESIGN section 7.

Judged once, at the start of a cycle, on use without work being evicted and with claims; carried from plan to plan.
"""

from collections.abc import Sequence

from shared.quota.decide.ceilings import Excess
from shared.quota.decide.cycle import Cycle


def judge_over(cycle: Cycle, excesses: Sequence[Excess]) -> None:
    """Note every leaf above its runtime and every group above its limit, each since it was so first."""
    former, after = cycle.snapshot.world.over_since, cycle.after
    for name in cycle.snapshot.leaves:
        for key in cycle.snapshot.numbers[name]:
            if after.over_runtime(name, key) > 0:
                cycle.over_since[name, key] = former.get((name, key), cycle.now)
    for excess in excesses:
        where = (excess.group, excess.key)
        cycle.over_since[where] = former.get(where, cycle.now)
