"""The tree in force at a moment is a pure function of the tree as it is written, and changes at its borders alone."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from shared.quota.model.in_force import DatedTree, amendments_at, group_in_force, next_border, tree_in_force
from shared.quota.model.tree import Entry, Group, Override, StopPolicy, Tree, Window
from tests.trees import GPU, tree

SIX = datetime(2026, 1, 5, 6, tzinfo=UTC)
"""A Monday."""


def hours(number: float) -> datetime:
    """So many hours after six."""
    return SIX + timedelta(hours=number)


def entry(**numbers: int) -> tuple[Entry, ...]:
    """An entry with these numbers of GPUs."""
    limits: dict[str, Any] = {word: {GPU: amount} for word, amount in numbers.items()}
    return (Entry("default", **limits),)


WEEK = Override(hours(1), hours(5), entry(min=6), reason="release")
NIGHT = Window("0 8 * * *", timedelta(hours=6), quotas=entry(min=2, max=3))
LATER = Window("0 10 * * *", timedelta(hours=6), quotas=entry(max=7), stop_policy=StopPolicy.CLOSE)


def written(*overrides: Override, windows: tuple[Window, ...] = ()) -> Tree:
    """A tree in which vision says so."""
    found = tree("root 10\n  vision 4..8 w2\n  nlp 4")
    return found.with_group(replace(found["vision"], overrides=overrides, windows=windows))


def vision(found: Tree, now: datetime) -> Group:
    """What is in force of vision."""
    return tree_in_force(found, now)["vision"]


def test_an_override_replaces_the_numbers_that_it_names_from_its_start_until_before_its_end() -> None:
    found = written(WEEK)
    moments = {at: vision(found, hours(at)).quotas[0].min[GPU] for at in (0.99, 1, 4.99, 5)}
    assert moments == {0.99: 4, 1: 6, 4.99: 6, 5: 4}
    assert vision(found, hours(1)).quotas == (Entry("default", {GPU: 6}, {GPU: 8}, weight={GPU: 2}),)


def test_an_override_is_stronger_than_a_window_and_a_window_than_those_after_it() -> None:
    found = written(WEEK, windows=(NIGHT, LATER))
    at = {hour: vision(found, hours(hour)) for hour in (1, 2, 4, 5, 8, 10)}
    assert {
        hour: (each.quotas[0].min[GPU], each.quotas[0].max[GPU], each.stop_policy) for hour, each in at.items()
    } == {
        1: (6, 8, StopPolicy.NONE),
        2: (6, 3, StopPolicy.NONE),
        4: (6, 3, StopPolicy.CLOSE),
        5: (2, 3, StopPolicy.CLOSE),
        8: (4, 7, StopPolicy.CLOSE),
        10: (4, 8, StopPolicy.NONE),
    }
    assert [each.field for each in amendments_at(found["vision"], hours(4))] == [
        "spec.overrides[0]", "spec.windows[0]", "spec.windows[1]",
    ]  # fmt: skip


def test_the_tree_is_the_same_between_two_borders() -> None:
    found = written(WEEK, windows=(NIGHT, LATER))
    now, borders = SIX, []
    for _ in range(7):
        border = next_border(found, now)
        assert border is not None
        just_before = border - timedelta(seconds=1)
        assert tree_in_force(found, now).groups == tree_in_force(found, just_before).groups
        borders.append((border - SIX) / timedelta(hours=1))
        now = border
    assert borders == [1, 2, 4, 5, 8, 10, 26]


def test_what_nothing_amends_is_the_same_object() -> None:
    plain = written()
    assert tree_in_force(plain, SIX) is plain
    assert next_border(plain, SIX) is None
    timed = written(WEEK)
    assert tree_in_force(timed, SIX) is timed
    assert group_in_force(timed["nlp"], hours(2)) is timed["nlp"]
    assert next_border(timed, hours(5)) is None


def test_parents_and_children_stay_as_they_are() -> None:
    found = written(WEEK)
    assert found.children("root") == ("nlp", "vision")
    assert tree_in_force(found, hours(2)).children("root") == ("nlp", "vision")


def test_what_a_group_covers_never_changes() -> None:
    more = Entry("default", min={"cpu": 5, GPU: 6})
    found = written(replace(WEEK, quotas=(more, Entry("a100", min={GPU: 1}))))
    assert vision(found, hours(2)).quotas == (Entry("default", {GPU: 6}, {GPU: 8}, weight={GPU: 2}),)


def test_an_override_that_ends_before_it_begins_is_never_in_force() -> None:
    found = written(Override(hours(5), hours(1), entry(min=6)))
    assert [vision(found, hours(at)).quotas[0].min[GPU] for at in (0, 1, 2, 5, 6)] == [4] * 5
    assert next_border(found, SIX) is None


def test_a_dated_tree_holds_until_its_border_and_not_before_its_start() -> None:
    dated = DatedTree.at(written(WEEK), hours(2))
    assert (dated.in_force["vision"].quotas[0].min[GPU], dated.border) == (6, hours(5))
    assert [dated.holds(hours(at)) for at in (1.9, 2, 4.99, 5)] == [False, True, True, False]
    assert [DatedTree.at(written(WEEK), hours(6)).holds(hours(at)) for at in (5.9, 6, 1000)] == [False, True, True]


def test_a_dated_tree_holds_from_a_notice_that_is_due_until_the_next_moment() -> None:
    found = written(replace(WEEK, notice_before=timedelta(minutes=30)))
    borders = {at: DatedTree.at(found, hours(at)).border for at in (0, 0.5, 1, 4.5)}
    assert borders == {0: hours(0.5), 0.5: hours(1), 1: hours(4.5), 4.5: hours(5)}


def test_a_percent_and_an_amount_replace_each_other() -> None:
    share = Entry("default", percents={"min": {GPU: 50_000}, "weight": {"other": 1}})
    found = written(Override(hours(1), hours(3), (share,)), Override(hours(4), hours(5), entry(min=1)))
    (during,) = vision(found, hours(2)).quotas
    assert (during.min, during.max, during.percents) == ({}, {GPU: 8}, {"min": {GPU: 50_000}})
    back = found.with_group(replace(found["vision"], quotas=(during,)))
    (amended,) = vision(back, hours(4)).quotas
    assert (amended.min, amended.percents) == ({GPU: 1}, {})
