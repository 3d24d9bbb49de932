"""What a QuotaGroup's status says of the group's account: written at most once a minute, never an earlier one. Pure.

See docs/specification.md §9.7.
"""

from datetime import datetime

from msgspec.structs import replace

from shared.api.json.reading import aware
from shared.api.quotagroup import QuotaGroupStatus
from shared.quota.measure.accounts.account_book import INTERVAL, AccountBook
from shared.quota.measure.accounts.budgets.written import write_budgets
from shared.quota.measure.accounts.periods import moment_at
from shared.quota.measure.accounts.written_accounts import write_account, write_beside, write_run_times
from shared.quota.model.tree import Group


def accounted_until(group: str, book: AccountBook | None, shown: QuotaGroupStatus) -> datetime | None:
    """Return until when the account in the status should reach.

    A group's first status has no account: an account is written on the condition that the status still has the previous
    one or none, and of a group without a status there is none to compare with.
    """
    if not shown.observed_generation:
        return None
    before = None if shown.accounted_until is None else aware(shown.accounted_until)
    account = None if book is None else book.accounts.get(group)
    until = None if account is None or account.until is None else moment_at(account.until)
    if until is None or book is None or (before is not None and until <= before):
        return before
    return before if before is not None and book.counted_until - before < INTERVAL else until


def with_account(
    status: QuotaGroupStatus, group: str, shown: QuotaGroupStatus, until: datetime | None, book: AccountBook | None
) -> QuotaGroupStatus:
    """Return `status` with the account of the group until then: that of `shown`, or a later one."""
    if until == shown.accounted_until or book is None:
        kept = {"accounts": shown.accounts, "accounted_until": shown.accounted_until, "run_times": shown.run_times}
        return replace(status, **kept)
    periods, until = write_account(book.accounts[group])
    run_times = write_run_times(book.accounts[group].run_times)
    return replace(status, accounts=periods, accounted_until=until, run_times=run_times)


def with_beside_children(
    status: QuotaGroupStatus, group: str, shown: QuotaGroupStatus, book: AccountBook | None
) -> QuotaGroupStatus:
    """Return `status` with what the account of a parent has beside its children's.

    It changes with edits of the tree alone, so it holds beside whatever account the status and the children's have.
    """
    if book is None or not book.has_started:
        return replace(status, beside_children=shown.beside_children)
    beside = book.beside(group)
    return status if beside is None else replace(status, beside_children=write_beside(beside))


def with_budgets(
    status: QuotaGroupStatus, group: Group, shown: QuotaGroupStatus, book: AccountBook | None, now: datetime
) -> QuotaGroupStatus:
    """Return `status`, which has its account already, with the budgets of the group as they are now.

    Until a new leader has looked at them they stay as they are: nothing else keeps what was used.
    """
    if book is None or group.name not in book.budgets.meters:
        return replace(status, budgets=shown.budgets if group.budgets else [])
    is_later = status.accounted_until != shown.accounted_until
    return replace(status, budgets=write_budgets(group, book.budgets, now, None if is_later else shown))
