"""Who is told before a border: those who go when an override or a window with `noticeBefore` begins or ends.

From then on each cycle also plans as if the border had passed, and `gracePeriod` after it. The victims of that plan
have notice, those that are not among them any more lose it. Nothing else is taken from such a plan. While a grace
period after a border lasts, that plan is for the tree in force now: one for all borders that have passed.

    vision: max 8, until 18:00 an override with max 16 and noticeBefore 30m; 12 are in use, `reclaim.notice` is 5m.
    At 17:30 the least important 4 are told that they go at 18:00, and at 18:00 they go.

See docs/specification.md §4.13.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Final

from shared.api.core.metadata import LONG_AGO
from shared.api.durations import earlier, later
from shared.quota.decide.decisions import Evict, Notice, Plan
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.model.in_force import Announcement, announced
from shared.quota.model.tree import Tree
from shared.quota.model.workload import EvictionReason, Workload

BORDERS: Final = 4
"""Bounds for how many coming borders one cycle plans ahead: for the nearest ones."""
_OWN_CAUSES: Final = frozenset(
    {EvictionReason.PODS_READY_TIMEOUT, EvictionReason.OVER_TIME, EvictionReason.CAPACITY_LOST}
)
"""Why workloads go that no border stops."""

Decide = Callable[[Snapshot, CycleCache], Plan]


def with_early_notices(found: Plan, snapshot: Snapshot, written: Tree, cache: CycleCache, decide: Decide) -> Plan:
    """Return the plan with the notices of coming borders.

    `written`: the tree with its overrides and windows. `decide`: makes the plan of a snapshot without these notices.
    """
    grace = max((leaf.reclaim.grace_period for leaf in snapshot.leaves.values()), default=timedelta())
    due = announced(written, earlier(snapshot.now, grace), snapshot.now)
    passed = bisect_right(due, snapshot.now, key=attrgetter("at"))
    before, cache.ahead = cache.ahead, {}
    notices, kept = list(found.notices), set[int]()
    known = {each.workload.id for each in _going(found)}
    for border in due[max(0, passed - 1) : passed + BORDERS]:
        given, own = before.get(border.at, (snapshot, CycleCache()))
        given = _at_border(snapshot, border.at, grace, given)
        cache.ahead[border.at] = given, own
        then = decide(given, own)
        kept.update(map(id, _still_needed(found.notices_withdrawn, then)))
        new = [each for each in _told(then, snapshot, border) if each.workload.id not in known]
        known.update(each.workload.id for each in new)
        notices.extend(new)
    withdrawn = tuple(each for each in found.notices_withdrawn if id(each) not in kept)
    return replace(found, notices=tuple(notices), notices_withdrawn=withdrawn)


def _at_border(snapshot: Snapshot, border: datetime, grace: timedelta, previous: Snapshot) -> Snapshot:
    """Return what there is now, measured as if the border had passed and every grace period after it."""
    world = snapshot.world.at(max(border, snapshot.now))
    if world.tree.groups == previous.world.tree.groups:
        world = replace(world, tree=previous.world.tree)
    over = {(name, key): LONG_AGO for name, keys in snapshot.numbers.items() for key in keys} if grace else {}
    return measure(replace(world, over_since=over), later(border, grace), previous)


def _still_needed(withdrawn: Iterable[Workload], then: Plan) -> Iterator[Workload]:
    """Yield those of which this cycle needs no eviction, but the plan at the border does."""
    unneeded = {each.id for each in then.notices_withdrawn}
    return (each for each in withdrawn if each.id not in unneeded)


def _going(found: Plan) -> Iterator[Evict | Notice]:
    yield from found.evictions
    yield from found.notices


def _told(then: Plan, snapshot: Snapshot, border: Announcement) -> Iterator[Notice]:
    """Yield the notices that are due now of what goes at the border."""
    for each in _going(then):
        workload = each.workload
        if workload.notice is not None or each.reason in _OWN_CAUSES:
            continue
        reclaim = snapshot.leaves[workload.group].reclaim
        at = max(later(border.at, reclaim.grace_period), later(snapshot.now, reclaim.notice))
        yield Notice(workload, each.reason, at, None, f"{border.said}: {each.message}")
