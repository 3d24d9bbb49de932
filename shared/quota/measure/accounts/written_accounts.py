"""Accounts as the status of a QuotaGroup has them: amounts in base units times milliseconds, as text.

See docs/specification.md §9.7.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from operator import attrgetter

from shared.api.json.reading import aware
from shared.api.quotagroup import (
    BesideChildrenStatus,
    FlavorAccount,
    FlavorBeside,
    FlavorUse,
    LenderAccount,
    NamespaceAccount,
    PastArrivalsStatus,
    PeriodAccountStatus,
    PeriodBeside,
    QuotaGroupStatus,
    RunTimesStatus,
    SeriesRunTimes,
)
from shared.quota.measure.accounts.amounts import MAX_LENDERS, Account, GroupAccount, PeriodAccount
from shared.quota.measure.accounts.parents import Beside, with_parents
from shared.quota.measure.accounts.periods import milliseconds, moment_at
from shared.quota.measure.accounts.run_times import LeafRunTimes, PastArrival, RunTimes
from shared.quota.model.tree import Tree
from shared.resources import Amount, FlavorResource

_PARTS = ("used", "borrowed", "lent", "lost")


def read_account(status: QuotaGroupStatus) -> GroupAccount:
    """Return the account in a status; an amount that is no whole number is left out."""
    until = status.accounted_until
    if until is None:
        return GroupAccount()
    periods = {each.period: _read_period(each) for each in status.accounts}
    return GroupAccount(milliseconds(aware(until)), periods, read_run_times(status))


def read_beside(status: QuotaGroupStatus) -> Beside:
    """Return what a parent's status says that its account has beside its children's."""
    periods: dict[str, dict[FlavorResource, Account]] = {}
    for month in status.beside_children.accounts:
        keys = periods.setdefault(month.period, {})
        for flavor in month.flavors:
            for key, amount in _read_amounts(flavor.flavor, flavor.used):
                keys.setdefault(key, Account()).used = amount
            for key, amount in _read_amounts(flavor.flavor, flavor.lost):
                keys.setdefault(key, Account()).lost = amount
    return Beside(status.beside_children.children, periods)


def write_beside(beside: Beside) -> BesideChildrenStatus:
    """Return it as a status has it."""
    return BesideChildrenStatus(
        beside.children, [PeriodBeside(name, _write_besides(keys)) for name, keys in sorted(beside.periods.items())]
    )


def _write_besides(keys: Mapping[FlavorResource, Account]) -> list[FlavorBeside]:
    flavors = sorted({key.flavor for key in keys})
    return [FlavorBeside(each, _texts(keys, each, "used"), _texts(keys, each, "lost")) for each in flavors]


def read_accounts(tree: Tree, statuses: Mapping[str, QuotaGroupStatus]) -> dict[str, GroupAccount]:
    """Return the accounts in all statuses: each parent's as the sum of its children's, whenever each was written."""
    accounts = {name: read_account(status) for name, status in statuses.items()}
    return with_parents(tree, accounts, {name: read_beside(status) for name, status in statuses.items()})


def read_run_times(status: QuotaGroupStatus) -> LeafRunTimes:
    """Return the run times in a status."""
    written = status.run_times
    seconds = {each.series: tuple(each.seconds) for each in written.workloads}
    arrivals = sorted((each for alike in written.arrivals for each in _read_arrivals(alike)), key=attrgetter("came"))
    waits = tuple(written.waits_of_earliest), tuple(written.waits_of_latest)
    return LeafRunTimes(seconds, tuple(written.percents), tuple(arrivals), written.arrivals_since, *waits)


def run_times_of(statuses: Iterable[tuple[str, QuotaGroupStatus]]) -> RunTimes:
    """Return the run times of the leaves that have some, and of those where it is known how right forecasts were."""
    return {
        name: read_run_times(status)
        for name, status in statuses
        if status.run_times.workloads or status.run_times.waits_of_latest
    }


def write_run_times(run_times: LeafRunTimes) -> RunTimesStatus:
    """Return the run times as a status has them."""
    return RunTimesStatus(
        [SeriesRunTimes(series, list(seconds)) for series, seconds in run_times.seconds.items()],
        list(run_times.percents),
        [*_write_arrivals(run_times.arrivals)],
        run_times.arrivals_since,
        list(run_times.waits_of_earliest),
        list(run_times.waits_of_latest),
    )


def _write_arrivals(arrivals: Iterable[PastArrival]) -> Iterator[PastArrivalsStatus]:
    """Yield them by request and priority: a status is held in memory, and many workloads are alike."""
    alike: dict[tuple[int, frozenset[tuple[str, Amount]]], list[PastArrival]] = {}
    for each in arrivals:
        alike.setdefault((each.priority, frozenset(each.request.items())), []).append(each)
    for own in alike.values():
        request = {name: str(amount) for name, amount in own[0].request.items()}
        came, seconds = [each.came for each in own], [each.took for each in own]
        yield PastArrivalsStatus(request, own[0].priority, came, seconds)


def _read_arrivals(alike: PastArrivalsStatus) -> Iterator[PastArrival]:
    request = {name: int(text) for name, text in alike.request.items() if text.isascii() and text.isdigit()}
    for came, seconds in zip(alike.came, alike.seconds, strict=False):
        yield PastArrival(came, seconds, request, alike.priority)


def write_account(account: GroupAccount) -> tuple[list[PeriodAccountStatus], datetime | None]:
    """Return the months, the earliest first, and the moment until which all is counted."""
    months = [_write_period(name, period) for name, period in sorted(account.periods.items())]
    return months, None if account.until is None else moment_at(account.until)


def _read_period(written: PeriodAccountStatus) -> PeriodAccount:
    period = PeriodAccount()
    for flavor in written.flavors:
        for part in _PARTS:
            for key, amount in _read_amounts(flavor.flavor, getattr(flavor, part)):
                setattr(period.account(key), part, amount)
        for lender in flavor.borrowed_from:
            for key, amount in _read_amounts(flavor.flavor, lender.amounts):
                period.account(key).add(Account(lenders={lender.group: amount}))
    for each in written.namespaces:
        for use in each.flavors:
            for key, amount in _read_amounts(use.flavor, use.used):
                period.add_use_of(each.namespace, key, amount)
    return period


def _read_amounts(flavor: str, texts: Mapping[str, str]) -> Iterable[tuple[FlavorResource, Amount]]:
    for resource, text in texts.items():
        if text.isascii() and text.removeprefix("-").isdigit():
            yield FlavorResource(flavor, resource), int(text)


def _write_period(name: str, period: PeriodAccount) -> PeriodAccountStatus:
    return PeriodAccountStatus(
        period=name,
        flavors=_write_flavors(period.keys),
        namespaces=[
            NamespaceAccount(namespace, _write_uses(own))
            for namespace, own in sorted(period.largest_namespaces().items())
        ],
    )


def _write_flavors(keys: Mapping[FlavorResource, Account]) -> list[FlavorAccount]:
    flavors = sorted({key.flavor for key in keys})
    return [
        FlavorAccount(
            flavor, **{part: _texts(keys, flavor, part) for part in _PARTS}, borrowed_from=_lenders(keys, flavor)
        )
        for flavor in flavors
    ]


def _lenders(keys: Mapping[FlavorResource, Account], flavor: str) -> list[LenderAccount]:
    by_lender: dict[str, dict[str, str]] = {}
    for key, own in sorted(keys.items()):
        for lender, amount in own.largest_lenders(MAX_LENDERS).items() if key.flavor == flavor else ():
            by_lender.setdefault(lender, {})[key.resource] = str(amount)
    return [LenderAccount(lender, amounts) for lender, amounts in sorted(by_lender.items())]


def _write_uses(own: Mapping[FlavorResource, Amount]) -> list[FlavorUse]:
    keys = {key: Account(amount) for key, amount in own.items()}
    return [FlavorUse(flavor, _texts(keys, flavor, "used")) for flavor in sorted({key.flavor for key in own})]


def _texts(keys: Mapping[FlavorResource, Account], flavor: str, part: str) -> dict[str, str]:
    found = {key.resource: getattr(each, part) for key, each in sorted(keys.items()) if key.flavor == flavor}
    return {resource: str(amount) for resource, amount in found.items() if amount}
