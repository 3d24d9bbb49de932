"""Who cannot go at once: with `reclaim.notice` a victim goes only after it has known for so long.

Neither does one whose start has not been answered yet, for it shows no pods, but they may be coming; nor one whose leaf
is over its runtime only with such a start, for that may fail. A plan with a victim who cannot go yet waits as a whole,
and its room is kept; a plan that needs the room of such a one waits too. Those who were told and are not needed any
more are told that as well.

See docs/specification.md §7.12.
"""

from collections.abc import Iterable
from datetime import datetime

from shared.quota.decide.decisions import EvictionRule, Notice
from shared.quota.decide.reclaim.evictions import message_for
from shared.quota.decide.reclaim.fill_back import fill_back
from shared.quota.decide.reclaim.planner import keep
from shared.quota.decide.state.cycle_state import CycleState, Preemptor, Victim
from shared.quota.decide.state.leaf_usage import flavors_of
from shared.quota.decide.state.usage import quantities_of
from shared.quota.model.workload import Workload, WorkloadId
from shared.resources import Amount, FlavorResource

OWED = frozenset({EvictionRule.RECLAIM, EvictionRule.STRICT})
"""By these rules work goes because its leaf is over its runtime."""
WITHOUT_NOTICE = frozenset({EvictionRule.STOP_POLICY, EvictionRule.STARTUP_TIMEOUT, EvictionRule.RECOVERY_TIMEOUT})


def give_notice(cycle: CycleState) -> None:
    """Take everybody out of the plan who cannot go yet, and tell those who have to be told first."""
    told: set[WorkloadId] = set()
    early = _early(cycle)
    while early:
        for victim in early:
            if victim.workload.id not in told:
                told.add(victim.workload.id)
                _tell(cycle, victim)
        _postpone(cycle, early, told)
        fill_back(cycle)
        early = _early(cycle)
    _withdraw_others(cycle, told)


def evict_at(victim: Victim, cycle: CycleState) -> datetime:
    """When this victim may go: now, or when it will have known for long enough."""
    notice = victim.leaf_usage.leaf.reclaim.notice
    if not notice or victim.rule in WITHOUT_NOTICE:
        return cycle.now
    return (victim.workload.notice or cycle.now) + notice


def is_early(victim: Victim, cycle: CycleState) -> bool:
    """Whether this victim cannot go in this cycle."""
    return not (victim.workload.is_answered and _owes(victim)) or evict_at(victim, cycle) > cycle.now


def _owes(victim: Victim) -> bool:
    """Whether its leaf is over its runtime without the starts in it that have not been answered, if that matters."""
    leaf_usage, key = victim.leaf_usage, victim.key
    if key is None or victim.rule not in OWED or not leaf_usage.unanswered:
        return True
    unsure, numbers = _use(key, leaf_usage.unanswered), leaf_usage.numbers(key)
    used = numbers.used - _use(key, leaf_usage.leaf.evicting) + leaf_usage.claimed.get(key, 0)
    return not unsure or used - unsure > numbers.runtime


def _use(key: FlavorResource, work: Iterable[Workload]) -> Amount:
    return sum(amount for each in work for used, amount in quantities_of(each, flavors_of(each)) if used == key)


def _early(cycle: CycleState) -> list[Victim]:
    return [each for each in (*cycle.forced, *cycle.victims) if is_early(each, cycle)]


def _tell(cycle: CycleState, victim: Victim) -> None:
    at = evict_at(victim, cycle)
    cycle.wake(at)
    if at > cycle.now and victim.workload.notice is None:
        preemptor = victim.preemptor.workload.key if victim.preemptor else None
        cycle.notices.append(Notice(victim.workload, victim.reason, at, preemptor, message_for(victim)))


def _postpone(cycle: CycleState, early: list[Victim], told: set[WorkloadId]) -> None:
    """Undo the plans these victims belong to, and every plan that does not fit without them.

    Other victims of such a plan keep their notice: with notices that ran out of step it would never be carried out.
    """
    gone = set(map(id, early))
    waiting = {id(each.preemptor) for each in early if each.preemptor is not None}
    for victim in early:
        if victim.preemptor is None:
            cycle.restore(victim)
    cycle.forced = [each for each in cycle.forced if id(each) not in gone]
    for preemptor in list(cycle.preemptors):
        if id(preemptor) in waiting:
            _put_off(cycle, preemptor, told)
    while short := [
        each for each in cycle.preemptors if not cycle.planned.keeps_limits(each.leaf_usage.path, each.quantities)
    ]:
        for preemptor in short:
            _put_off(cycle, preemptor, told)
    still = {id(victim) for preemptor in cycle.preemptors for victim in preemptor.victims}
    cycle.victims = [
        each for each in cycle.victims if id(each) in still or (each.preemptor is None and id(each) not in gone)
    ]


def _put_off(cycle: CycleState, preemptor: Preemptor, told: set[WorkloadId]) -> None:
    told.update(each.workload.id for each in preemptor.victims)
    cycle.preemptors.remove(preemptor)
    keep(cycle, preemptor)


def _withdraw_others(cycle: CycleState, told: set[WorkloadId]) -> None:
    going = {each.workload.id for each in (*cycle.forced, *cycle.victims)}
    for leaf in map(cycle.snapshot.leaves.__getitem__, sorted(cycle.cache.notifying)):
        cycle.notices_withdrawn.extend(
            each for each in leaf.admitted if each.notice is not None and each.id not in told and each.id not in going
        )
