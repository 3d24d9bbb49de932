"""Overrides and windows that are open together in so many ways that no judge can look at all of them."""

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from shared.quota.model import rules
from shared.quota.model.in_force.instants import MOST, instants
from shared.quota.model.rules import Context
from shared.quota.model.rules.over_time import in_force
from shared.quota.model.tree import Entry, Override, Tree, Window
from tests.trees import GPU, tree

NOW = datetime(2027, 3, 1, tzinfo=UTC)
CONTEXT = Context(now=NOW)
DAY = timedelta(days=1)
TREE = tree("root 20\n  p/ 7\n    a 3\n    b 3")
HARMLESS = (Entry("default", weight={GPU: 1}),)
TOO_MUCH = (Entry("default", min={GPU: 6}),)
WINDOWS = tuple(
    Window(f"{each} */{each + 6} * * *", timedelta(hours=3, minutes=7 * each), quotas=HARMLESS) for each in range(8)
)
OVERRIDES = tuple(Override(NOW + each * 12 * DAY, NOW + (each + 1) * 12 * DAY, HARMLESS) for each in range(31))


def edited(before: Tree, **fields: object) -> list[str]:
    """The rules that an edit of `a` breaks."""
    after = before.with_group(replace(before["a"], **fields))  # type: ignore[arg-type]
    return [each.rule for each in rules.check_change_over_time(before, after, "a", CONTEXT).violations]


def test_no_override_hides_behind_more_moments_than_are_judged() -> None:
    """It is open from day 380 on, and takes from `b`; before, harmless ones take up all moments that are looked at."""
    hidden = Override(NOW + 380 * DAY, NOW + 390 * DAY, TOO_MUCH)
    assert edited(TREE, overrides=(hidden,)) == ["SumOfMinExceedsParent"]
    assert edited(TREE, overrides=(*OVERRIDES, hidden), windows=WINDOWS) == ["TooManyMoments"]


def test_what_is_stored_can_be_edited_and_taken_out_but_not_added_to() -> None:
    before = TREE.with_group(replace(TREE["a"], overrides=OVERRIDES, windows=WINDOWS))
    assert len(instants([before["a"]], NOW)) == MOST + 1
    assert edited(before, allow_lending=False) == []
    assert edited(before, windows=WINDOWS[1:]) == []
    assert edited(before, windows=(*WINDOWS[1:], replace(WINDOWS[0], quotas=TOO_MUCH))) == ["TooManyMoments"]


def test_no_min_hides_behind_more_moments_than_are_judged() -> None:
    """Siblings have so many that they are not all looked at; `a` has 0 by its own override until after that."""
    less = (Override(NOW - DAY, NOW + 380 * DAY, (Entry("default", min={GPU: 0}),)),)
    before = TREE.with_group(replace(TREE["b"], overrides=OVERRIDES, windows=WINDOWS))
    before = before.with_group(replace(before["a"], overrides=less))
    assert edited(before, quotas=(Entry("default", min={GPU: 6}, max={GPU: 7}),)) == ["TooManyMoments"]
    assert edited(before, quotas=(Entry("default", min={GPU: 4}, max={GPU: 7}),)) == []
    assert edited(before, overrides=()) == []


def test_no_min_hides_from_what_a_sibling_has_after_all_moments_that_are_judged() -> None:
    """`b` has 4 from day 380 on: `a`, which has no times of its own, can have 3 of 7."""
    late = Override(NOW + 380 * DAY, NOW + 390 * DAY, (Entry("default", min={GPU: 4}),))
    before = TREE.with_group(replace(TREE["b"], overrides=(*OVERRIDES, late), windows=WINDOWS))
    assert edited(before, quotas=(Entry("default", min={GPU: 4}, max={GPU: 7}),)) == ["TooManyMoments"]
    assert edited(before, quotas=(Entry("default", min={GPU: 3}, max={GPU: 7}),)) == []


def test_no_window_hides_behind_those_that_it_replaces() -> None:
    """Who may raise its min is judged for the group before and after the edit together, at the same moments."""
    before = TREE.with_group(replace(TREE["a"], windows=WINDOWS))
    others = tuple(replace(each, schedule=f"{30 + at} */{at + 6} * * *") for at, each in enumerate(WINDOWS))
    after = replace(TREE["a"], windows=others, overrides=OVERRIDES[:16])
    assert len(instants([before["a"]], NOW)) < len(instants([after], NOW)) < MOST
    assert edited(before, windows=after.windows, overrides=after.overrides) == ["TooManyMoments"]


