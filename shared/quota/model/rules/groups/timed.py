"""What a group's own overrides and windows must be: times that come and end, in zones that exist, of what it covers.

See docs/specification.md §4.13.
"""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from shared.api.crds.timed import MAX_OVERRIDES, MAX_WINDOWS
from shared.api.durations import write_duration
from shared.api.json.reading import write_moment
from shared.api.json.unread import BAD_SCHEDULE, UNKNOWN_ZONE
from shared.quota.model.in_force.instants import MOST
from shared.quota.model.in_force.schedules import MOST_TIMES, survey
from shared.quota.model.rules.context import Context, TreeEdit
from shared.quota.model.rules.findings import Violation
from shared.quota.model.rules.groups.names import amendments_of, limits, of_group, placed, shortened
from shared.quota.model.tree import Group, Override, Window

LONGEST_WINDOW: Final = timedelta(days=366)


def check_times_read(group: Group) -> Iterator[Violation]:
    """Every schedule and time zone is one."""
    for unread in group.unread:
        if unread.rule in (BAD_SCHEDULE, UNKNOWN_ZONE):
            yield Violation(unread.rule, of_group(group.name), unread.field, unread.message)


def check_number_of_times(group: Group) -> Iterator[Violation]:
    """At most 32 overrides and 8 windows."""
    for field, most, listed in (("overrides", MAX_OVERRIDES, group.overrides), ("windows", MAX_WINDOWS, group.windows)):
        if len(listed) > most:
            message = f"has {len(listed)} {field}, at most {most} are allowed; take out those that have ended"
            yield Violation("TooManyEntries", of_group(group.name), f"spec.{field}", message)


def check_overrides(group: Group) -> Iterator[Violation]:
    """Each override ends after it begins."""
    for at, each in enumerate(group.overrides):
        if each.end <= each.start:
            message = f"until {write_moment(each.end)} is not after from {write_moment(each.start)}; write a later one"
            yield Violation("OverrideEndsTooEarly", of_group(group.name), f"spec.overrides[{at}].until", message)


def check_overrides_apart(group: Group) -> Iterator[Violation]:
    """No two overrides of a group hold at the same time."""
    ordered = sorted((each.start, each.end, at) for at, each in enumerate(group.overrides) if each.start < each.end)
    latest = ordered[:1]
    for start, end, at in ordered[1:]:
        _, before, first = latest[0]
        if start < before:
            message = (
                f"begins at {write_moment(start)}, while spec.overrides[{first}] holds until {write_moment(before)}; "
                "let one end where the other begins, or write what both say into one"
            )
            subject = (group.name, "overrides", write_moment(start))
            yield Violation(
                "OverridesOverlap", of_group(group.name), f"spec.overrides[{at}].from", message, subject=subject
            )
        if end > before:
            latest = [(start, end, at)]


def check_windows(group: Group) -> Iterator[Violation]:
    """Each window opens, closes, and comes at most four times a day."""
    for at, each in enumerate(group.windows[:MAX_WINDOWS]):
        for field, message in _window_faults(each):
            yield Violation("BadWindow", of_group(group.name), f"spec.windows[{at}].{field}", message)


def _window_faults(window: Window) -> Iterator[tuple[str, str]]:
    length = write_duration(window.duration)
    if not timedelta(seconds=1) <= window.duration <= LONGEST_WINDOW:
        yield "duration", f"is {length}; write 1s to {write_duration(LONGEST_WINDOW)}"
        return
    found = survey(window.schedule, window.zone, window.duration)
    schedule = f"the schedule {shortened(window.schedule)}"
    if found.never_opens:
        yield "schedule", f"{schedule} never happens; no such day is in any month"
    if found.never_closes:
        message = f"is {length}, and {schedule} comes again before that has passed, so the window never closes"
        yield "duration", f"{message}; write a shorter one, or write into spec.quotas what holds always"
    if found.opens_too_often:
        yield "schedule", f"{schedule} comes more than {MOST_TIMES} times in 400 days; write one with at most 4 a day"


def check_says_something(group: Group) -> Iterator[Violation]:
    """Each override and window says quotas, a stopPolicy or budgets."""
    for field, said in amendments_of(group):
        if not said.quotas and said.stop_policy is None and not said.budgets:
            message = "says nothing; write quotas, stopPolicy or budgets"
            yield Violation("BadOverride", of_group(group.name), field, message)


def check_amended(group: Group) -> Iterator[Violation]:
    """Overrides and windows name flavors and resources that the group covers, each flavor once."""
    covered = {entry.flavor: entry.covered for entry in group.quotas}
    for field, said in amendments_of(group):
        flavors = [entry.flavor for entry in said.quotas]
        for at, (place, entry) in enumerate(placed(said.quotas, f"{field}.quotas")):
            if entry.flavor in flavors[:at]:
                message = f"flavor {shortened(entry.flavor)} has an entry there already; join both into one"
                yield Violation("DuplicateFlavor", of_group(group.name), place, message)
            for limit, resource in limits(entry):
                if resource not in covered.get(entry.flavor, ()):
                    message = (
                        f"{limit} names {shortened(resource)} of {shortened(entry.flavor)}, which spec.quotas does not "
                        f"cover; name it there in min or max, 0 if need be, or take it out of {limit}"
                    )
                    yield Violation("UncoveredResource", of_group(group.name), f"{place}.{limit}", message)


def check_not_past(change: TreeEdit, context: Context) -> Iterator[Violation]:
    """A new override has not ended already. One that has ended since it was written stays: its object can be edited."""
    old, new = change.old, change.new
    if new is not None and context.now is not None:
        yield from ended(new, () if old is None else old.overrides, context.now)


def check_moments(old: Group | None, new: Group, moments: Sequence[datetime]) -> Iterator[Violation]:
    """An edit changes no quotas, and adds no override or window, if more moments differ than are judged.

    `old` None: created. What only takes overrides or windows out can be stored.
    """
    stays = old is not None and old.parent == new.parent and old.quotas == new.quotas
    known = (*old.overrides, *old.windows) if old is not None and stays else ()
    if not stays or any(each not in known for each in (*new.overrides, *new.windows)):
        yield from too_many_moments(new.name, moments)


def too_many_moments(name: str, moments: Sequence[datetime]) -> Iterator[Violation]:
    """Yield a violation if these, of a group among others or of a parent and all below it, are more than are judged."""
    if len(moments) > MOST:
        message = (
            f"overrides and windows of {name} and of the groups above, beside and below it are open together in more "
            f"than {MOST} ways, and no more are judged; take some out, or let them begin and end at the same times"
        )
        yield Violation("TooManyMoments", of_group(name), "", message)


def ended(group: Group, known: Collection[Override], now: datetime) -> Iterator[Violation]:
    """Yield the overrides of the group that have ended, without those that are `known`."""
    for at, each in enumerate(group.overrides):
        if each.start < each.end <= now and each not in known:
            message = f"until {write_moment(each.end)} has passed: it is {write_moment(now)}; take the override out"
            yield Violation("OverrideInPast", of_group(group.name), f"spec.overrides[{at}].until", message)
