"""A world lived through in time: arrivals, ends, evictions and edits, each decided when it comes."""

from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest

from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import measure
from shared.quota.model.settings import ReclaimMode, ReclaimSettings
from shared.quota.model.tree import ReclaimOverrides
from shared.quota.model.workload import Workload
from shared.quota.outlook.simulate.quiet import Quiet, never
from shared.quota.outlook.simulate.reactions import Reactions
from shared.quota.outlook.simulate.timeline import Arrival, Departure, Moment, TimedEdit, TimedEvent, Timeline
from tests.builders import NOW, after, pending, running
from tests.shared.quota.decide.plan_words import given, started_and_evicted
from tests.trees import tree

TWO = "root 8\n  a 4\n  b 4"
AT_ONCE = timedelta()


def arrival(seconds: int, workload: Workload, run_time: int | None = None) -> Arrival:
    return Arrival(after(seconds), workload, None if run_time is None else timedelta(seconds=run_time))


def lived(world: World, events: list[TimedEvent], until: int = 1000, **run_times: int) -> list[Moment]:
    known = {
        each.id: timedelta(seconds=run_times[each.id.key.removeprefix("ns/")])
        for held in world.workload_sets.values()
        for each in held.by_id.values()
        if each.id.key.removeprefix("ns/") in run_times
    }
    return [*Timeline(world, NOW, known).live(events, after(until), AT_ONCE)]


def happened(moments: list[Moment]) -> list[tuple[int, list[str], list[str], list[str]]]:
    """Seconds, and what ended, started and was evicted then; moments without any of these are left out."""
    found = []
    for moment in moments:
        ended = [each.key.removeprefix("ns/") for each in moment.ended]
        started = [name for plan in moment.plans for name in started_and_evicted(plan)[0]]
        evicted = [name for plan in moment.plans for name in started_and_evicted(plan)[1]]
        if ended or started or evicted:
            found.append((int((moment.now - NOW).total_seconds()), ended, started, evicted))
    return found


def test_workloads_run_for_their_time_and_make_room_for_those_that_wait() -> None:
    events = [
        arrival(0, pending("a", 6, "a0"), 10),
        arrival(1, pending("a", 4, "a1"), 5),
        arrival(2, pending("b", 1, "b0"), 1),
    ]
    assert happened(lived(given(TWO), [*events])) == [
        (0, [], ["a0 entitled"], []),
        (2, [], ["b0 entitled"], []),
        (3, ["b0"], [], []),
        (10, ["a0"], ["a1 entitled"], []),
        (15, ["a1"], [], []),
    ]


def test_each_eviction_takes_as_long_as_is_known_of_it() -> None:
    borrower = pending("a", 8, "a0")
    events = [arrival(0, borrower), arrival(4, pending("b", 4, "b0"), 3), arrival(30, pending("b", 4, "b1"), 3)]
    stopping = Reactions(timedelta(seconds=2), {borrower.id: [timedelta(seconds=5)]})
    moments = Timeline(given(TWO), NOW, stopping=stopping).live([*events], after(100), AT_ONCE)
    assert [(seconds, started) for seconds, _, started, _ in happened([*moments]) if started] == [
        (0, ["a0 entitled"]),
        (9, ["b0 entitled claim"]),
        (12, ["a0 entitled"]),
        (32, ["b1 entitled claim"]),
        (35, ["a0 entitled"]),
    ]


def test_nothing_is_evicted_before_its_start_is_noted() -> None:
    borrower = pending("a", 8, "a0")
    events = [arrival(0, borrower), arrival(1, pending("b", 4, "b0"))]
    answering = Reactions(known={borrower.id: [timedelta(seconds=3)]})
    moments = Timeline(given(TWO), NOW, answering=answering).live([*events], after(100), AT_ONCE)
    assert [(seconds, evicted) for seconds, _, _, evicted in happened([*moments]) if evicted] == [
        (3, ["a0 Reclaim for b0"])
    ]


def test_what_is_evicted_runs_its_whole_time_again() -> None:
    events = [arrival(0, pending("a", 8, "a0"), 10), arrival(4, pending("b", 4, "b0"), 3)]
    assert happened(lived(given(TWO), [*events])) == [
        (0, [], ["a0 entitled"], []),
        (4, [], ["b0 entitled claim"], ["a0 Reclaim for b0"]),
        (7, ["b0"], ["a0 entitled"], []),
        (17, ["a0"], [], []),
    ]


@pytest.mark.parametrize(
    ("stops", "run_time", "expected"),
    [(5, 6, [(6, ["a0"])]), (5, 12, [(12, ["b0"]), (24, ["a0"])]), (1, 6, [(8, ["b0"]), (14, ["a0"])])],
    ids=["its time is over before its pods have ended", "its time is not over", "its pods have ended before"],
)
def test_evicted_run_of_a_workload_known_for_that_ends_where_its_time_is_over_first(
    stops: int, run_time: int, expected: list[tuple[int, list[str]]]
) -> None:
    borrower = pending("a", 8, "a0")
    events = [Arrival(NOW, borrower, timedelta(seconds=run_time), ends_evicted=True)]
    events.append(arrival(4, pending("b", 4, "b0"), 3))
    timeline = Timeline(given(TWO), NOW, stopping=Reactions(timedelta(seconds=stops)))
    ended = [(seconds, names) for seconds, names, _, _ in happened([*timeline.live([*events], after(100), AT_ONCE)])]
    assert [each for each in ended if each[1]][: len(expected)] == expected


