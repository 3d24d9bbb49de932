"""Workloads are stopped for good at the end of their run time. docs/specification.md §7.14."""

from dataclasses import replace
from datetime import timedelta

import pytest

from shared.quota.decide.decisions import Plan
from shared.quota.decide.plan import plan
from shared.quota.measure.snapshot import measure
from shared.quota.model.settings import GroupMaxima, RunTimeMaxima
from shared.quota.model.workload import Workload
from shared.quota.outlook.explain.pending_reasons import PendingReasons
from shared.quota.outlook.simulate.run import run
from shared.quota.outlook.simulate.step import advance, carry_out
from tests.builders import NOW, after, pending, running, unanswered
from tests.shared.quota.decide.plan_words import decide, evictions, given, name, started_and_evicted, waits

MINUTE = timedelta(seconds=60)
LIMITED = "root 8\n  p/ 8 run90\n    a 4 run60\n    b 4"


def noticed(decided: Plan) -> list[tuple[str, object, str]]:
    return [(name(each.workload), each.evict_at, each.reason.value) for each in decided.notices]


def declaring(workload: Workload, seconds: int) -> Workload:
    return replace(workload, max_run_time=timedelta(seconds=seconds))


@pytest.mark.parametrize(
    ("seconds", "expected", "next_end"),
    [
        pytest.param(59, [], after(60), id="before"),
        pytest.param(60, ["a1 RunTime"], after(90), id="of the leaf"),
        pytest.param(90, ["a1 RunTime", "b1 RunTime"], None, id="of the group above"),
    ],
)
def test_shortest_limit_on_the_path_holds(seconds: int, expected: list[str], next_end: object) -> None:
    found = decide(LIMITED, [running("a", 1, "a1"), running("b", 1, "b1")], now=after(seconds))
    assert (evictions(found), found.next_end, found.wake_at) == (expected, next_end, None)


@pytest.mark.parametrize(
    ("declared", "expected"), [pytest.param(10, ["a1 RunTime"], id="less"), pytest.param(100, [], id="more")]
)
def test_workload_declares_less_than_its_group_lets_it(declared: int, expected: list[str]) -> None:
    assert evictions(decide(LIMITED, [declaring(running("a", 1, "a1"), declared)], now=after(50))) == expected


def test_workload_declares_a_run_time_where_no_group_has_one() -> None:
    found = decide("root 8\n  a 4", [declaring(running("a", 1, "a1"), 10), running("a", 1, "a2")], now=after(10))
    assert (evictions(found), found.evictions[0].message) == (
        ["a1 RunTime"],
        "Job 'ns/a1' is stopped for good: it declares a run time of 10s; it is queued again when its owner resumes it",
    )


def test_workload_that_is_not_preemptible_is_stopped_too() -> None:
    assert evictions(decide(LIMITED, [running("a", 1, "firm", preemptible=False)], now=after(60))) == ["firm RunTime"]


def test_run_time_counts_from_the_latest_start() -> None:
    assert evictions(decide(LIMITED, [running("a", 1, "a1", since=after(30))], now=after(89))) == []


def test_nothing_of_system_is_stopped_by_a_limit_of_root() -> None:
    groups = "root run60\n  system\n  a 4"
    work = [running("system", 1, "s1", flavors={}), running("a", 1, "a1")]
    assert evictions(decide(groups, work, now=after(60))) == ["a1 RunTime"]


def test_stored_limit_above_the_maximum_counts_as_the_maximum() -> None:
    maxima = GroupMaxima(run_time=RunTimeMaxima(timedelta(seconds=30)))
    assert evictions(decide(LIMITED, [running("a", 1, "a1")], now=after(30), maxima=maxima)) == ["a1 RunTime"]


def test_stopped_workload_waits_until_it_is_resumed() -> None:
    before = given(LIMITED.replace("root 8", "root 4"), [running("a", 4, "a1"), pending("a", 4, "a2")])
    decided = plan(measure(before, after(60)))
    after_it = advance(before, decided)
    later = plan(measure(after_it, after(61)))
    assert (started_and_evicted(decided), started_and_evicted(later), waits(later)) == (
        ([], ["a1 RunTime"]),
        (["a2 entitled"], []),
        {"a1": "Deactivated"},
    )
    assert [each.message for each in PendingReasons(later)] == [
        "Job 'ns/a1' waits: its run time was over at 2026-01-01T00:01:00+00:00; it stays stopped until it is resumed"
    ]