def test_a_whole_tree_with_so_many_is_refused_once_by_its_parent() -> None:
    whole = TREE.with_group(replace(TREE["a"], overrides=OVERRIDES, windows=WINDOWS))
    found = rules.check_tree_over_time(whole, CONTEXT).violations
    assert [(each.rule, each.object) for each in found] == [("TooManyMoments", "QuotaGroup/p")]
    assert found[0].message == (
        "overrides and windows of p and of the groups above, beside and below it are open together in more than 1000 "
        "ways, and no more are judged; take some out, or let them begin and end at the same times"
    )


@pytest.mark.parametrize("hours", [1, 24 * 30, 24 * 366])
def test_what_one_object_can_say_is_judged_before_the_api_server_stops_waiting(hours: int) -> None:
    """An editor of a leaf could keep a replica busy for minutes: 10 s is what the API server waits for an answer."""
    windows = [Window(f"{each} */6 * * *", timedelta(hours=hours), "Europe/Berlin", HARMLESS) for each in range(8)]
    overrides = [Override(NOW + each * 700 * DAY, NOW + (each * 700 + 350) * DAY, HARMLESS) for each in range(1, 33)]
    began = time.process_time()
    edited(TREE, overrides=tuple(overrides), windows=tuple(windows))
    assert time.process_time() - began < 5


def test_who_uses_up_all_moments_keeps_no_sibling_from_its_own_times() -> None:
    """The editor of `a` has so many that nothing can be judged together with them; `b` takes nothing from it."""
    before = TREE.with_group(replace(TREE["a"], overrides=OVERRIDES, windows=WINDOWS))
    mild = (Override(NOW + DAY, NOW + 2 * DAY, (Entry("default", min={GPU: 2}, weight={GPU: 5}),)),)
    after = before.with_group(replace(before["b"], overrides=mild, windows=WINDOWS[:1]))
    assert rules.check_change_over_time(before, after, "b", CONTEXT).violations == ()
    lower = before.with_group(replace(before["p"], overrides=mild))
    found = rules.check_change_over_time(before, lower, "p", CONTEXT).violations
    assert [each.rule for each in found] == ["TooManyMoments"]


def test_where_a_sibling_has_percents_only_its_moments_tell() -> None:
    half = Entry("default", percents={"min": {GPU: 40_000}})
    sibling = replace(TREE["b"], quotas=(half,), overrides=OVERRIDES, windows=WINDOWS)
    before = TREE.with_group(sibling)
    assert edited(before, quotas=(Entry("default", min={GPU: 2}, max={GPU: 7}),)) == ["TooManyMoments"]


def test_what_only_the_times_of_siblings_make_legal_is_judged_at_each_of_them() -> None:
    """`a` has 1 of its 3 for a week: only then may `b` have 5 of 7."""
    week = (NOW + 7 * DAY, NOW + 14 * DAY)
    before = TREE.with_group(replace(TREE["a"], overrides=(Override(*week, (Entry("default", min={GPU: 1}),)),)))
    five = (Entry("default", min={GPU: 5}),)
    for span, broken in ((week, []), ((week[0], week[1] + DAY), ["SumOfMinExceedsParent"])):
        after = before.with_group(replace(before["b"], overrides=(Override(*span, five),)))
        found = rules.check_change_over_time(before, after, "b", CONTEXT).violations
        assert [each.rule for each in found] == broken


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("most", [MOST, 1])
def test_edits_are_judged_as_by_a_look_at_every_moment(seed: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are more moments than are judged, what passes breaks nothing at any of them."""
    dice = Random(seed)
    for _ in range(5):
        before = TREE
        for name in ("p", "a", "b"):
            before = before.with_group(replace(before[name], overrides=_random_overrides(dice)))
        edited = dice.choice(("p", "a", "b"))
        quotas = (Entry("default", min={GPU: dice.randint(0, 7)}, max={GPU: 7}),)
        after = before.with_group(replace(before[edited], quotas=quotas, overrides=_random_overrides(dice)))
        names = frozenset(before.groups)
        groups = [tree[each] for tree in (before, after) for each in names]
        broken = any(
            rules.check_change(in_force(before, names, at), in_force(after, names, at), edited, CONTEXT).violations
            for at in instants(groups, NOW)
        )
        with monkeypatch.context() as fewer:
            fewer.setattr("shared.quota.model.rules.groups.timed.MOST", most)
            found = rules.check_change_over_time(before, after, edited, CONTEXT).violations
        assert found or not broken, (before, after)
        assert not found or broken or most < MOST, (before, after)


def _random_overrides(dice: Random) -> tuple[Override, ...]:
    days = sorted(dice.sample(range(1, 20), 2 * dice.randint(0, 2)))
    return tuple(
        Override(NOW + start * DAY, NOW + end * DAY, (Entry("default", min={GPU: dice.randint(0, 7)}),))
        for start, end in zip(days[::2], days[1::2], strict=True)
    )
