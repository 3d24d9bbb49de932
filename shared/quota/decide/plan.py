"""One decision cycle: a frozen snapshot in, a plan out. docs/specification.md §6.1.

Turns, and the numbers with them. Evictions that no number decides; claims; excess over ceilings; entitled workloads and
the room made for them. If workloads started, all of that but turns again on numbers measured with them, until nothing
entitled starts any more. Then fill-back; Strict mode; workloads that borrow; swaps; fill-back over all, and of what
Strict mode took; notices, those of coming borders last.
"""

from types import MappingProxyType

from shared.quota.decide.decisions import EndState, Plan
from shared.quota.decide.reclaim.evictions import decide_evictions
from shared.quota.decide.reclaim.fill_back import fill_back
from shared.quota.decide.reclaim.notices.early import with_early_notices
from shared.quota.decide.reclaim.notices.notice import Notices, give_notice
from shared.quota.decide.reclaim.strict import spare_where_others_went
from shared.quota.decide.reclaim.swap import Swaps
from shared.quota.decide.rounds import Round, start_all_entitled, start_borrowers
from shared.quota.decide.state.cycle_cache import CycleCache, Sort
from shared.quota.decide.state.round_input import RoundInput
from shared.quota.decide.turns.planning import TurnDecisions, plan_turns
from shared.quota.measure.snapshot import Snapshot


def plan(snapshot: Snapshot, cache: CycleCache | None = None) -> Plan:
    """Decide what this cycle starts and stops. Pure: the same snapshot gives the same plan.

    `cache`: one object for all cycles of one process; the plan is the same, and what has not changed costs nothing.
    """
    cache = CycleCache() if cache is None else cache
    found, written = _plan_now(snapshot, cache), snapshot.world.written
    return found if written is None else with_early_notices(found, snapshot, written, cache, _plan_now)


def _plan_now(snapshot: Snapshot, cache: CycleCache) -> Plan:
    """Return the plan without notices of what a coming border brings."""
    turns = plan_turns(snapshot, cache)
    last = start_borrowers(start_all_entitled(RoundInput(turns.measured(snapshot), cache)))
    inputs, usage, evictions, waits = last.inputs, last.usage, last.evictions, last.waits
    Swaps(inputs, last.block, last.claims, last.delays, usage, evictions, waits).plan()
    fill_back(usage, evictions)
    spare_where_others_went(usage, evictions)
    found = _plan(last, give_notice(usage, evictions, waits, inputs.cache.of(Sort.NOTIFYING)), turns)
    inputs.cache.end_cycle()
    return found


def _plan(last: Round, notices: Notices, turns: TurnDecisions) -> Plan:
    inputs = last.inputs
    changes = (inputs.snapshot.leaves[name].next_change for name in inputs.cache.of(Sort.TIMED))
    last.waits.wake(*filter(None, changes))
    ends = (inputs.snapshot.leaves[name].next_end for name in inputs.cache.of(Sort.ENDING))
    return Plan(
        now=inputs.now,
        starts=(*inputs.taken_over.starts, *last.usage.starts),
        evictions=decide_evictions(last.evictions, inputs.snapshot.world.settings.queue_age, inputs.now),
        notices=notices.given,
        notices_withdrawn=notices.withdrawn,
        claims_ended=tuple(last.claims.ended),
        turns_begun=tuple(each for each in turns.begun if each.workload.id not in last.usage.started),
        turns_ended=turns.ended,
        end=_end(last),
        over_since=last.delays.over_since,
        wake_at=last.waits.wake_at,
        next_turn=turns.next_turn,
        next_end=min(filter(None, ends), default=None),
        measured_after=inputs.taken_over.measured_after,
    )


def _end(last: Round) -> EndState:
    """Return the parts of the last round as they are left; no step changes them any more."""
    usage = last.usage
    last.evictions.count_delayed(usage)
    return EndState(
        snapshot=usage.snapshot,
        current=usage.current.changed,
        after_evictions=usage.after_evictions.changed,
        planned=usage.planned.changed,
        leaves=MappingProxyType({name: each.frozen() for name, each in usage.touched.items()}),
        wait_reasons=MappingProxyType(last.waits.reasons),
        blocked_by=last.block.by,
        blocked_leaves=MappingProxyType(last.block.leaves),
    )
