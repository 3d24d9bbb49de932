"""Accounts as metrics: the latest month, and for how long one has not been written."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from reconciler.report.account_metrics import AccountCollector
from shared.api.quotagroup import QuotaGroupStatus
from shared.cluster.state.account_status import accounted_until, with_account
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.observed.projections import GroupStatusRecord
from shared.quota.measure.accounts.run_times import LeafRunTimes
from shared.quota.model.budgets.budget import Budget, BudgetKey, BudgetPeriod
from shared.quota.model.settings import QuotaSettings
from tests.account_books import PromptBook
from tests.builders import running, world

TOTAL = "quotree_group_account_seconds_total"
HOURS_AGO = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=2)


def counting() -> tuple[ClusterState, PromptBook]:
    """A leader for two hours, that has added up one minute of a Job of 6 units in a group with a min of 4."""
    book, found = PromptBook(UTC), world("root 8\n  a 4", [running("a", 6, "x", since=HOURS_AGO)])
    book.start({}, ())
    book.after(found, HOURS_AGO)
    book.after(found, HOURS_AGO + timedelta(seconds=65))
    state = ClusterState(QuotaSettings())
    state.accounts = book
    for name in ("root", "a"):
        state.tree.groups[name] = GroupStatusRecord(name, 1, found.tree[name], QuotaGroupStatus(observed_generation=1))
    return state, book


def samples(state: ClusterState) -> dict[tuple[str, ...], float]:
    return {
        (each.name, *each.labels.values()): each.value
        for family in AccountCollector(state).collect()
        for each in family.samples
    }


def test_the_parts_of_an_account_are_seconds_of_base_units() -> None:
    state, _ = counting()
    month = HOURS_AGO.strftime("%Y-%m")
    found = {name[5]: value for name, value in samples(state).items() if name[:3] == (TOTAL, "a", "root/a")}
    assert found == {"used": 360, "within_min": 240, "borrowed": 120, "lent": 0, "lost": 0}
    assert {name[6] for name in samples(state) if len(name) > 2} == {month}


def test_a_leaf_says_what_each_namespace_used() -> None:
    """The label `namespace` is the one that tools which allocate costs by namespace use."""
    state, book = counting()
    [key] = book.accounts["a"].period(HOURS_AGO.strftime("%Y-%m")).keys
    found = {name[1:]: value for name, value in samples(state).items() if name[0].startswith("quotree_namespace")}
    assert found == {("a", "root/a", "ns", key.flavor, key.resource, HOURS_AGO.strftime("%Y-%m")): 360}


def test_an_account_is_unwritten_until_the_status_has_it() -> None:
    state, book = counting()
    assert samples(state)["quotree_accounts_unwritten_seconds",] >= 7200
    for name, record in state.tree.groups.items():
        until = accounted_until(name, book, record.status)
        status = with_account(record.status, name, record.status, until, book)
        state.tree.groups[name] = GroupStatusRecord(name, 1, record.group, status)
    assert samples(state)["quotree_accounts_unwritten_seconds",] == 0


def test_a_process_that_does_not_lead_shows_none() -> None:
    assert samples(ClusterState(QuotaSettings())) == {}


def test_a_budget_is_shown_in_hours() -> None:
    state, book = counting()
    budget = Budget(BudgetKey("gpu", "", BudgetPeriod.TOTAL, "UTC"), 100_000)
    found = world("root 8\n  a 4", [running("a", 6, "x", since=HOURS_AGO)])
    found = replace(found, tree=found.tree.with_group(replace(found.tree["a"], budgets=(budget,))))
    book.spent(found.tree, found, HOURS_AGO + timedelta(seconds=70))
    book.after(found, HOURS_AGO + timedelta(hours=1))
    shown = {name[0]: value for name, value in samples(state).items() if "Total" in name}
    assert shown["quotree_group_budget_hours"] == 100
    hours = (datetime.now(UTC) - HOURS_AGO) / timedelta(hours=1)
    assert 6 * hours - 1 < shown["quotree_group_budget_used_hours"] <= 6 * hours


def test_run_times_are_shown_as_percents_of_what_was_expected() -> None:
    state, book = counting()
    book.accounts["a"].run_times = LeafRunTimes({}, (50, 100, 120))
    shown = {name[3]: value for name, value in samples(state).items() if name[0].endswith("expected_percent")}
    assert shown == {"0.1": 50, "0.5": 100, "0.9": 120}
