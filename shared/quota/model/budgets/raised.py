"""A larger budget in place of one that is spent: so many hours that use goes on for a while, and the group with it.

See docs/specification.md §14.2.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from shared.quota.model.budgets.budget import Budget, BudgetKey, SpentBudget, WhenSpent, amount_per_hour
from shared.quota.model.budgets.in_force import STOPPING, with_spent
from shared.quota.model.tree import Group
from shared.resources import MAX_AMOUNT, Amount, is_counted_in_bytes

_LASTS: Final = 3_600_000
"""Milliseconds for which a raised budget is enough."""
_THOUSANDTHS: Final = 1000
_GIBIBYTE: Final = 1 << 30


class BudgetUsed(NamedTuple):
    """What is used of a budget `at` that moment, in milliseconds since 1970."""

    used: Amount
    at: int

    def by(self, now: int, rate: Amount) -> Amount:
        """Return what is used at a later moment, if use goes on at that rate."""
        return self.used + rate * max(0, now - self.at)


BudgetsUsed = Mapping[str, Mapping[BudgetKey, BudgetUsed]]
"""group → budget → what is used of it, of the budgets that are spent."""


def raised(budget: Budget, used: Amount, rate: Amount) -> Budget | None:
    """Return the budget with the least whole hours (of bytes: of Gi) of which less is used in an hour at that rate.

    None if these are more than can be written.
    """
    key = budget.key
    whole = _THOUSANDTHS * (_GIBIBYTE if is_counted_in_bytes(key.resource) else 1)
    needed = (max(used, budget.amount) + rate * _LASTS) * _THOUSANDTHS // amount_per_hour(key.resource)
    hours = (needed // whole + 1) * whole
    return None if hours > MAX_AMOUNT * _THOUSANDTHS else replace(budget, hours=hours)


def stops(spent: SpentBudget) -> bool:
    """Return whether nothing starts because that budget is spent, which is known."""
    return spent.at is not None and spent.budget.when_spent in STOPPING


def with_raised(group: Group, plain: Group, larger: Budget) -> Group:
    """Return the group with the larger budget, which is not spent. `plain`: the group as if no budget were spent."""
    left = tuple(each for each in group.spent if each.budget.identity != larger.identity)
    free = with_spent(plain, left)
    quotas = free.quotas if larger.when_spent is WhenSpent.NO_BORROW else group.quotas
    stop_policy = free.stop_policy if larger.when_spent in STOPPING else group.stop_policy
    budgets = tuple(larger if each.identity == larger.identity else each for each in group.budgets)
    return replace(group, spent=left, quotas=quotas, stop_policy=stop_policy, budgets=budgets)
