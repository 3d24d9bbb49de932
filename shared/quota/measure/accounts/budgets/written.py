"""Budgets as the status of a QuotaGroup has them, and which of them it says are spent.

See docs/specification.md §2.11.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Final

from shared.api.json.reading import aware
from shared.api.quotagroup import BudgetStatus, QuotaGroupStatus
from shared.quota.measure.accounts.amounts import GroupAccount
from shared.quota.measure.accounts.budgets.book import BudgetBook, KnownBudget
from shared.quota.measure.accounts.budgets.meter import BudgetMeter
from shared.quota.measure.accounts.budgets.periods import BEGINNING, END, span_of
from shared.quota.measure.accounts.periods import milliseconds, moment_at
from shared.quota.measure.accounts.written_accounts import read_account
from shared.quota.model.budgets.budget import (
    Budget,
    BudgetKey,
    BudgetPeriod,
    SpentBudget,
    amount_per_hour,
    read_hours,
    write_hours,
)
from shared.quota.model.budgets.in_force import Spent
from shared.quota.model.budgets.raised import BudgetsUsed, BudgetUsed
from shared.quota.model.tree import Group, Tree
from shared.resources import Amount, FlavorResource, QuantityError, is_counted_in_bytes, write_quantity

_PERIODS: Final = {each.value: each for each in BudgetPeriod}
_MEBIBYTE: Final = 2**20


def read_known(status: QuotaGroupStatus) -> Mapping[BudgetKey, KnownBudget]:
    """Return what a status keeps of budgets for the next leader; one that cannot be read is left out."""
    found: dict[BudgetKey, KnownBudget] = {}
    for each in status.budgets:
        key, amount = _key_of(each), _amount_of(each)
        if key is None or amount is None or each.counted_since is None:
            continue
        reached = dict(found[key].reached) if key in found else {}
        if each.spent_at is not None:
            reached[amount] = milliseconds(aware(each.spent_at))
        found[key] = KnownBudget(milliseconds(aware(each.counted_since)), _whole(each.used), reached)
    return found


def known_with_account(status: QuotaGroupStatus, account: GroupAccount) -> Mapping[BudgetKey, KnownBudget]:
    """Return what a status keeps of budgets, with what the account, the sum of its children's, has more of than it."""
    stored, known = read_account(status), read_known(status)
    more = {
        (month, key): each.used - (stored.periods[month].keys[key].used if _has(stored, month, key) else 0)
        for month, period in account.periods.items()
        for key, each in period.keys.items()
    }
    return {
        budget: each._replace(used=max(0, each.used + sum(more[where] for where in more if budget.counts(where[1]))))
        for budget, each in known.items()
    }


def _has(account: GroupAccount, month: str, key: FlavorResource) -> bool:
    return month in account.periods and key in account.periods[month].keys


def spent_as_shown(tree: Tree, statuses: Iterable[tuple[str, QuotaGroupStatus]], now: datetime) -> Spent:
    """Return the budgets of the tree that the groups' statuses show as spent in the period that `now` is in."""
    found: dict[str, tuple[SpentBudget, ...]] = {}
    for name, status in statuses:
        group = tree.get(name)
        own = tuple(_spent_in(group, status, milliseconds(now))) if group is not None and group.budgets else ()
        if own:
            found[name] = own
    return found


def used_as_shown(spent: Spent, statuses: Iterable[tuple[str, QuotaGroupStatus]]) -> BudgetsUsed:
    """Return what the statuses show as used of the budgets of groups in which some are spent."""
    return {name: dict(_used_in(status)) for name, status in statuses if name in spent}


def _used_in(status: QuotaGroupStatus) -> Iterator[tuple[BudgetKey, BudgetUsed]]:
    """Yield the latest that is known: what is accounted, or that as much was used as a budget had when it was spent."""
    until = status.accounted_until
    for key, each in read_known(status).items():
        known = [BudgetUsed(amount, at) for amount, at in each.reached.items()]
        if until is not None:
            known.append(BudgetUsed(each.used, milliseconds(aware(until))))
        if known:
            yield key, max(known, key=lambda used: used.at)


def _spent_in(group: Group, status: QuotaGroupStatus, now: int) -> Iterator[SpentBudget]:
    known = read_known(status)
    for budget in group.budgets:
        each, span = known.get(budget.key), span_of(budget.key, now)
        if each is None or not span.since <= each.counted_since < span.until:
            continue
        at = each.reached.get(budget.amount)
        if at is None and each.used >= budget.amount:
            at = each.counted_since
        if at is not None and at <= now:
            yield SpentBudget(budget, at, None if span.until == END else span.until)


def write_budgets(group: Group, book: BudgetBook, now: datetime, shown: QuotaGroupStatus | None) -> list[BudgetStatus]:
    """Return what the status of the group says of its budgets.

    `shown`: the status from which `used` is taken, because no later account is written; None: what is added up.
    """
    meters = book.meters.get(group.name, {})
    found = ((budget, meters.get(budget.key)) for budget in group.budgets)
    return [_write(budget, meter, milliseconds(now), shown) for budget, meter in found if meter is not None]


def _write(budget: Budget, meter: BudgetMeter, now: int, shown: QuotaGroupStatus | None) -> BudgetStatus:
    at = meter.when_reached(budget.amount, now)
    since, until = meter.current
    counted_since = max(meter.counted_since, since)
    used = meter.used if meter.current == meter.span else 0
    if shown is not None:
        known = read_known(shown).get(budget.key)
        used = known.used if known is not None and known.counted_since == counted_since else 0
    return BudgetStatus(
        resource=budget.key.resource,
        flavor=budget.key.flavor,
        period=budget.key.period.value,
        time_zone=budget.key.zone,
        hours=write_hours(budget.hours),
        when_spent=budget.when_spent.value,
        since=None if since == BEGINNING else moment_at(since),
        until=None if until == END else moment_at(until),
        counted_since=moment_at(counted_since),
        used=str(used),
        used_hours=_hours_text(budget.key.resource, used),
        spent_at=None if at is None or at > now else moment_at(at),
        expected_at=None if at is None or at <= now else moment_at(at),
    )


def budgets_of(status: QuotaGroupStatus, key: FlavorResource) -> Iterator[tuple[str, Amount, Amount]]:
    """Yield (period, used, what may be used) of each budget in the status that counts the key."""
    for each in status.budgets:
        budget, amount = _key_of(each), _amount_of(each)
        if budget is not None and amount is not None and budget.counts(key):
            yield each.period, _whole(each.used), amount


def _hours_text(resource: str, used: Amount) -> str:
    """Return the hours as a budget has them, rounded down: to hundredths, bytes to MiB."""
    hundredths = used * 100 // amount_per_hour(resource)
    if is_counted_in_bytes(resource):
        return write_quantity(resource, hundredths // 100 // _MEBIBYTE * _MEBIBYTE)
    return write_hours(hundredths * 10)


def _key_of(written: BudgetStatus) -> BudgetKey | None:
    period = _PERIODS.get(written.period)
    return None if period is None else BudgetKey(written.resource, written.flavor, period, written.time_zone)


def _amount_of(written: BudgetStatus) -> Amount | None:
    key = _key_of(written)
    try:
        return None if key is None else Budget(key, read_hours(written.hours)).amount
    except QuantityError:
        return None


def _whole(text: str) -> Amount:
    return int(text) if text.isascii() and text.isdigit() else 0
