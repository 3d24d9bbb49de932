"""How long workloads of a leaf ran, kept with its account. docs/specification.md §9.8."""

from dataclasses import replace
from datetime import UTC, timedelta

import pytest

from shared.api.crds.quotagroup import MAX_ARRIVALS as STORED_ARRIVALS
from shared.api.crds.quotagroup import MAX_RUNS as STORED_RUNS
from shared.api.crds.quotagroup import MAX_SERIES as STORED_SERIES
from shared.api.owner_settings import OwnRunTime
from shared.api.quotagroup import QuotaGroupStatus
from shared.quota.measure.accounts.leaf_use import EndedUse
from shared.quota.measure.accounts.periods import milliseconds
from shared.quota.measure.accounts.run_times import (
    MAX_ARRIVALS,
    MAX_RUNS,
    MAX_SERIES,
    NO_RUN_TIMES,
    EndedRun,
    LeafRunTimes,
    PastArrival,
    percent_quantiles,
    series_of,
)
from shared.quota.measure.accounts.written_accounts import read_run_times, run_times_of, write_run_times
from shared.quota.measure.inputs.world import World
from shared.quota.model.workload import Workload
from tests.account_books import PromptBook
from tests.builders import NOW, after, evicting, pending, running, world

ARRIVALS = (
    PastArrival(1000, 60, {"cpu": 500}, 7), PastArrival(1001, 70, {"cpu": 500}), PastArrival(1002, 80, {"cpu": 500}, 7),
)  # fmt: skip
TREE = "root 16\n  p 8\n    a 8"
HOUR = timedelta(hours=1)


def new_book() -> PromptBook:
    book = PromptBook(UTC)
    book.start({}, ())
    return book


def seconds(after_now: float) -> int:
    """A moment in seconds since 1970."""
    return milliseconds(after(after_now)) // 1000


def end(book: PromptBook, found: World, workload: Workload, at: float, *, finished: bool = True) -> World:
    """The workload ends then, and all is added up."""
    if finished:
        book.uses.finish(workload.uid, after(at))
    found = found.with_changes([(workload, None)])
    book.after(found, after(at))
    book.after(found, after(at) + timedelta(seconds=66))
    return found


def test_run_of_a_finished_job_is_kept_by_its_prefix_and_by_what_was_expected() -> None:
    book, job = new_book(), replace(running("a", 1, "train-7"), run_time=OwnRunTime(HOUR))
    found = world(TREE, [job])
    book.after(found, NOW)
    end(book, found, job, 2700)
    assert book.accounts["a"].run_times == LeafRunTimes({series_of("ns/train-8"): (2700,)}, (75,), (), seconds(2700))
    assert book.accounts["p"].run_times == NO_RUN_TIMES


def test_run_that_was_evicted_deleted_or_is_left_over_is_not_kept() -> None:
    book = new_book()
    evicted, deleted = running("a", 1, "evicted"), running("a", 1, "deleted")
    left = replace(running("a", 1, "left"), kind="Pod/left")
    found = world(TREE, [evicted, deleted, left])
    book.after(found, NOW)
    victim = evicting(evicted, at=after(10))
    found = found.with_changes([(evicted, victim)])
    book.after(found, after(10))
    found = end(book, found, victim, 20)
    found = end(book, found, deleted, 100, finished=False)
    end(book, found, left, 200, finished=False)
    assert book.accounts["a"].run_times == NO_RUN_TIMES


def test_run_of_a_pod_ends_with_its_last_pod() -> None:
    book, pod = new_book(), replace(running("a", 1, "notebook"), kind="Pod")
    found = world(TREE, [pod])
    book.after(found, NOW)
    end(book, found, pod, 60, finished=False)
    assert book.accounts["a"].run_times == LeafRunTimes({series_of("ns/notebook"): (60,)}, (), (), seconds(60))


