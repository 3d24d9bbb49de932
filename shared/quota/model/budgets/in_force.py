"""The tree that is in force where budgets are spent: with borrowing limits of 0 and stop policies of its own.

The engine decides on that tree and knows nothing of budgets. See docs/specification.md §2.11.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Final

from shared.api.durations import later
from shared.quota.model.budgets.budget import Budget, BudgetKey, BudgetPeriod, SpentBudget, WhenSpent, write_hours
from shared.quota.model.lifecycle import STRICTNESS
from shared.quota.model.tree import Entry, Group, StopPolicy, Tree
from shared.resources import FlavorResource, is_counted_in_bytes, write_quantity

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

Spent = Mapping[str, tuple[SpentBudget, ...]]
"""group -> its budgets that are spent; groups without one are absent."""
NONE_SPENT: Final[Spent] = MappingProxyType({})

STOPPING: Final = {WhenSpent.NO_START: StopPolicy.HOLD, WhenSpent.DRAIN: StopPolicy.HOLD_AND_DRAIN_PREEMPTIBLE}


def tree_with_spent(tree: Tree, spent: Spent) -> Tree:
    """Return the tree with what follows from the budgets that are spent; the same tree if none is."""
    for name in sorted(spent):
        group = tree.get(name)
        if group is not None:
            tree = tree.with_group(with_spent(group, spent[name]))
    return tree


def with_spent(group: Group, spent: tuple[SpentBudget, ...]) -> Group:
    """Return the group as it is in force while these of its budgets are spent."""
    found = replace(group, spent=spent, stop_policy=_strictest(group.stop_policy, spent))
    kept_in = [each.budget.key for each in spent if each.budget.when_spent is WhenSpent.NO_BORROW]
    return replace(found, quotas=tuple(_within_min(entry, kept_in) for entry in group.quotas)) if kept_in else found


def _strictest(own: StopPolicy, spent: Iterable[SpentBudget]) -> StopPolicy:
    policies = [own]
    for each in spent:
        if each.at is None and each.budget.when_spent is not WhenSpent.WARN:
            policies.append(StopPolicy.HOLD)
        elif each.budget.when_spent in STOPPING:
            policies.append(STOPPING[each.budget.when_spent])
    return max(policies, key=STRICTNESS.__getitem__)


def _within_min(entry: Entry, budgets: Iterable[BudgetKey]) -> Entry:
    resources = [
        resource
        for resource in sorted(entry.covered)
        if any(each.counts(FlavorResource(entry.flavor, resource)) for each in budgets)
    ]
    if not resources:
        return entry
    percents = entry.percents
    if "borrowing_limit" in percents:
        left = {name: share for name, share in percents["borrowing_limit"].items() if name not in resources}
        percents = {**percents, "borrowing_limit": left}
    return replace(entry, borrowing_limit={**entry.borrowing_limit, **dict.fromkeys(resources, 0)}, percents=percents)


def is_stopped_by_budget(group: Group) -> bool:
    """Return whether the stop policy of this group is that of a spent budget, and none that a person has set."""
    return any(each.at is None or each.budget.when_spent in STOPPING for each in group.spent)


def stop_reason(group: Group, policy: StopPolicy) -> str:
    """Return why nothing starts in the group, which sets this stop policy."""
    found = next((each for each in group.spent if _strictest(StopPolicy.NONE, (each,)) is policy), None)
    if found is None:
        return f"group {group.name!r} has stopPolicy {policy.value}"
    budget = budget_text(found.budget)
    if found.at is None:
        return f"how much group {group.name!r} has used of its budget of {budget} is read first; it takes a moment"
    ends = "it never begins again" if found.until is None else f"the next begins at {_moment_text(found.until)}"
    return f"group {group.name!r} has spent its budget of {budget}: {ends}; a larger budget holds at once"


def budget_text(budget: Budget) -> str:
    """Return the budget as a sentence has it: 100 hours of cpu for a Month."""
    key = budget.key
    what = f"{key.flavor}/{key.resource}" if key.flavor else key.resource
    period = "in all" if key.period is BudgetPeriod.TOTAL else f"for a {key.period.value}"
    return f"{hours_text(budget)} hours of {what} {period}"


def hours_text(budget: Budget) -> str:
    """Return the hours as they are written in an object: 1500, or 512Gi of bytes."""
    if is_counted_in_bytes(budget.key.resource) and budget.hours % 1000 == 0:
        return write_quantity(budget.key.resource, budget.hours // 1000)
    return write_hours(budget.hours)


def _moment_text(time: int) -> str:
    moment = later(_EPOCH, timedelta(milliseconds=time))
    return f"{moment.replace(tzinfo=None).isoformat(timespec='seconds')}Z"
