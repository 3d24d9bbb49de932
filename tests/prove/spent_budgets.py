"""Random budgets that are spent, and by definition how large one has to be to last an hour.

See docs/specification.md §14.2.
"""

from collections.abc import Iterable
from fractions import Fraction
from random import Random

from shared.quota.measure.accounts.periods import milliseconds
from shared.quota.measure.inputs.world import World
from shared.quota.model.budgets.budget import Budget, BudgetKey, BudgetPeriod, SpentBudget, WhenSpent
from shared.quota.model.budgets.raised import BudgetUsed
from shared.quota.model.tree import ROOT, SYSTEM
from shared.quota.model.workload import Workload
from shared.resources import FlavorResource
from tests.shared.quota.reference.inputs import EPOCH
from tests.shared.quota.reference.usage_by_definition import asked

NOW = milliseconds(EPOCH)
HOUR = 3_600_000


def random_budgets(dice: Random, groups: Iterable[str]) -> dict[str, tuple[SpentBudget, ...]]:
    """Spent budgets at one or two groups, of some with two for the same hours; root has no NoBorrow."""
    found: dict[str, tuple[SpentBudget, ...]] = {}
    for name in dice.sample(sorted(set(groups) - {SYSTEM}), dice.randint(1, 2)):
        kinds = [each for each in WhenSpent if name != ROOT or each is not WhenSpent.NO_BORROW]
        key = BudgetKey(dice.choice(("cpu", "gpu")), dice.choice(("", "", "x")), BudgetPeriod.TOTAL, "UTC")
        budgets = [Budget(key, dice.randint(0, 5000), kind) for kind in dice.sample(kinds, dice.randint(1, 2))]
        found[name] = tuple(SpentBudget(each, NOW, None) for each in budgets)
    return found


def used_of(spent: tuple[SpentBudget, ...]) -> dict[BudgetKey, BudgetUsed]:
    """A quarter of an hour ago the largest of them was used up, and a seventh more."""
    most = max(each.budget.amount for each in spent)
    return {spent[0].budget.key: BudgetUsed(most + most // 7, NOW - HOUR // 4)}


def lasts_an_hour(of: World, waits: Workload, group: str, budget: Budget) -> bool:
    """Whether these are the least whole hours of which less is used an hour from now, if all and the workload run."""
    everyone = [each for found in of.workload_sets.values() for each in found.by_id.values()]
    below = [each for each in everyone if each.group != SYSTEM and group in of.tree.path(each.group)]
    held = [asked(each, each.admission.flavors) for each in below if each.admission is not None]
    rate = sum(amount for own in held for key, amount in own.items() if budget.key.counts(key))
    known = of.budgets_used[group][budget.key]
    used = known.used + rate * (NOW - known.at)
    later = used + HOUR * (rate + (waits.request.get(budget.key.resource, 0) if could_use(of, waits, budget) else 0))
    hours = Fraction(later, HOUR * (1000 if budget.key.resource == "cpu" else 1))
    return budget.hours % 1000 == 0 and Fraction(budget.hours, 1000) - 1 <= hours < Fraction(budget.hours, 1000)


def could_use(of: World, waits: Workload, budget: Budget) -> bool:
    """Whether the workload could take something that the budget counts."""
    entries = [entry for entry in of.tree[waits.group].quotas if waits.only_flavor in (None, entry.flavor)]
    return any(budget.key.counts(FlavorResource(entry.flavor, name)) for entry in entries for name in entry.covered)