def test_workload_is_not_stopped_before_its_start_is_confirmed() -> None:
    assert evictions(decide(LIMITED, [unanswered(running("a", 1, "a1"))], now=after(60))) == []


def test_stop_policy_comes_before_the_run_time() -> None:
    found = decide("root 8\n  a 4 drain run60", [running("a", 1, "a1")], now=after(60))
    assert evictions(found) == ["a1 StopPolicy"]


def test_workload_that_is_over_its_time_and_never_became_ready_is_stopped_once() -> None:
    late = running("a", 1, "a1", ready=False)
    found = decide(LIMITED, [late], now=after(90), wait_for_pods_ready=True, timeout=MINUTE)
    assert evictions(found) == ["a1 RunTime"]


def test_notice_is_given_before_the_end() -> None:
    early = decide(LIMITED, [running("a", 1, "a1")], now=after(39), notice=timedelta(seconds=20))
    due = decide(LIMITED, [running("a", 1, "a1")], now=after(40), notice=timedelta(seconds=20))
    assert (noticed(early), early.next_end) == ([], after(40))
    assert (noticed(due), evictions(due), due.wake_at) == ([("a1", after(60), "OverTime")], [], after(60))


def test_workload_with_notice_is_stopped_at_its_end_and_keeps_its_notice_until_then() -> None:
    given_notice = replace(running("a", 1, "a1"), notice=after(40))
    waiting = decide(LIMITED, [given_notice], now=after(59), notice=timedelta(seconds=20))
    ended = decide(LIMITED, [given_notice], now=after(60), notice=timedelta(seconds=20))
    assert (noticed(waiting), waiting.notices_withdrawn, evictions(waiting)) == ([], (), [])
    assert evictions(ended) == ["a1 RunTime"]


def test_limit_lowered_below_what_has_run_gives_notice_first() -> None:
    work = running("a", 1, "a1", since=after(-600))
    given_notice = decide(LIMITED, [work], notice=MINUTE)
    assert (noticed(given_notice), evictions(given_notice), given_notice.wake_at) == (
        [("a1", after(60), "OverTime")],
        [],
        after(60),
    )
    ended = decide(LIMITED, [replace(work, notice=NOW)], now=after(60), notice=MINUTE)
    assert evictions(ended) == ["a1 RunTime"]


def test_notice_longer_than_the_run_time_is_given_at_the_start() -> None:
    found = decide(LIMITED, [running("a", 1, "a1")], notice=timedelta(hours=1))
    assert noticed(found) == [("a1", after(60), "OverTime")]


def test_notice_is_withdrawn_when_the_limit_is_raised() -> None:
    given_notice = replace(running("a", 1, "a1"), notice=after(40))
    raised = LIMITED.replace("run60", "run600").replace("run90", "run600")
    found = decide(raised, [given_notice], now=after(50), notice=timedelta(seconds=20))
    assert [name(each) for each in found.notices_withdrawn] == ["a1"]


def test_message_of_a_pod_promises_no_second_start() -> None:
    [evict] = decide(LIMITED, [running("a", 1, "p", kind="Pod")], now=after(60)).evictions
    assert evict.message == "Pod 'ns/p' is stopped for good: group 'a' lets it run for 1m"


def test_simulation_stops_what_is_over_its_time_and_lets_the_rest_run() -> None:
    old, new = running("a", 2, "old", since=after(-60)), running("a", 2, "new", since=after(-30))
    found = run(given(LIMITED, [old, new]), NOW)
    assert ([evictions(each) for each in found.plans], found.settled) == ([["old RunTime"]], True)


def test_process_that_goes_on_decides_as_one_that_has_just_started() -> None:
    world = given(LIMITED, [running("a", 1, "a1"), declaring(running("b", 1, "b1"), 30)])
    snapshot = measure(world, NOW)
    for seconds, expected in ((29, []), (30, ["b1 RunTime"]), (60, ["a1 RunTime"])):
        snapshot = measure(world, after(seconds), snapshot)
        decided = plan(snapshot)
        assert evictions(decided) == expected
        world = carry_out(world, decided)
