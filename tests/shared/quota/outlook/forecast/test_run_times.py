"""How long workloads will run, as far as it is known. docs/specification.md §9.8."""

from dataclasses import replace
from datetime import timedelta

import pytest

from shared.api.owner_settings import OwnRunTime
from shared.quota.measure.accounts.run_times import EndedRun, LeafRunTimes, RunTimes, prefix_of, series_of
from shared.quota.measure.snapshot import measure
from shared.quota.model.tree import Tree
from shared.quota.model.workload import Workload
from shared.quota.outlook.forecast.run_times import RUNS, Basis, Expectation, draw, expected
from tests.builders import NOW, pending, world
from tests.trees import tree

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


def job(own: OwnRunTime = OwnRunTime(), **fields: timedelta) -> Workload:  # noqa: B008 - a frozen tuple
    return replace(pending("a", 1), run_time=own, **fields)  # type: ignore[arg-type]


def limited(group_limit: timedelta | None) -> Tree:
    found = tree("root 8\n  a 8")
    return found.with_same_parents({"a": replace(found["a"], max_run_time=group_limit)})


@pytest.mark.parametrize(
    ("workload", "group_limit", "basis", "shortest", "longest"),
    [
        pytest.param(job(OwnRunTime(HOUR)), None, Basis.DECLARED, 15 * MINUTE, 2 * HOUR, id="declared"),
        pytest.param(job(OwnRunTime(HOUR)), HOUR, Basis.DECLARED, 15 * MINUTE, HOUR, id="within its group's limit"),
        pytest.param(job(OwnRunTime(HOUR, HOUR)), None, Basis.DECLARED, 15 * MINUTE, HOUR, id="within its deadline"),
        pytest.param(
            job(OwnRunTime(HOUR), max_run_time=HOUR), None, Basis.DECLARED, 15 * MINUTE, HOUR, id="within its own limit"
        ),
        pytest.param(job(OwnRunTime(None, HOUR)), None, Basis.LIMITS, 3 * MINUTE, HOUR, id="a deadline alone"),
        pytest.param(job(), HOUR, Basis.LIMITS, 3 * MINUTE, HOUR, id="a group's limit alone"),
    ],
)
def test_run_time_is_what_is_declared_within_all_limits(
    workload: Workload, group_limit: timedelta | None, basis: Basis, shortest: timedelta, longest: timedelta
) -> None:
    leaf = measure(world(limited(group_limit), [workload]), NOW).leaves["a"]
    found = expected(workload, leaf, {})
    assert found is not None
    assert (found.basis, found.likely[0], found.likely[-1], len(found.likely)) == (basis, shortest, longest, 9)


def seen(*runs: tuple[str, int], percents: tuple[int, ...] = ()) -> RunTimes:
    """Runs of workloads of these names in leaf a, in seconds."""
    found = LeafRunTimes({}, percents)
    for name, seconds in runs:
        found = found.after(EndedRun(series_of(f"ns/{name}"), 0, seconds * 1000))
    return {"a": found}


@pytest.mark.parametrize(
    ("workload", "known", "basis", "seconds"),
    [
        pytest.param(
            job(), seen(("job-1", 3), ("job-2", 1), ("job-3", 2), ("x", 9)), Basis.PAST, [1, 2, 3], id="its series"
        ),
        pytest.param(job(), seen(("job", 3), ("x", 9), ("y", 1)), Basis.PAST, [1, 3, 9], id="its leaf"),
        pytest.param(
            job(OwnRunTime(None, 2 * MINUTE)), seen(("job", 300)), Basis.LIMITS, [6, 120], id="too few runs, a limit"
        ),
        pytest.param(
            job(OwnRunTime(MINUTE)), seen(("job", 300), percents=(10, 50, 200)), Basis.DECLARED, [6, 30, 120],
            id="as right as the leaf's expectations are",
        ),
        pytest.param(
            job(OwnRunTime(None, 2 * MINUTE)), seen(("job", 300), ("job", 60), ("job", 30)), Basis.PAST, [30, 60, 120],
            id="past runs within the limit",
        ),
    ],
)  # fmt: skip
def test_run_time_is_what_was_seen(workload: Workload, known: RunTimes, basis: Basis, seconds: list[int]) -> None:
    found = expected(workload, None, known)
    assert found is not None
    likely = [each / timedelta(seconds=1) for each in found.likely]
    assert (found.basis, [likely[0], likely[-1]] if basis is Basis.LIMITS else likely) == (basis, seconds)


def test_too_few_runs_say_nothing() -> None:
    assert expected(job(), None, seen(("job", 1), ("job", 2))) is None


def test_run_time_without_any_word_is_unknown() -> None:
    assert expected(job(), None, {}) is None


EVEN = Expectation(Basis.DECLARED, tuple(MINUTE * each for each in range(1, 10)), None)


def test_each_likely_run_time_is_drawn_once_in_all_runs() -> None:
    for name in ("a", "b", "c", "d"):
        drawn = sorted(draw(replace(job(), key=f"ns/{name}"), EVEN, timedelta(), run) for run in range(RUNS))
        assert tuple(drawn) == EVEN.likely


def test_what_has_run_for_long_takes_longer_than_that() -> None:
    drawn = [draw(job(), EVEN, 7 * MINUTE, run) for run in range(RUNS)]
    assert set(drawn) == {8 * MINUTE, 9 * MINUTE}


def test_what_has_outrun_all_that_was_likely_goes_on_within_its_limit() -> None:
    free = [draw(job(), EVEN, HOUR, run) for run in range(RUNS)]
    bound = [draw(job(), EVEN._replace(limit=2 * HOUR), HOUR, run) for run in range(RUNS)]
    assert (min(free), max(free)) == (66 * MINUTE, 6 * HOUR)
    assert (min(bound), max(bound)) == (66 * MINUTE, 2 * HOUR)


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("train", "train"),
        ("train-7", "train"),
        ("etl-20261126-x7k2p", "etl"),
        ("resnet50-train-7", "resnet50-train"),
        ("job123", "job"),
        ("7", ""),
        ("7-train", ""),
        ("a" * 80, "a" * 63),
    ],
)
def test_prefix_is_the_name_without_its_last_parts_with_digits(name: str, prefix: str) -> None:
    assert prefix_of(name) == prefix
