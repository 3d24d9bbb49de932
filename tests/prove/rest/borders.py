"""What is in force at the borders of overrides and windows, by definition; and who must have notice before.

See docs/specification.md §4.13.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import chain

from shared.quota.model.in_force import DatedTree, tree_in_force
from shared.quota.model.lifecycle import run_end
from shared.quota.model.tree import LIMITS, Entry, Group, Override, StopPolicy, Tree, Window
from shared.resources import FlavorResource
from tests.prove.rest.stepping import Cycle
from tests.prove.worlds.windows import HORIZON, is_open, opening_minutes
from tests.prove.worlds.world import ClosedWorld
from tests.shared.quota.reference.inputs import EPOCH
from tests.shared.quota.reference.usage_by_definition import asked

SECOND = timedelta(seconds=1)
MOST_BORDERS = 4
"""Bounds how many coming borders have notice: the nearest ones do."""
Timed = Override | Window
Numbers = dict[tuple[str, str, str], int]
"""(flavor, limit, resource) → the number."""


def wrong_borders(world: ClosedWorld) -> Iterator[str]:
    """Where the tree in force, or the moment until which it is, is not what the definition says."""
    for tree in (world.tree, *(world.tree.with_group(edit.group) for edit in world.edits)):
        timed = [each for group in tree.groups.values() for each in all_of(group)]
        borders = {(border, each.notice_before) for each in timed for border in flips(each)}
        moments = {moment for border, before in borders for moment in (border, border - before)}
        for moment in sorted({each + after for each in moments for after in (-SECOND, 0 * SECOND, SECOND)}):
            if moment >= EPOCH:
                yield from _wrong_at(tree, moment, timed)


def _wrong_at(tree: Tree, moment: datetime, timed: list[Timed]) -> Iterator[str]:
    found = tree_in_force(tree, moment)
    for name, group in tree.groups.items():
        expected, own = in_force_by_definition(group, moment), found[name]
        if expected != (_numbers(own.quotas), own.stop_policy):
            yield f"border: at {moment} {name} is {own}, not {expected}"
    wake, border = _next_moment(timed, moment), DatedTree.at(tree, moment).border
    is_right = border == wake if wake is not None else border is None or border > EPOCH + HORIZON
    if not is_right:
        yield f"border: at {moment} the next one is {border}, not {wake}"


def all_of(group: Group) -> list[Timed]:
    """Return its overrides and windows, the strongest first."""
    found: list[Timed] = [*group.overrides]
    return [*found, *group.windows]


def holds(timed: Timed, moment: datetime) -> bool:
    """Whether an override or window is open."""
    return is_open(timed, moment) if isinstance(timed, Window) else timed.start <= moment < timed.end


def flips(timed: Timed) -> list[datetime]:
    """When it begins and ends, in order."""
    if isinstance(timed, Override):
        return [timed.start, timed.end]
    edges = chain.from_iterable((minute, minute + timed.duration) for minute in opening_minutes(timed))
    return sorted({each for each in edges if holds(timed, each) != holds(timed, each - SECOND)})


def in_force_by_definition(group: Group, moment: datetime) -> tuple[Numbers, StopPolicy]:
    """Every number of the group and its stop policy: what is written, then what is open, the weakest first."""
    numbers, policy = _numbers(group.quotas), group.stop_policy
    for timed in reversed(all_of(group)):
        if holds(timed, moment):
            numbers |= _numbers(timed.quotas)
            policy = timed.stop_policy or policy
    return numbers, policy


def _numbers(quotas: tuple[Entry, ...]) -> Numbers:
    return {
        (entry.flavor, limit, resource): amount
        for entry in quotas
        for limit in LIMITS
        for resource, amount in getattr(entry, limit).items()
    }


def _next_moment(timed: list[Timed], now: datetime) -> datetime | None:
    """When something begins or ends next, or notice is due of the end of what is open or of what opens next."""
    found = []
    for each in timed:
        ahead = [border for border in flips(each) if border > now]
        found += ahead
        if each.notice_before:
            found += [border - each.notice_before for border in ahead[: 1 if holds(each, now) else 2]]
    return min((moment for moment in found if moment > now), default=None)


def without_notice(cycle: Cycle) -> Iterator[str]:
    """Groups that use more than their max at a coming border lets them, of which too few have notice."""
    now, capacity, written = cycle.snapshot.now, cycle.snapshot.capacity, cycle.snapshot.world.written
    for border in sorted(_announced(written, now))[:MOST_BORDERS] if written is not None else ():
        for name, group in written.groups.items() if written is not None else ():
            numbers, _ = in_force_by_definition(group, border)
            for (flavor, limit, resource), most in numbers.items():
                key = FlavorResource(flavor, resource)
                if limit == "max" and group.parent is not None and most < capacity.get(key, 0):
                    spared = _use_without_notice(cycle, name, key, border)
                    if sum(spared.values()) > most and spared[True]:
                        yield f"border: {name} uses {dict(spared)} of {key} without notice of {border}, max {most}"


def _announced(written: Tree, now: datetime) -> set[datetime]:
    return {
        border
        for group in written.groups.values()
        for timed in all_of(group)
        for border in [each for each in flips(timed) if each > now][: 1 if holds(timed, now) else 2]
        if timed.notice_before and border - timed.notice_before <= now
    }


def _use_without_notice(cycle: Cycle, group: str, key: FlavorResource, border: datetime) -> Counter[bool]:
    """Return what those use below who neither go now nor have notice after the cycle, by whether it is preemptible.

    Nothing where some may stay after the border, or cannot be stopped yet, as a start that is not answered; nor what
    has run for as long as it may before all grace periods are over after the border. See
    docs/specification.md §4.13 and §5.4.
    """
    plan, used = cycle.plan, Counter[bool]()
    last = border + max(leaf.reclaim.grace_period for leaf in cycle.snapshot.leaves.values())
    withdrawn = {each.id for each in plan.notices_withdrawn}
    known = {each.workload.id for each in plan.evictions} | {each.workload.id for each in plan.notices}
    for name in cycle.snapshot.world.tree.leaves_below(group):
        leaf = cycle.snapshot.leaves.get(name)
        if leaf is None or leaf.inactive is not None or leaf.reclaim.exempt_after_start:
            return Counter()
        for work in leaf.admitted:
            if not work.is_answered:
                return Counter()
            has_notice = work.id in known or (work.notice is not None and work.id not in withdrawn)
            end = run_end(work, leaf.run_time, leaf.reclaim.notice)
            ends_before = end is not None and end.at <= last
            if work.admission is not None and not has_notice and not ends_before:
                used[work.preemptible] += asked(work, work.admission.flavors).get(key, 0)
    return used
