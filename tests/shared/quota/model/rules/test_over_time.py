"""An edit is accepted if and only if the tree in force is legal at every moment from now on.

Compared with a judge that knows nothing of `instants` and chunks: it takes every border from the library itself and
adds numbers one second before, at and after each.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import takewhile
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim

from shared.quota.model import rules
from shared.quota.model.in_force import tree_in_force
from shared.quota.model.in_force.instants import HORIZON, instants
from shared.quota.model.rules import Context
from shared.quota.model.tree import Entry, Group, Override, Tree, Window
from tests.trees import GPU, tree

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
"""The leap day of 2028 is a year ahead, all changes of daylight saving before it."""
CONTEXT = Context(now=NOW)
A_SECOND = timedelta(seconds=1)
SCHEDULES = (
    "0 20 * * *", "0 20 * * 1-5", "30 2 * * *", "0 8 * * 1", "0 0 1 * *", "0 0 29 2 *", "0 6,18 * * 0", "15 12 13 * 5",
    "0 0 25 12 *", "0 */8 * * *",
)  # fmt: skip
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe")


def numbers(**amounts: int) -> tuple[Entry, ...]:
    """An entry of GPUs."""
    limits: dict[str, Any] = {word: {GPU: amount} for word, amount in amounts.items()}
    return (Entry("default", **limits),)


def window(random: Random) -> Window:
    """Any window."""
    hours = random.choice((0.5, 1, 4, 7.5))
    schedule, zone = random.choice(SCHEDULES), random.choice(ZONES)
    return Window(schedule, timedelta(hours=hours), zone, numbers(min=random.randrange(6)))


def override(random: Random) -> Override:
    """Any override that has not ended, in the coming year or so."""
    start = NOW + timedelta(hours=random.randrange(-200, 9000), minutes=random.randrange(60))
    end = max(start, NOW) + timedelta(hours=random.choice((0.25, 5, 80, 900)))
    return Override(start, end, numbers(min=random.randrange(6)))


def timed(random: Random, group: Group) -> Group:
    """The group with windows and an override, or without any."""
    overrides = tuple(override(random) for _ in range(random.choice((0, 0, 1))))
    return replace(
        group, overrides=overrides, windows=tuple(window(random) for _ in range(random.choice((0, 0, 1, 2))))
    )


@lru_cache
def times(schedule: str, zone: str) -> tuple[datetime, ...]:
    """The times of a schedule for longer than is promised to be looked at."""
    found = CronSim(schedule, (NOW - timedelta(days=2)).astimezone(ZoneInfo(zone)))
    return tuple(takewhile(lambda each: each < NOW + HORIZON, (each.astimezone(UTC) for each in found)))


def spans(group: Group) -> Iterator[tuple[Override | Window, datetime, datetime]]:
    """Every override and window, the strongest first, with each of its beginnings and ends."""
    yield from ((each, each.start, each.end) for each in group.overrides)
    for each in group.windows:
        yield from ((each, start, start + each.duration) for start in times(each.schedule, each.zone))


def is_open(amending: Override | Window, moment: datetime) -> bool:
    """Whether it is open then: the latest of its times before has not passed for longer than it lasts."""
    if isinstance(amending, Override):
        return amending.start <= moment < amending.end
    found = times(amending.schedule, amending.zone)
    at = bisect_right(found, moment)
    return at > 0 and moment < found[at - 1] + amending.duration


def min_at(group: Group, moment: datetime) -> int:
    """The min of the group then."""
    every: tuple[Override | Window, ...] = (*group.overrides, *group.windows)
    amending = (each.quotas[0].min[GPU] for each in every if is_open(each, moment))
    return next(amending, group.quotas[0].min[GPU])


def is_legal(found: Tree, moment: datetime) -> bool:
    """Whether the children of p promise no more than it has."""
    return sum(min_at(found[name], moment) for name in ("a", "b")) <= min_at(found["p"], moment)


def first_illegal(found: Tree) -> datetime | None:
    """The first moment from now on at which it is not legal."""
    moments = {each for group in found.groups.values() for _, *both in spans(group) for each in both}
    moments = {each for each in moments if each < NOW + HORIZON - timedelta(days=2)}
    around = sorted({NOW, *(each + by * A_SECOND for each in moments for by in (-1, 0, 1))})
    return next((each for each in around if each >= NOW and not is_legal(found, each)), None)


@pytest.mark.parametrize("seed", range(8))
def test_an_edit_is_accepted_if_the_tree_in_force_is_legal_at_every_border(seed: int) -> None:
    random = Random(seed)
    base = tree("root 20\n  p/ 7\n    a 3\n    b 3")

    for _ in range(4):
        after = base
        for name in ("p", "a", "b"):
            after = after.with_group(timed(random, base[name]))
        name = random.choice(("p", "a", "b"))
        before = after.with_group(base[name])
        if first_illegal(before) is not None:
            continue
        wrong = first_illegal(after)
        found = rules.check_change_over_time(before, after, name, CONTEXT).violations
        assert (wrong is None) == (not found), (wrong, found)
        assert (wrong is None) == (not rules.check_tree_over_time(after, CONTEXT).violations)

        if wrong is not None and wrong > NOW:
            assert found[0].message.startswith(f"from {wrong:%Y-%m-%dT%H:%M:%SZ} on (with "), (wrong, found)


def test_both_verdicts_are_drawn() -> None:
    random, base = Random(7), tree("root 20\n  p/ 7\n    a 3\n    b 3")
    trees = [base.with_group(timed(random, base["a"])).with_group(timed(random, base["p"])) for _ in range(40)]
    verdicts = [first_illegal(each) for each in trees]
    assert min(sum(each is None for each in verdicts), sum(each is not None for each in verdicts)) > 5


def test_moments_that_look_alike_are_looked_at_once() -> None:
    nightly = Window("0 20 * * *", timedelta(hours=10), quotas=numbers(min=1))
    weekly = Window("0 12 * * 1", timedelta(hours=10), quotas=numbers(min=1))
    group, other = Group("a", windows=(nightly, weekly)), Group("b", windows=(nightly,))
    found = instants((group, other), NOW)
    assert [each - NOW for each in found] == [timedelta(hours=each) for each in (0, 8, 10, 18)]


def test_a_window_that_opens_in_years_is_looked_at_when_it_opens() -> None:
    leap = Window("0 0 29 2 *", timedelta(hours=10), quotas=numbers(min=1))
    now = datetime(2028, 3, 1, tzinfo=UTC)
    assert instants((Group("a", windows=(leap,)),), now) == [now, datetime(2032, 2, 29, tzinfo=UTC)]


def test_a_tree_is_judged_until_the_moment_that_is_asked_for() -> None:
    base = tree("root 20\n  p/ 7\n    a 3\n    b 3")
    late = Override(NOW + timedelta(days=9), NOW + timedelta(days=10), numbers(min=6))
    found = base.with_group(replace(base["a"], overrides=(late,)))
    broken = {
        days: [each.rule for each in rules.check_tree_over_time(found, CONTEXT, NOW + timedelta(days=days)).violations]
        for days in (8, 9)
    }
    assert broken == {8: [], 9: ["SumOfMinExceedsParent"]}
    assert tree_in_force(found, NOW + timedelta(days=9))["a"].quotas[0].min[GPU] == 6
