"""One decision cycle: a frozen snapshot in, a plan out. docs/specification.md §6.1.

Evictions that no number decides; claims; excess over ceilings; entitled workloads and the room made for them. If
workloads started, all of that again on numbers measured with them, until nothing entitled starts any more. Then
fill-back; workloads that borrow; Strict mode; swaps; fill-back over all; notices.
"""

from shared.quota.decide.decisions import Plan
from shared.quota.decide.reclaim.evictions import decide_evictions
from shared.quota.decide.reclaim.fill_back import fill_back
from shared.quota.decide.reclaim.notice import give_notice
from shared.quota.decide.reclaim.strict import recycle_strictly
from shared.quota.decide.reclaim.swap import swap_in_leaves
from shared.quota.decide.rounds import start_all_entitled, start_borrowers
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.decide.state.cycle_state import CycleState
from shared.quota.measure.snapshot import Snapshot


def plan(snapshot: Snapshot, cache: CycleCache | None = None) -> Plan:
    """Decide what this cycle starts and stops. Pure: the same snapshot gives the same plan.

    `cache`: one object for all cycles of one process; the plan is the same, and what has not changed costs nothing.
    """
    cycle, admission = start_all_entitled(CycleState(snapshot, CycleCache() if cache is None else cache))
    cycle = start_borrowers(cycle, admission)
    recycle_strictly(cycle)
    swap_in_leaves(cycle)
    fill_back(cycle)
    give_notice(cycle)
    return _plan(cycle)


def _plan(cycle: CycleState) -> Plan:
    for name in cycle.cache.timed:
        moment = cycle.snapshot.leaves[name].next_change
        if moment is not None:
            cycle.wake(moment)
    return Plan(
        now=cycle.now,
        starts=(*cycle.taken_over.starts, *cycle.starts),
        evictions=decide_evictions(cycle),
        notices=tuple(cycle.notices),
        notices_withdrawn=tuple(cycle.notices_withdrawn),
        claims_ended=tuple(cycle.claims_ended),
        end=cycle.frozen(),
        over_since=cycle.over_since,
        wake_at=cycle.wake_at,
        measured_after=cycle.taken_over.measured_after,
    )
