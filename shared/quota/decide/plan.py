"""One decision cycle: a frozen snapshot in, a plan out. DESIGN sections 5 to 8, in this order of steps.

Who must go whatever else is decided; claims; excess over ceilings; entitled work and the room made for it; give-back;
work that borrows; Strict mode; swaps; give-back over all; notices.
"""

from shared.quota.decide.admission import Admission
from shared.quota.decide.ceilings import cure, excesses
from shared.quota.decide.claims import serve_claims, settle_claims
from shared.quota.decide.cycle import Cycle
from shared.quota.decide.decisions import Plan
from shared.quota.decide.eviction import decide_evictions
from shared.quota.decide.giveback import give_back
from shared.quota.decide.memory import Memory
from shared.quota.decide.notice import give_notice
from shared.quota.decide.over import judge_over
from shared.quota.decide.report import Report
from shared.quota.decide.stopping import stop_and_give_up
from shared.quota.decide.strict import recycle_strictly
from shared.quota.decide.swap import swap_in_leaves
from shared.quota.measure.snapshot import Snapshot


def plan(snapshot: Snapshot, memory: Memory | None = None) -> Plan:
    """Decide what this cycle starts and stops. Pure: the same snapshot gives the same plan.

    `memory`: one object for all cycles of one process; the plan is the same, and what has not changed costs nothing.
    """
    cycle = Cycle(snapshot, Memory() if memory is None else memory)
    stop_and_give_up(cycle)
    settle_claims(cycle)
    serve_claims(cycle)
    over = list(excesses(cycle))
    judge_over(cycle, over)
    for excess in over:
        cure(cycle, excess)
    admission = Admission(cycle)
    admission.start_entitled()
    give_back(cycle)
    admission.start_borrowing()
    recycle_strictly(cycle)
    swap_in_leaves(cycle)
    give_back(cycle)
    give_notice(cycle)
    return _plan(cycle)


def _plan(cycle: Cycle) -> Plan:
    for name in cycle.memory.changing:
        moment = cycle.snapshot.leaves[name].next_change
        if moment is not None:
            cycle.wake(moment)
    cycle.memory.moved = cycle.moved
    return Plan(
        now=cycle.now,
        starts=tuple(cycle.starts),
        evictions=decide_evictions(cycle),
        notices=tuple(cycle.notices),
        notices_withdrawn=tuple(cycle.notices_withdrawn),
        claims_ended=tuple(cycle.claims_ended),
        waiting=Report(cycle),
        over_since=cycle.over_since,
        wake_at=cycle.wake_at,
    )
