"""When waiting workloads will start. docs/specification.md §9.8."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from shared.api.owner_settings import OwnRunTime
from shared.json_data import Json
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import measure
from shared.quota.model.in_force import DatedTree
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Entry, Override, StopPolicy
from shared.quota.model.workload import Workload
from shared.quota.outlook.forecast.forecast import Forecast, Foreseen, NotForeseen, Unforeseen, forecast_as_data
from shared.quota.outlook.forecast.run_times import RUNS, Basis
from shared.quota.outlook.outlook import Outlook
from shared.text.forecast import interval, start_line
from tests.builders import NOW, after, pending, running, world
from tests.trees import capacity_in, tree

HOUR = 3600
GROUPS = "root 8\n  a 8"


def lasting(workload: Workload, seconds: float) -> Workload:
    return replace(workload, run_time=OwnRunTime(timedelta(seconds=seconds)))


def forecasts(given: World, now: datetime = NOW) -> dict[str, Json]:
    """name → its forecast, of all that wait after the next plan."""
    outlook = Outlook.of(given, now)
    rows = [row.workload for row in outlook.rows]
    return {each.key.partition("/")[2]: data for each, data in _named(outlook, rows)}


def _named(outlook: Outlook, rows: list[Workload]) -> Iterable[tuple[Workload, Json]]:
    found = forecast_as_data(outlook, rows)
    return [(each, found[each.id]) for each in rows if each.id in found]


def moments(found: Json) -> tuple[float, float]:
    """Seconds after NOW."""
    first, last = (datetime.fromisoformat(found[end]) for end in ("from", "until"))
    return (first - NOW).total_seconds(), (last - NOW).total_seconds()


def test_what_waits_for_one_end_starts_between_its_earliest_and_its_latest() -> None:
    work = [lasting(running("a", 8, "now"), HOUR), lasting(pending("a", 8, "next"), HOUR)]
    found = forecasts(world(GROUPS, work))["next"]
    # What runs takes 25 to 200 % of an hour; changes within a twentieth of the time from now on count together.
    assert moments(found) == (900, 7200 * 1.05 + 1)
    rest = {name: value for name, value in found.items() if name not in ("from", "until")}
    assert rest == {"percent": 80, "assumes": ["DeclaredRunTimes"], "before": 0, "endless": 0}


def test_the_same_question_has_the_same_answer() -> None:
    work = [lasting(running("a", 8, "now"), HOUR), *(lasting(pending("a", 3, f"w{each}"), HOUR) for each in range(9))]
    assert forecasts(world(GROUPS, work)) == forecasts(world(GROUPS, reversed(work)))


def test_workload_behind_others_starts_later() -> None:
    waiting = [lasting(pending("a", 8, f"w{each}", queued=after(each)), HOUR) for each in range(3)]
    found = forecasts(world(GROUPS, [lasting(running("a", 8, "now"), HOUR), *waiting]), after(10))
    assert [found[f"w{each}"]["before"] for each in range(3)] == [0, 1, 2]
    lasts = [moments(found[f"w{each}"])[1] for each in range(3)]
    assert lasts == sorted(lasts)
    assert lasts[2] > 2 * lasts[0]


def test_what_waits_for_a_workload_of_unknown_run_time_has_no_forecast() -> None:
    work = [running("a", 8, "now"), lasting(pending("a", 8, "next"), HOUR)]
    found = forecasts(world(GROUPS, work))["next"]
    assert found == {"unknown": "RunTimesUnknown", "endless": 1, "runs": "0/9"}
    assert "quotree.dev/expected-run-time" in start_line(found)


def test_what_needs_no_end_of_unknown_run_time_says_that_those_run_on() -> None:
    work = [running("a", 4, "endless"), lasting(running("a", 4, "now"), HOUR), lasting(pending("a", 4, "next"), HOUR)]
    found = forecasts(world(GROUPS, work))["next"]
    assert found["endless"] == 1
    assert "that 1 workload of unknown run time does not end" in start_line(found)


def test_what_starts_after_one_of_unknown_run_time_says_that_it_runs_on() -> None:
    waiting = [pending("a", 4, "endless"), lasting(pending("a", 4, "next", queued=after(1)), HOUR)]
    found = forecasts(world(GROUPS, [lasting(running("a", 8, "now"), HOUR), *waiting]), after(10))
    assert {name: each["endless"] for name, each in found.items()} == {"endless": 0, "next": 1}


def test_what_never_fits_has_no_forecast() -> None:
    """That others run for an unknown time is not what it waits for."""
    assert forecasts(world(GROUPS, [running("a", 8, "now"), pending("a", 9, "large")])) == {}


def test_workload_on_hold_has_no_forecast() -> None:
    work = [lasting(running("a", 8, "now"), HOUR), pending("a", 8, "held", hold=True)]
    assert forecasts(world(GROUPS, work)) == {}


def test_what_waits_for_the_end_of_an_override_starts_then() -> None:
    found = tree(GROUPS)
    closed = replace(found["a"], overrides=(Override(NOW, after(1000), stop_policy=StopPolicy.HOLD),))
    written = DatedTree.at(found.with_same_parents({"a": closed}), NOW)
    given = world(GROUPS, [lasting(pending("a", 8, "next"), HOUR)]).with_tree(written)
    assert moments(forecasts(given)["next"]) == (1000, 1051)


def test_no_steps_no_forecast() -> None:
    settings = QuotaSettings(capacity=capacity_in(tree(GROUPS)), forecast_steps=0)
    work = [lasting(running("a", 8, "now"), HOUR), lasting(pending("a", 8, "next"), HOUR)]
    assert forecasts(world(GROUPS, work, settings=settings)) == {}


def test_run_that_is_cut_short_goes_on_at_the_pace_of_the_group() -> None:
    settings = QuotaSettings(capacity=capacity_in(tree(GROUPS)), forecast_steps=9)
    waiting = [lasting(pending("a", 8, f"w{each}", queued=after(each)), HOUR) for each in range(40)]
    found = forecasts(world(GROUPS, [lasting(running("a", 8, "now"), HOUR), *waiting], settings=settings), after(100))
    last = found["w39"]
    assert "PaceOfItsGroup" in last["assumes"]
    first, until = moments(last)
    # 40 runs before it of an hour each, of which 25 to 200 % are drawn, about 99 % in the mean.
    assert 25 * HOUR < first < until < 55 * HOUR


def test_run_that_is_cut_short_counts_on_no_end_that_is_unknown() -> None:
    settings = QuotaSettings(capacity=capacity_in(tree(GROUPS)), forecast_steps=9)
    waiting = [lasting(pending("a", 4, f"w{each}", queued=after(each)), HOUR) for each in range(20)]
    work = [running("a", 4, "unknown"), lasting(running("a", 4, "now"), HOUR), *waiting]
    last = forecasts(world(GROUPS, work, settings=settings), after(100))["w19"]
    assert ("PaceOfItsGroup" in last["assumes"], last["endless"]) == (True, 1)
    assert moments(last)[0] > 12 * HOUR


def test_one_step_is_enough_for_what_starts_at_once() -> None:
    given = measure(world(GROUPS, [lasting(pending("a", 8, "next"), HOUR)]), NOW)
    found = Forecast(given, most_steps=RUNS).of(given.leaves["a"].pending[0])
    assert isinstance(found, Foreseen)
    assert Basis.PACE not in found.bases


@pytest.mark.parametrize(
    ("groups", "waiting"), [pytest.param(20, 1, id="20 groups"), pytest.param(2, 80, id="80 that wait")]
)
def test_cycle_counts_as_two_steps_with_many_groups_or_much_that_waits(groups: int, waiting: int) -> None:
    drawn = "\n".join([GROUPS, *(f"  g{each} 0" for each in range(groups - 2))])
    given = measure(world(drawn, [lasting(pending("a", 8, f"w{each:02}"), HOUR) for each in range(waiting)]), NOW)
    first = given.leaves["a"].pending[0]
    few, enough = (Forecast(given, wanted={first.id}, most_steps=RUNS * each).of(first) for each in (1, 2))
    assert isinstance(few, NotForeseen)
    assert few.because is Unforeseen.TOO_FAR
    assert isinstance(enough, Foreseen)


def test_work_of_any_size_and_length_has_a_forecast_or_none() -> None:
    settings = QuotaSettings(capacity=(("default", "memory", 2**50),), forecast_steps=9)
    groups = tree(GROUPS)
    entry = Entry("default", min={"memory": 2**50})
    groups = groups.with_same_parents({"a": replace(groups["a"], quotas=(entry,))})
    large = [pending("a", {"memory": 2**49}, f"w{each}", queued=after(each)) for each in range(9)]
    found = forecasts(world(groups, [lasting(each, 1e9) for each in large], settings=settings), after(10))
    assert {each["unknown"] for each in found.values()} == {"TooFar"}


@pytest.mark.parametrize(
    ("first", "last", "text"),
    [
        ("2026-01-31T14:10:00+00:00", "2026-01-31T15:40:59+00:00", "between 2026-01-31 14:10 and 15:40 UTC"),
        ("2026-01-31T23:10:00+00:00", "2026-02-01T01:40:00+00:00", "between 2026-01-31 23:10 and 2026-02-01 01:40 UTC"),
        ("2026-01-31T14:10:00+00:00", "2026-01-31T14:10:30+00:00", "at 2026-01-31 14:10 UTC"),
    ],
)
def test_interval_names_the_day_once(first: str, last: str, text: str) -> None:
    assert interval({"from": first, "until": last}) == text


def test_sentence_has_interval_grounds_and_place() -> None:
    found = {
        "from": "2026-01-31T14:10:00+00:00", "until": "2026-01-31T15:40:00+00:00", "percent": 80,
        "assumes": ["DeclaredRunTimes"], "before": 3, "endless": 0,
    }  # fmt: skip
    assert start_line(found) == (
        "starts between 2026-01-31 14:10 and 15:40 UTC (80 %); assumes declared run times; "
        "3 workloads of its group before it"
    )
