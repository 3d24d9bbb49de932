"""The accounts of one month as rows: by group, namespace, flavor and resource, from the statuses of QuotaGroups.

See docs/specification.md §9.7.
"""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Final

from shared.api.quotagroup import QuotaGroupStatus
from shared.json_data import Json
from shared.problems import Problem
from shared.quota.measure.accounts.amounts import Account, GroupAccount, PeriodAccount
from shared.quota.measure.accounts.budgets.written import budgets_of
from shared.quota.measure.accounts.periods import moment_at
from shared.quota.measure.accounts.run_times import LeafRunTimes, percent_quantiles
from shared.quota.measure.accounts.written_accounts import read_accounts
from shared.quota.model.tree import Tree
from shared.resources import Amount, FlavorResource
from shared.text.quantities import hours, unit_of

_LenderKey = tuple[str, FlavorResource]
PARENT: Final = "(parent)"
"""Stands for what the parent has beside the mins of its children."""
OTHER: Final = "(others)"
PARTS: Final = ("used", "withinMin", "borrowed", "lent", "lost")


def months_of(statuses: Iterable[QuotaGroupStatus]) -> list[str]:
    """Return the months of which there are accounts, the earliest first."""
    return sorted({each.period for status in statuses for each in status.accounts})


def chosen_month(statuses: Iterable[QuotaGroupStatus], month: str | None) -> str:
    """Return the month that is asked for; without one the latest, or "". Raises Problem if it has no accounts."""
    known = months_of(statuses)
    if month is not None and month not in known:
        raise Problem(f"period {month!r} has no accounts; there are {', '.join(known) or 'none yet'}")
    return month or (known[-1] if known else "")


def account_rows(
    statuses: Mapping[str, QuotaGroupStatus],
    month: str,
    *,
    namespaces: bool = False,
    among: Mapping[str, QuotaGroupStatus] | None = None,
    tree: Tree | None = None,
) -> Iterator[Json]:
    """Yield a row for each group, in their order, and each key; with `namespaces` also for each namespace of a leaf.

    `among`: the statuses of all groups, whose accounts say who borrowed; None: there are no others. `tree`: how these
    are related; then a parent's account is the sum of its children's, though they were written one after another.
    """
    accounts = read_accounts(tree or Tree.of(()), {**(among or {}), **statuses})
    borrowers = _borrowers(accounts, month)
    for name, status in statuses.items():
        account = accounts[name]
        if month not in account.periods:
            continue
        period = account.periods[month]
        for key, own in sorted(period.keys.items()):
            others = _with_whom(key, own, borrowers.get((name, key), {}))
            more = {"budgetLeft": _budget_left(status, key), "ofExpected": _of_expected(account.run_times)}
            yield {**_row(name, month, account, key, own), **others, **more}
        if namespaces:
            yield from _namespace_rows(name, month, account, period)


def _borrowers(accounts: Mapping[str, GroupAccount], month: str) -> Mapping[_LenderKey, Mapping[str, Amount]]:
    """Return (lender, key) → borrower → what it had of that lender."""
    found: dict[_LenderKey, dict[str, Amount]] = {}
    for name, account in accounts.items():
        for key, own in account.periods[month].keys.items() if month in account.periods else ():
            for lender, amount in own.lenders.items():
                found.setdefault((lender, key), {})[name] = amount
    return found


def _with_whom(key: FlavorResource, own: Account, borrowers: Mapping[str, Amount]) -> Json:
    """Return from whom was borrowed and to whom was lent; the exact amounts, and in hours."""
    lenders = {
        PARENT if name is None else name or OTHER: amount
        for name, amount in (*own.lenders.items(), (None, own.of_parent))
    }
    return {**_shares("borrowedFrom", key, lenders), **_shares("lentTo", key, borrowers)}


def _shares(member: str, key: FlavorResource, shares: Mapping[str, Amount]) -> Json:
    largest = sorted(
        ((amount, name) for name, amount in shares.items() if amount), key=lambda each: (-each[0], each[1])
    )
    return {
        member: ", ".join(f"{name} {amount}" for amount, name in largest),
        f"{member}Hours": ", ".join(f"{name} {hours(key.resource, amount)}" for amount, name in largest),
    }


def _namespace_rows(group: str, month: str, account: GroupAccount, period: PeriodAccount) -> Iterator[Json]:
    for namespace, keys in sorted(period.namespaces.items()):
        for key, used in sorted(keys.items()):
            row = _row(group, month, account, key, Account(used))
            yield {**row, "namespace": namespace or OTHER, **_without_split(row)}


def _without_split(row: Mapping[str, str]) -> Json:
    """An account by namespace says what was used, and no more."""
    return {name: "" for part in PARTS[1:] for name in (part, f"{part}Hours") if name in row} | {"borrowedPercent": ""}


def _row(group: str, month: str, account: GroupAccount, key: FlavorResource, own: Account) -> Json:
    amounts = dict(zip(PARTS, (own.used, own.within_min, own.borrowed, own.lent, own.lost), strict=True))
    return {
        "period": month,
        "until": "" if account.until is None else moment_at(account.until).isoformat(timespec="milliseconds"),
        "group": group,
        "namespace": "",
        "flavor": key.flavor,
        "resource": key.resource,
        "unit": f"{unit_of(key.resource)}, hours",
        **{part: str(amount) for part, amount in amounts.items()},
        **{f"{part}Hours": hours(key.resource, amount) for part, amount in amounts.items()},
        "borrowedPercent": f"{own.borrowed * 100 // own.used}%" if own.used else "",
        **_shares("borrowedFrom", key, {}),
        **_shares("lentTo", key, {}),
        "budgetLeft": "",
        "ofExpected": "",
    }


def _of_expected(run_times: LeafRunTimes) -> str:
    """Return how long the latest runs of a leaf took of what was expected: the median, and between which most are."""
    if not run_times.percents:
        return ""
    least, half, most = percent_quantiles(run_times.percents)
    return f"{half}% ({least}% to {most}%)"


def _budget_left(status: QuotaGroupStatus, key: FlavorResource) -> str:
    """Return what is left now of the group's own budget of the key that has the smallest part left, with its period."""
    left = [(limit - used, limit, period) for period, used, limit in budgets_of(status, key)]
    if not left:
        return ""
    amount, _, period = min(left, key=lambda each: (Fraction(each[0], each[1] or 1), each[1]))
    return f"{hours(key.resource, max(0, amount))} ({period})"
