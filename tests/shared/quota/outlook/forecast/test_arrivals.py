"""What comes while the engine is run ahead. docs/specification.md §9.8."""

from dataclasses import replace
from datetime import timedelta
from itertools import islice, pairwise, takewhile

from shared.api.owner_settings import OwnRunTime
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.measure.accounts.run_times import LeafRunTimes, PastArrival, RunTimes
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.model.workload import Workload
from shared.quota.outlook.forecast.arrivals import arrivals, is_drawn
from shared.quota.outlook.forecast.forecast import Forecast, Foreseen
from shared.quota.outlook.forecast.run_ahead import Beginning, RunSteps, moments_ahead
from shared.quota.outlook.forecast.run_times import Basis, Expectation
from tests.builders import NOW, after, pending, running, world
from tests.trees import GPU

GROUPS = "root 8\n  a 8\n  b 0"
HOUR = timedelta(hours=1)
EPOCH = int(NOW.timestamp())
EVERY_TEN_MINUTES = tuple(PastArrival(EPOCH - 600 * back, 300, {GPU: 2}, 7) for back in reversed(range(6)))
SEEN: RunTimes = {"a": LeafRunTimes({}, (), EVERY_TEN_MINUTES, EPOCH - 3600)}


def lasting(workload: Workload) -> Workload:
    return replace(workload, run_time=OwnRunTime(HOUR))


def snapshot(*work: Workload) -> Snapshot:
    return measure(world(GROUPS, work), NOW)


def test_what_came_in_the_past_hour_comes_in_each_hour_ahead() -> None:
    drawn = [*takewhile(lambda each: each.at < after(7200), arrivals(snapshot(), SEEN, {}, 3))]
    assert len(drawn) == 12
    assert {(each.workload.group, each.workload.priority, each.run_time) for each in drawn} == {
        ("a", 7, timedelta(seconds=300))
    }
    assert all(each.workload.request == {GPU: 2} and is_drawn(each.workload) for each in drawn)
    gaps = {later.at - sooner.at for sooner, later in pairwise(drawn[:6])}
    assert gaps == {timedelta(seconds=600)}
    assert len({each.workload.id for each in drawn}) == 12


def test_other_runs_draw_others_and_the_same_run_the_same() -> None:
    first, again, other = ([*islice(arrivals(snapshot(), SEEN, {}, run), 5)] for run in (1, 1, 2))
    assert first == again
    assert [each.at for each in first] != [each.at for each in other]


def test_what_is_there_counts_as_what_came_and_brings_its_priority() -> None:
    waits = replace(pending("b", 1, "w", priority=3), created=after(-60))
    known = {waits.id: Expectation(Basis.DECLARED, (HOUR,), None)}
    found = islice(arrivals(snapshot(waits), {"b": LeafRunTimes({}, (), (), EPOCH - 100)}, known, 0), 3)
    assert [(each.workload.group, each.workload.priority, each.run_time) for each in found] == [("b", 3, HOUR)] * 3


def test_nothing_comes_where_nothing_is_known_of_arrivals() -> None:
    given = snapshot(lasting(pending("a", 8, "next")))
    assert [*arrivals(given, {}, {}, 0)] == []
    assert [*arrivals(given, {"a": LeafRunTimes({"x": (5, 5, 5)})}, {}, 0)] == []
    future = LeafRunTimes({}, (), EVERY_TEN_MINUTES, EPOCH + 100)
    assert [*arrivals(given, {"a": future}, {}, 0)] == []


def test_what_is_passed_by_what_comes_starts_later() -> None:
    given = snapshot(lasting(running("a", 8, "now", priority=9)), lasting(pending("a", 8, "next")))
    alone, passed = (Forecast(given, known).of(given.leaves["a"].pending[0]) for known in ({}, SEEN))
    assert isinstance(alone, Foreseen)
    assert isinstance(passed, Foreseen)
    assert alone.latest < passed.latest
    assert (Basis.ARRIVALS in alone.bases, Basis.ARRIVALS in passed.bases) == (False, True)


def test_any_number_of_arrivals_ends_a_run() -> None:
    burst = tuple(PastArrival(EPOCH - 1, 300_000, {GPU: 1}, 7) for _ in range(48))
    given = snapshot(lasting(running("a", 8, "now")), lasting(pending("a", 8, "next")))
    found = Forecast(given, {"a": LeafRunTimes({}, (), burst, EPOCH - 2)}, most_steps=900)
    assert not isinstance(found.of(given.leaves["a"].pending[0]), Foreseen)


def test_no_more_come_in_a_run_than_it_has_steps() -> None:
    burst = tuple(PastArrival(EPOCH - 1, 300, {GPU: 1}, 7) for _ in range(48))
    given = snapshot(running("a", 8, "now", priority=9))
    start = Beginning(given, CycleCache(), {}, {"a": LeafRunTimes({}, (), burst, EPOCH - 2)})
    *_, last = moments_ahead(start, {}, RunSteps(run=0, most=5), after(3600))
    assert len(last.moment.snapshot.leaves["a"].pending) == 5