def test_new_leader_goes_on_and_counts_no_run_twice() -> None:
    first, job = new_book(), running("a", 1, "x")
    found = world(TREE, [job])
    first.after(found, NOW)
    empty = end(first, found, job, 60)
    run = EndedRun("y", milliseconds(after(300)), 10_000)
    missed = EndedUse("a", "ns", ("y", milliseconds(after(290))), {}, milliseconds(after(300)), run=run)
    known = EndedUse("a", "ns", ("x", milliseconds(NOW)), {}, milliseconds(after(60)), run=run._replace(end=0))
    second = PromptBook(UTC)
    second.start(first.accounts, [known, missed])
    second.after(empty, after(400))
    second.after(empty, after(470))
    assert second.accounts["a"].run_times == LeafRunTimes({series_of("ns/x"): (60,), "y": (10,)}, (), (), seconds(60))


def test_latest_runs_and_prefixes_are_kept() -> None:
    found = NO_RUN_TIMES
    for number in range(MAX_RUNS + 1):
        found = found.after(EndedRun("old", 0, 1000 * (number + 1), timedelta(seconds=100)))
    assert found.seconds["old"] == found.percents == tuple(range(2, MAX_RUNS + 2))
    for number in range(MAX_SERIES):
        found = found.after(EndedRun(f"p{number}", 0, 400))
    assert (len(found.seconds), "old" in found.seconds, found.seconds["p0"]) == (MAX_SERIES, False, (1,))
    assert (MAX_SERIES, MAX_RUNS, MAX_ARRIVALS) == (STORED_SERIES, STORED_RUNS, STORED_ARRIVALS)


def arrived(found: LeafRunTimes, came: int, end: int) -> LeafRunTimes:
    return found.after(EndedRun("", end * 1000, 1000, arrival=PastArrival(came, 1, {"cpu": 1})))


def test_all_that_came_since_a_moment_and_has_ended_is_kept() -> None:
    # Whatever came before the first end that is seen might have ended unseen.
    found = arrived(NO_RUN_TIMES, 100, 200)
    found = arrived(arrived(arrived(found, 150, 300), 250, 310), 220, 320)
    assert (found.arrivals_since, [each.came for each in found.arrivals]) == (200, [220, 250])
    for came in range(1001, 1001 + MAX_ARRIVALS):
        found = arrived(found, came, 9000)
    assert (found.arrivals_since, [each.came for each in found.arrivals]) == (
        250, [*range(1001, 1001 + MAX_ARRIVALS)],
    )  # fmt: skip
    assert arrived(found, 240, 9999).arrivals == found.arrivals


def test_workload_that_came_after_the_first_end_is_kept_with_its_size() -> None:
    book, first = new_book(), running("a", 1, "first")
    second = replace(pending("a", 3, "second"), created=after(100), priority=4)
    found = world(TREE, [first])
    book.after(found, NOW)
    found = end(book, found, first, 60)
    found = found.with_changes([(None, second)])
    begun = replace(running("a", 3, "second"), created=after(100), priority=4)
    begun = replace(begun, admission=replace(begun.admission, since=after(150)) if begun.admission else None)
    found = found.with_changes([(second, begun)])
    book.after(found, after(150))
    end(book, found, begun, 450)
    assert book.accounts["a"].run_times.arrivals == (PastArrival(seconds(100), 300, begun.request, 4),)


def test_run_times_are_read_back_from_a_status() -> None:
    found = LeafRunTimes({"1a2b3c4d": (60, 70), "": (5,)}, (75,), ARRIVALS, 900)
    status = QuotaGroupStatus(run_times=write_run_times(found))
    assert (read_run_times(status), read_run_times(QuotaGroupStatus())) == (found, NO_RUN_TIMES)
    assert run_times_of([("a", status), ("b", QuotaGroupStatus())]) == {"a": found}


@pytest.mark.parametrize(
    ("percents", "expected"),
    [((75,), (75, 75, 75)), (tuple(range(1, 11)), (1, 5, 9)), ((200, 50, 100), (50, 100, 200))],
)
def test_quantiles_are_percents_that_were_seen(percents: tuple[int, ...], expected: tuple[int, int, int]) -> None:
    assert percent_quantiles(percents) == expected


def test_series_has_a_namespace_and_a_prefix_and_shows_neither() -> None:
    found = [series_of(key) for key in ("ns/train-7", "ns/train-8", "other/train-7", "ns/etl-7")]
    assert (found[0] == found[1], len({*found}), "train" in found[0]) == (True, 3, False)
