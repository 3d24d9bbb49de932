"""Who cannot go at once: with `reclaim.notice` a victim goes only after it has known for so long.

Neither does one whose start has not been answered yet, for it shows no pods, but they may be coming; nor one whose leaf
is over its runtime only with such a start, for that may fail. A plan with a victim who cannot go yet waits as a whole,
and its room is kept; a plan that needs the room of such a one waits too. Those who were told and are not needed any
more are told that as well.

See docs/specification.md §7.12.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from shared.api.durations import later
from shared.quota.decide.decisions import EvictionRule, Notice
from shared.quota.decide.reclaim.evictions import end_message, message_for
from shared.quota.decide.reclaim.fill_back import fill_back
from shared.quota.decide.reclaim.planner import keep
from shared.quota.decide.state.eviction_plan import EvictionPlan, Preemptor, Victim
from shared.quota.decide.state.leaf_usage import flavors_of
from shared.quota.decide.state.round_usage import RoundUsage
from shared.quota.decide.state.usage import quantities_of
from shared.quota.decide.waits import Waits
from shared.quota.measure.snapshot import LeafSnapshot
from shared.quota.model.lifecycle import stops_at
from shared.quota.model.workload import EvictionReason, Workload, WorkloadId
from shared.resources import Amount, FlavorResource

OWED = frozenset({EvictionRule.RECLAIM, EvictionRule.STRICT})
"""The rules that evict because a leaf is over its runtime."""
WITHOUT_NOTICE = frozenset(
    {EvictionRule.STOP_POLICY, EvictionRule.STARTUP_TIMEOUT, EvictionRule.RECOVERY_TIMEOUT, EvictionRule.RUN_TIME}
)
"""Those that go at once; at the end of a run time, notice was given before."""


@dataclass(frozen=True, slots=True)
class Notices:
    """Which victims get a notice, and whose notice is withdrawn."""

    given: tuple[Notice, ...]
    withdrawn: tuple[Workload, ...]


def give_notice(usage: RoundUsage, evictions: EvictionPlan, waits: Waits, leaves: Iterable[str]) -> Notices:
    """Remove victims that cannot be evicted yet from the plan, and give notice where it is due.

    `leaves`: where some have notice, or get it of the end of their run time.
    """
    told: set[WorkloadId] = set()
    notices: list[Notice] = []
    early = _early(usage, evictions)
    while early:
        moments = set[datetime]()
        for victim, at in early:
            if victim.id not in told:
                told.add(victim.id)
                moments.add(at)
                if at > usage.now and victim.workload.notice is None:
                    notices.append(_notice(victim, at))
        waits.wake(*moments)
        told |= _postpone(usage, evictions, waits, [victim for victim, _ in early])
        fill_back(usage, evictions)
        early = _early(usage, evictions)
    told.update(each.id for each in (*evictions.forced, *evictions.victims))
    for name in sorted(leaves):
        notices.extend(_of_ends(usage.snapshot.leaves[name], told, usage.now))
    noticed = (each for name in sorted(leaves) for each in usage.snapshot.leaves[name].noticed)
    withdrawn = (each for each in noticed if each.id not in told)
    return Notices(tuple(notices), tuple(withdrawn))


def _notice(victim: Victim, at: datetime) -> Notice:
    preemptor = victim.preemptor.workload.key if victim.preemptor else None
    return Notice(victim.workload, victim.reason, at, preemptor, message_for(victim))


def _of_ends(leaf: LeafSnapshot, told: set[WorkloadId], now: datetime) -> Iterator[Notice]:
    """Yield notice of the ends of run times; those who got it before keep it."""
    for workload, end in leaf.ending:
        is_new = workload.notice is None and workload.id not in told
        told.add(workload.id)
        if is_new:
            at = stops_at(workload, end, now)
            yield Notice(workload, EvictionReason.OVER_TIME, at, None, end_message(workload, leaf))


def evict_at(victim: Victim, now: datetime) -> datetime:
    """Return when this victim can be evicted: now, or when its notice has lasted long enough."""
    notice = victim.leaf_usage.leaf.reclaim.notice
    if not notice or victim.rule in WITHOUT_NOTICE:
        return now
    return later(victim.workload.notice or now, notice)


def is_early(victim: Victim, now: datetime) -> bool:
    """Return whether this victim cannot go in this cycle."""
    return evict_at(victim, now) > now or not _is_sure(victim)


def _is_sure(victim: Victim) -> bool:
    """Return whether its start is answered and, if it must be, its leaf is over runtime without those that are not."""
    if not victim.workload.is_answered:
        return False
    leaf_usage, key = victim.leaf_usage, victim.key
    if key is None or victim.rule not in OWED or not leaf_usage.running.unanswered:
        return True
    unsure, numbers = _use(key, leaf_usage.running.unanswered), leaf_usage.numbers(key)
    used = numbers.used - _use(key, leaf_usage.leaf.evicting) + leaf_usage.claimed.get(key, 0)
    return not unsure or used - unsure > numbers.runtime


def _use(key: FlavorResource, work: Iterable[Workload]) -> Amount:
    return sum(amount for each in work for used, amount in quantities_of(each, flavors_of(each)) if used == key)


def _early(usage: RoundUsage, evictions: EvictionPlan) -> list[tuple[Victim, datetime]]:
    """Return the victims that cannot go in this cycle, and when the notice of each has lasted long enough."""
    found = ((each, evict_at(each, usage.now)) for each in (*evictions.forced, *evictions.victims))
    return [(victim, at) for victim, at in found if at > usage.now or not _is_sure(victim)]


def _postpone(usage: RoundUsage, evictions: EvictionPlan, waits: Waits, early: list[Victim]) -> set[WorkloadId]:
    """Undo the plans these victims belong to, and every plan that does not fit without them.

    Return the other victims of such plans. They keep their notice: with notices that ran out of step no such plan
    would ever be carried out.
    """
    gone = set(map(id, early))
    waiting = {id(each.preemptor) for each in early if each.preemptor is not None}
    for victim in early:
        if victim.preemptor is None:
            usage.restore(victim.leaf_usage, victim.running)
    evictions.forced = [each for each in evictions.forced if id(each) not in gone]
    put_off = [each for each in evictions.preemptors if id(each) in waiting or not _fits(usage, each)]
    told: set[WorkloadId] = set()
    while put_off:
        for preemptor in put_off:
            told.update(each.id for each in preemptor.victims)
            keep(usage, evictions, waits, preemptor)
        waiting.update(map(id, put_off))
        evictions.preemptors = [each for each in evictions.preemptors if id(each) not in waiting]
        put_off = [each for each in evictions.preemptors if not _fits(usage, each)]
    still = {id(victim) for preemptor in evictions.preemptors for victim in preemptor.victims}
    evictions.victims = [
        each for each in evictions.victims if id(each) in still or (each.preemptor is None and id(each) not in gone)
    ]
    return told


def _fits(usage: RoundUsage, preemptor: Preemptor) -> bool:
    return usage.planned.keeps_limits(preemptor.leaf_usage.path, preemptor.quantities)
