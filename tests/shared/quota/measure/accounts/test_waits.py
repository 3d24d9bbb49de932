"""How right forecasts were, kept with the account of a leaf. docs/specification.md §9.8."""

from datetime import UTC, timedelta

from shared.api.crds.quotagroup import MAX_WAITS as STORED_WAITS
from shared.api.quotagroup import QuotaGroupStatus
from shared.quota.measure.accounts.amounts import GroupAccount
from shared.quota.measure.accounts.periods import milliseconds
from shared.quota.measure.accounts.run_times import MAX_WAITS, NO_RUN_TIMES, EndedRun, LeafRunTimes
from shared.quota.measure.accounts.waits import MAX_FORESEEN, EndedWait, ForeseenWait, ForeseenWaits
from shared.quota.measure.accounts.written_accounts import read_run_times, run_times_of, write_run_times
from shared.quota.model.workload import Workload
from tests.account_books import PromptBook
from tests.builders import NOW, after, pending, running, world

TREE = "root 16\n  p 8\n    a 8"


def foreseen(earliest: float, latest: float) -> ForeseenWait:
    return ForeseenWait(*(milliseconds(after(each)) for each in (0, earliest, latest)))


def started(workload: Workload, at: float) -> Workload:
    return running(workload.group, 1, workload.key.partition("/")[2], since=after(at))


def book_of(*workloads: Workload) -> PromptBook:
    book = PromptBook(UTC)
    book.start({}, ())
    book.after(world(TREE, workloads), NOW)
    return book


def add_up(book: PromptBook, at: float, *workloads: Workload) -> LeafRunTimes:
    """All is added up some time after the workloads are as they are from that moment on."""
    found = world(TREE, workloads)
    book.after(found, after(at))
    book.after(found, after(at) + timedelta(seconds=66))
    return book.accounts.get("a", GroupAccount()).run_times


def test_wait_is_kept_as_parts_of_the_earliest_and_the_latest() -> None:
    job = pending("a", 1, "next")
    book = book_of(job)
    book.uses.foresee({"a": {job.id: foreseen(60, 540)}})
    found = add_up(book, 240, started(job, 240))
    # It waited 240 of 60 to 540 s; a minute is added to each: 300 of 120 to 600.
    assert (found.waits_of_earliest, found.waits_of_latest) == ((2500,), (500,))


def test_first_forecast_of_a_workload_counts_and_once() -> None:
    job = pending("a", 1, "next")
    book = book_of(job)
    for each in (foreseen(60, 540), foreseen(1, 2)):
        book.uses.foresee({"a": {job.id: each}})
    add_up(book, 240, started(job, 240))
    add_up(book, 400, job)
    assert add_up(book, 600, started(job, 600)).waits_of_latest == (500,)


def test_workload_that_is_gone_or_made_again_has_no_forecast() -> None:
    job = pending("a", 1, "next")
    book = book_of(job)
    book.uses.foresee({"a": {job.id: foreseen(60, 540)}})
    add_up(book, 10)
    book.uses.foresee({})
    again = pending("a", 1, "next", created=after(100))
    add_up(book, 100, again)
    book.uses.foresee({"a": {job.id: foreseen(60, 540)}})
    assert add_up(book, 240, started(job, 240)) == NO_RUN_TIMES


def test_few_forecasts_of_a_leaf_wait_at_a_time() -> None:
    jobs = [pending("a", 1, f"w{each}") for each in range(2 * MAX_FORESEEN)]
    known = ForeseenWaits()
    known.keep({each.id: foreseen(60, 540) for each in jobs}, world(TREE, jobs).workloads_of("a"))
    ended = [known.ended(each.id, milliseconds(after(240))) for each in jobs]
    wait = EndedWait(milliseconds(after(240)), 2500, 500)
    assert ended == [wait] * MAX_FORESEEN + [None] * MAX_FORESEEN


def test_latest_waits_are_kept_and_written() -> None:
    assert MAX_WAITS == STORED_WAITS
    found = NO_RUN_TIMES
    for number in range(MAX_WAITS + 1):
        found = found.after_wait(EndedWait(number, 1000 + number, number))
    assert found.waits_of_earliest == tuple(range(1001, 1001 + MAX_WAITS))
    assert found.waits_of_latest == tuple(range(1, 1 + MAX_WAITS))
    assert found.after(EndedRun("x", 0, 1000)).waits_of_latest == found.waits_of_latest
    status = QuotaGroupStatus(run_times=write_run_times(found))
    assert read_run_times(status) == found
    assert run_times_of([("a", status), ("b", QuotaGroupStatus())]) == {"a": found}
