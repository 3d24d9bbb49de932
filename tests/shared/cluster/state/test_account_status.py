"""What a status says of an account: never an earlier one, at most once a minute, and the last piece in the end."""

from datetime import UTC

from shared.api.quotagroup import QuotaGroupStatus
from shared.cluster.state.account_status import accounted_until, with_account
from shared.quota.measure.accounts.written_accounts import read_account
from tests.account_books import PromptBook
from tests.builders import NOW, after, running, world

JOB = running("a", 2, "x")


def test_the_last_piece_is_written_though_nothing_runs_any_more() -> None:
    book, found = PromptBook(UTC), world("root 8\n  a 4", [JOB])
    book.start({}, ())
    book.after(found, NOW)
    book.after(found, after(65))
    status = QuotaGroupStatus(observed_generation=1)
    until = accounted_until("a", book, status)
    assert until == after(60)
    status = with_account(status, "a", status, until, book)
    assert read_account(status) == book.accounts["a"]
    ended = found.with_changes([(JOB, None)])
    book.after(ended, after(70))
    edited = world("root 8\n  a 5", [])
    book.after(edited, after(80))
    assert accounted_until("a", book, status) == after(60)  # less than a minute later
    book.after(edited, after(150))
    assert accounted_until("a", book, status) == after(80)
    assert read_account(with_account(status, "a", status, after(80), book)).periods == book.accounts["a"].periods


def test_a_later_account_is_never_replaced_and_without_a_leader_none_changes() -> None:
    book, found = PromptBook(UTC), world("root 8\n  a 4", [JOB])
    book.start({}, ())
    book.after(found, NOW)
    book.after(found, after(65))
    later = QuotaGroupStatus(accounted_until=after(500), observed_generation=1)
    assert accounted_until("a", book, later) == after(500)
    assert with_account(QuotaGroupStatus(observed_generation=1), "a", later, after(500), book) == later
    assert with_account(QuotaGroupStatus(observed_generation=1), "a", later, after(500), None) == later
    assert accounted_until("a", book, QuotaGroupStatus()) is None  # its first status has no account
    assert accounted_until("b", book, QuotaGroupStatus(observed_generation=1)) is None