def test_what_runs_at_the_beginning_ends_after_its_time() -> None:
    world = given(TWO, [running("a", 8, "a0"), pending("a", 1, "a1")])
    moments = happened(lived(world, [], a0=30))
    assert moments[-1][1:3] == (["a0"], ["a1 entitled"])


def test_workload_that_leaves_while_it_waits_never_starts() -> None:
    waits = pending("a", 4, "a1")
    events: list[TimedEvent] = [
        arrival(0, pending("a", 6, "a0"), 10),
        arrival(1, waits, 5),
        Departure(after(5), waits.id),
    ]
    assert happened(lived(given(TWO), events)) == [
        (0, [], ["a0 entitled"], []),
        (5, ["a1"], [], []),
        (10, ["a0"], [], []),
    ]


def test_edit_counts_from_its_moment() -> None:
    smaller = tree("root 8\n  a 4..4\n  b 4")
    events: list[TimedEvent] = [
        TimedEdit(after(5), lambda world: replace(world, tree=smaller)),
        arrival(6, pending("a", 6, "a0"), 10),
    ]
    assert happened(lived(given(TWO), events)) == []


def test_turn_begins_when_patience_is_over_though_nothing_else_happens() -> None:
    """b0 is larger than its share: its turn evicts what is borrowed beyond what a has beside it."""
    events = [arrival(0, pending("a", 1, "a0")), arrival(1, pending("a", 3, "a1")), arrival(10, pending("b", 3, "b0"))]
    moments = happened(lived(given("root 4\n  a 0 w1\n  b 0 w1"), [*events], until=8000))
    assert moments[2:] == [(3600, [], ["b0 entitled claim"], ["a1 Reclaim for b0"])]


@pytest.mark.parametrize("leaves_out", [True, False], ids=["plans left out", "every plan made"])
@pytest.mark.parametrize("says", ["its group", "the Job"])
def test_run_ends_at_its_limit_though_nothing_else_happens(says: str, leaves_out: bool) -> None:
    start, job, limit = given(TWO), pending("a", 4, "a0"), timedelta(seconds=30)
    if says == "the Job":
        job = replace(job, max_run_time=limit)
    else:
        start = replace(start, tree=start.tree.with_group(replace(start.tree["a"], max_run_time=limit)))
    timeline = Timeline(start, NOW, spares=Quiet() if leaves_out else never)
    moments = happened([*timeline.live([arrival(0, job, 100)], after(1000), AT_ONCE)])
    assert [(seconds, evicted) for seconds, _, _, evicted in moments if evicted] == [(30, ["a0 RunTime"])]


def test_nothing_happens_after_the_last_moment() -> None:
    assert happened(lived(given(TWO), [arrival(5, pending("a", 1, "a0"), 10)], until=4)) == []


def test_what_comes_within_the_gathering_is_decided_together() -> None:
    events = [arrival(1, pending("a", 8, "late", priority=0), 5), arrival(2, pending("a", 8, "first", priority=9), 5)]
    moments = [*Timeline(given(TWO), NOW).live([*events], after(3), timedelta(seconds=2))]
    assert [each for _, _, started, _ in happened(moments) for each in started] == ["first entitled"]


@pytest.mark.parametrize("seed", range(6))
def test_plans_that_are_left_out_would_have_changed_nothing(seed: int) -> None:
    dice = Random(seed)
    spare = dice.choice((8, 12, 20))
    start = given(
        f"root {spare}\n  a 4 w0\n  p/ 4\n    b 2\n    c 2", grace_period=timedelta(seconds=dice.choice((0, 20)))
    )
    events = [
        arrival(at, pending(dice.choice("abc"), dice.randint(1, 5), f"w{at}"), dice.randint(1, 30))
        for at in sorted(dice.sample(range(300), 60))
    ]
    found = [
        happened([*Timeline(start, NOW, spares=each).live([*events], after(600), AT_ONCE)]) for each in (Quiet(), never)
    ]
    assert found[0] == found[1]
    assert any(started for _, _, started, _ in found[0])


def test_it_is_quiet_only_while_no_leaf_reclaims_in_strict_mode() -> None:
    quiet, found = Quiet(), given(TWO, [running("a", 4, "x")])
    leaf = replace(found.tree["a"], reclaim=ReclaimOverrides(ReclaimMode.STRICT))
    strict = replace(found, tree=found.tree.with_group(leaf))
    everywhere = replace(found, settings=replace(found.settings, reclaim=ReclaimSettings(mode=ReclaimMode.STRICT)))
    seen = [quiet(each, measure(each, NOW), None) for each in (found, found, strict, found, everywhere, found)]
    assert seen == [True, True, False, True, False, True]


def test_what_comes_at_the_last_moment_is_lived_and_nothing_after_it() -> None:
    late: list[TimedEvent] = [arrival(1000, pending("a", 4, "last")), arrival(1001, pending("b", 4, "late"))]
    found = lived(given(TWO), late, until=1000)[-1]
    started = [each.workload.key for plan in found.plans for each in plan.starts]
    assert (found.now, started) == (after(1000), ["ns/last"])
