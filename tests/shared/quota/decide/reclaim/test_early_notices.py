"""Who goes at a border is told `noticeBefore` it. docs/specification.md §4.13."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from shared.quota.decide.decisions import Plan
from shared.quota.decide.plan import plan
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.measure.inputs.world import OverSince, World
from shared.quota.measure.snapshot import measure
from shared.quota.model.in_force import DatedTree
from shared.quota.model.tree import Entry, Override, StopPolicy, Window
from shared.quota.model.workload import Workload
from tests.builders import NOW, after, pending, running
from tests.shared.quota.decide.plan_words import evictions, given, name, settings_for
from tests.trees import GPU, tree

GROUPS = "root 8\n  a 2..2\n  b 4"
MINUTE = timedelta(seconds=60)
UNTIL = after(600)
WORK = [running("a", 1, f"a{number}", since=after(number - 9)) for number in range(4)]


def override(**fields: Any) -> Override:
    """One that lets `a` use 4 until UNTIL, of which notice is due three minutes before."""
    chosen: dict[str, Any] = {"quotas": (Entry("default", max={GPU: 4}),), "notice_before": 3 * MINUTE} | fields
    return Override(NOW - MINUTE, UNTIL, **chosen)


LENT = override()


def at(now: datetime, *workloads: Workload, override: Override = LENT, **settings: Any) -> World:
    """The world of these workloads at that moment."""
    found = tree(GROUPS)
    written = found.with_group(replace(found["a"], overrides=(override,)))
    return replace(given(found, workloads, **settings), settings=settings_for(found, **settings)).with_tree(
        DatedTree.at(written, now)
    )


def decide(now: datetime, *workloads: Workload, **settings: Any) -> Plan:
    """One cycle then."""
    return plan(measure(at(now, *workloads, **settings), now))


def noticed(decided: Plan) -> list[tuple[str, datetime]]:
    return [(name(each.workload), each.evict_at) for each in decided.notices]


def with_notice(*workloads: Workload, when: datetime) -> list[Workload]:
    """The first two of WORK, and the last two with a notice."""
    return [*workloads[:2], *(replace(each, notice=when) for each in workloads[2:])]


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param(419, [], id="before notice is due"),
        pytest.param(420, [("a3", UNTIL), ("a2", UNTIL)], id="when it is due"),
        pytest.param(570, [("a3", after(630)), ("a2", after(630))], id="too late for the whole notice"),
    ],
)
def test_what_is_above_after_the_end_has_notice_before_it(seconds: int, expected: list[tuple[str, datetime]]) -> None:
    decided = decide(after(seconds), *WORK, notice=MINUTE)
    assert (noticed(decided), decided.evictions) == (expected, ())


def test_notice_says_what_ends_and_when() -> None:
    decided = decide(after(420), *WORK, notice=MINUTE)
    assert decided.notices[0].message == (
        "spec.overrides[0] of group 'a' ends at 2026-01-01T00:10:00Z: Job 'ns/a3' is stopped and queued again: group "
        "'a' uses more of default/gpu than its ceiling"
    )


@pytest.mark.parametrize("notice", [timedelta(), MINUTE, 3 * MINUTE], ids=["no notice", "1m", "3m"])
def test_those_with_notice_go_at_the_border(notice: timedelta) -> None:
    work = with_notice(*WORK, when=after(420))
    before = decide(after(599), *work, notice=notice)
    assert (before.notices, before.notices_withdrawn, before.evictions) == ((), (), ())
    assert evictions(decide(UNTIL, *work, notice=notice)) == ["a3 Ceiling", "a2 Ceiling"]


def test_notice_is_withdrawn_from_those_who_may_stay() -> None:
    work = with_notice(*WORK, when=after(420))
    fewer = decide(after(500), *work[1:], notice=MINUTE)
    assert [name(each) for each in fewer.notices_withdrawn] == ["a2"]
    longer = decide(after(500), *work, override=override(notice_before=timedelta()), notice=MINUTE)
    assert [name(each) for each in longer.notices_withdrawn] == ["a2", "a3"]


def test_grace_is_over_before_they_go_and_they_keep_their_notice_until_then() -> None:
    first = decide(after(420), *WORK, notice=MINUTE, grace_period=2 * MINUTE)
    assert noticed(first) == [("a3", after(720)), ("a2", after(720))]
    work = with_notice(*WORK, when=after(420))
    since: OverSince = {}
    for moment, expected in ((600, []), (719, []), (720, ["a3 Ceiling", "a2 Ceiling"])):
        world = at(after(moment), *work, notice=MINUTE, grace_period=2 * MINUTE)
        decided = plan(measure(replace(world, over_since=since), after(moment)))
        since = decided.over_since
        assert (evictions(decided), decided.notices_withdrawn) == (expected, ()), moment


def test_what_is_reclaimed_for_others_after_the_border_has_notice_too() -> None:
    """b gets its min back at the border: what borrows it goes then."""
    found = tree("root 4\n  a 0\n  b 4")
    lent = Override(NOW - MINUTE, UNTIL, quotas=(Entry("default", min={GPU: 0}, max={GPU: 0}),), notice_before=MINUTE)
    written = found.with_group(replace(found["b"], overrides=(lent,)))
    work = [running("a", 4, "borrows"), pending("b", 4, "owed")]
    world = given(found, work, notice=MINUTE).with_tree(DatedTree.at(written, after(540)))
    assert noticed(plan(measure(world, after(540)))) == [("borrows", UNTIL)]


def test_a_group_that_drains_at_a_border_tells_those_who_run() -> None:
    begins = Override(UNTIL, after(900), stop_policy=StopPolicy.HOLD_AND_DRAIN, notice_before=MINUTE)
    assert noticed(decide(after(540), *WORK[:1], override=begins)) == [("a0", UNTIL)]


def test_a_window_tells_before_it_closes() -> None:
    found = tree(GROUPS)
    window = Window("0 0 * * *", timedelta(seconds=600), quotas=override().quotas, notice_before=3 * MINUTE)
    dated = DatedTree.at(found.with_group(replace(found["a"], windows=(window,))), NOW)
    assert dated.border == after(420)
    again = DatedTree.at(dated.written, after(420))
    assert (again.border, again.in_force.groups) == (UNTIL, dated.in_force.groups)
    world = given(found, WORK, notice=MINUTE).with_tree(again)
    assert noticed(plan(measure(world, after(420)))) == [("a3", UNTIL), ("a2", UNTIL)]


def test_a_window_that_has_just_closed_tells_before_it_opens_again() -> None:
    """Its end is still looked at while the grace period after it lasts, its next beginning beside that."""
    found, moment = tree("root 8\n  a 2..4\n  b 4"), after(330)
    quotas = (Entry("default", max={GPU: 2}),)
    window = Window("0,10 0 * * *", 5 * MINUTE, quotas=quotas, notice_before=6 * MINUTE)
    dated = DatedTree.at(found.with_group(replace(found["a"], windows=(window,))), moment)
    world = given(found, WORK, grace_period=2 * MINUTE).with_tree(dated)
    assert noticed(plan(measure(world, moment))) == [("a3", after(720)), ("a2", after(720))]


def _changes_nothing(*moments: int) -> tuple[Override, ...]:
    """Return overrides of ten seconds each that begin then, with notice as early as that of LENT."""
    same = (Entry("default", min={GPU: 4}),)
    return tuple(Override(after(at), after(at + 10), quotas=same, notice_before=3 * MINUTE) for at in moments)


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        pytest.param((310, 330, 350, 430), ["a3", "a2"], id="six have passed, the third to come"),
        pytest.param((310, 430), ["a3", "a2"], id="the third to come"),
        pytest.param((420, 440), ["a3", "a2"], id="one begins now, the fourth to come"),
        pytest.param((430, 450), [], id="the fifth to come"),
    ],
)
def test_the_four_nearest_borders_that_are_to_come_have_notice(others: tuple[int, ...], expected: list[str]) -> None:
    found, now = tree(GROUPS), after(420)
    groups = replace(found["a"], overrides=(LENT,)), replace(found["b"], overrides=_changes_nothing(*others))
    written = found.with_group(groups[0]).with_group(groups[1])
    world = given(found, WORK, grace_period=2 * MINUTE).with_tree(DatedTree.at(written, now))
    assert [name for name, _ in noticed(plan(measure(world, now)))] == expected


def test_after_a_border_the_tree_in_force_says_who_goes() -> None:
    """At 600 a may use 2, from 610 on again 4; the grace period after 600 lasts."""
    later_on = Override(after(610), after(900), quotas=LENT.quotas)
    found, now = tree(GROUPS), after(620)
    written = found.with_group(replace(found["a"], overrides=(LENT, later_on)))
    work = with_notice(*WORK, when=after(420))
    world = given(found, work, grace_period=2 * MINUTE).with_tree(DatedTree.at(written, now))
    decided = plan(measure(world, now))
    assert ([name(each) for each in decided.notices_withdrawn], decided.evictions) == (["a2", "a3"], ())


def test_cycles_that_remember_decide_as_those_that_do_not() -> None:
    cache, snapshot, world = CycleCache(), None, at(after(420), *WORK, notice=MINUTE)
    for moment, gone in ((420, None), (421, WORK[0]), (430, WORK[3])):
        world = world if gone is None else world.with_changes([(gone, None)])
        snapshot = measure(world, after(moment), snapshot)
        assert noticed(plan(snapshot, cache)) == noticed(plan(measure(world, after(moment))))
    assert list(cache.ahead) == [UNTIL]
