"""The accounts of the latest month as metrics, and how old the oldest is that is not written.

See docs/specification.md §9.4.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from shared.api.json.reading import aware
from shared.cluster.state.cluster_state import ClusterState
from shared.quota.measure.accounts.account_book import AccountBook
from shared.quota.measure.accounts.periods import milliseconds
from shared.quota.measure.accounts.run_times import percent_quantiles
from shared.quota.model.budgets.budget import amount_per_hour
from shared.quota.model.membership import path_of
from shared.text.accounts.rows import OTHER

_PARTS: Final = ("used", "within_min", "borrowed", "lent", "lost")
_MILLISECONDS: Final = 1000
_QUANTILES: Final = ("0.1", "0.5", "0.9")


class AccountCollector(Collector):
    """Shows the accounts while this process leads.

    A scrape collects in a thread of its own: what it goes through is copied at once.
    """

    def __init__(self, state: ClusterState) -> None:
        self._state = state

    def collect(self) -> Iterator[Metric]:
        """Yield all metric families."""
        book = self._state.accounts
        if book is None:
            return
        yield self._amounts(book)
        yield self._namespaces(book)
        yield self._run_times(book)
        yield from self._budgets(book, milliseconds(datetime.now(UTC)))
        age = GaugeMetricFamily(
            "quotree_accounts_unwritten_seconds", "How long the longest unwritten account has not been written."
        )
        age.add_metric([], self._unwritten(book, milliseconds(datetime.now(UTC))) / _MILLISECONDS)
        yield age

    def _amounts(self, book: AccountBook) -> Metric:
        family = CounterMetricFamily(
            "quotree_group_account_seconds",
            "What the group used in the month, in base units times seconds.",
            labels=["group", "path", "flavor", "resource", "part", "period"],
        )
        for group, account in list(book.accounts.items()):
            path = self._path(group)
            for period in sorted(account.periods)[-1:]:
                for key, each in list(account.period(period).keys.items()):
                    for part in _PARTS:
                        labels = [group, path, key.flavor, key.resource, part, period]
                        family.add_metric(labels, getattr(each, part) / _MILLISECONDS)
        return family

    def _namespaces(self, book: AccountBook) -> Metric:
        family = CounterMetricFamily(
            "quotree_namespace_account_seconds",
            "What the workloads of a namespace used in a leaf in the month, in base units times seconds.",
            labels=["group", "path", "namespace", "flavor", "resource", "period"],
        )
        for group, account in list(book.accounts.items()):
            path = self._path(group)
            for period in sorted(account.periods)[-1:]:
                for namespace, keys in list(account.period(period).namespaces.items()):
                    for key, used in list(keys.items()):
                        labels = [group, path, namespace or OTHER, key.flavor, key.resource, period]
                        family.add_metric(labels, used / _MILLISECONDS)
        return family

    def _run_times(self, book: AccountBook) -> Metric:
        family = GaugeMetricFamily(
            "quotree_group_run_time_of_expected_percent",
            "How long the latest runs of a leaf took of what their owners had expected.",
            labels=["group", "path", "quantile"],
        )
        for group, account in list(book.accounts.items()):
            percents = account.run_times.percents
            for quantile, percent in zip(_QUANTILES, percent_quantiles(percents) if percents else (), strict=False):
                family.add_metric([group, self._path(group), quantile], percent)
        return family

    def _budgets(self, book: AccountBook, now: int) -> Iterator[Metric]:
        names = ["group", "path", "flavor", "resource", "period", "when_spent"]
        allowed = GaugeMetricFamily("quotree_group_budget_hours", "The hours of a group's budget.", labels=names)
        used = GaugeMetricFamily(
            "quotree_group_budget_used_hours", "What of a budget is used in its current period.", labels=names
        )
        for group, uses in list(book.budgets.shown.items()):
            for each in uses:
                key = each.budget.key
                what = [key.flavor, key.resource, key.period.value, each.budget.when_spent.value]
                labels, hour = [group, self._path(group), *what], amount_per_hour(key.resource)
                allowed.add_metric(labels, each.budget.amount / hour)
                used.add_metric(labels, each.used_at(now) / hour)
        yield allowed
        yield used

    def _unwritten(self, book: AccountBook, now: int) -> int:
        """Return for how long some group has had a later account than its status shows, in milliseconds."""
        since = book.begun
        if since is None:
            return 0
        ages = [0]
        for group, account in list(book.accounts.items()):
            record = self._state.tree.groups.get(group)
            if record is None or account.until is None:
                continue
            written = record.status.accounted_until
            shown = 0 if written is None else milliseconds(aware(written))
            if shown < account.until:
                ages.append(now - max(shown, since))
        return max(ages) if book.has_started else max(0, now - since)

    def _path(self, group: str) -> str:
        groups = self._state.tree.groups
        path = path_of(lambda name: groups[name].group if name in groups else None, group)
        return "/".join(reversed([each.name for each in path])) or group
