"""What the budgets of a group must be, and what they need to have an effect.

See docs/specification.md §4.2 and §4.5.
"""

from collections.abc import Collection, Iterator

from shared.quota.model.budgets.budget import Budget, BudgetKey, WhenSpent, write_hours
from shared.quota.model.rules.context import Context
from shared.quota.model.rules.findings import Violation
from shared.quota.model.rules.groups.names import amendments_of, is_name, is_resource_name, of_group, shortened
from shared.quota.model.tree import ROOT, Group, Tree
from shared.resources import FlavorResource


def check_budgets(group: Group) -> Iterator[Violation]:
    """Hours are 0 or more; resource and flavor are names; root, which borrows from no group, has no NoBorrow."""
    for at, budget in enumerate(group.budgets):
        for field, message in _wrong(group, budget):
            yield Violation("BadBudget", of_group(group.name), f"spec.budgets[{at}].{field}", message)


def check_amended_budgets(group: Group) -> Iterator[Violation]:
    """Overrides and windows give other hours, 0 or more, to budgets that the group has, to each once."""
    known = {each.identity for each in group.budgets}
    for field, said in amendments_of(group):
        first: set[tuple[BudgetKey, WhenSpent]] = set()
        for at, budget in enumerate(said.budgets):
            for wrong, message in _amiss(budget, known, first):
                yield Violation("BadBudget", of_group(group.name), f"{field}.budgets[{at}].{wrong}", message)
            first.add(budget.identity)


def _amiss(
    budget: Budget, known: Collection[tuple[BudgetKey, WhenSpent]], first: Collection[tuple[BudgetKey, WhenSpent]]
) -> Iterator[tuple[str, str]]:
    if budget.identity not in known:
        message = (
            "is none of spec.budgets; write there what holds always, and here the same resource, flavor, period, "
            "timeZone and whenSpent with other hours"
        )
        yield "resource", message
    if budget.identity in first:
        yield "resource", "has other hours there already; keep one"
    if budget.hours < 0:
        yield "hours", f"hours of {shortened(budget.key.resource)} are {write_hours(budget.hours)}; write 0 or more"


def _wrong(group: Group, budget: Budget) -> Iterator[tuple[str, str]]:
    resource, flavor = budget.key.resource, budget.key.flavor
    if budget.hours < 0:
        yield "hours", f"hours of {shortened(resource)} are {write_hours(budget.hours)}; write 0 or more"
    if not is_resource_name(resource):
        message = f'a budget names a resource "{shortened(resource)}"; write one such as cpu, memory or nvidia.com/gpu'
        yield "resource", message
    if flavor and not is_name(flavor):
        yield "flavor", f'a budget names a flavor "{shortened(flavor)}", which is not a name; leave it out for all'
    if group.name == ROOT and budget.when_spent is WhenSpent.NO_BORROW:
        yield "whenSpent", "root borrows from no group; write Warn, NoStart or Drain"


def check_budgets_differ(group: Group) -> Iterator[Violation]:
    """Two budgets of the same hours differ in what follows: of two amounts with one consequence the larger is idle."""
    first: dict[tuple[BudgetKey, WhenSpent], int] = {}
    for at, budget in enumerate(group.budgets):
        what = budget.identity
        if what in first:
            message = f"is of the same hours as budget {first[what]}, and {budget.when_spent.value} too; keep one"
            yield Violation("DuplicateBudget", of_group(group.name), f"spec.budgets[{at}].whenSpent", message)
        first.setdefault(what, at)


def warn_unused_budget(tree: Tree, name: str, context: Context) -> Iterator[Violation]:
    """A budget counts what the group can use: some entry covers its resource, in its flavor."""
    group = tree[name]
    covered = [FlavorResource(entry.flavor, each) for entry in group.quotas for each in entry.covered]
    for at, budget in enumerate(group.budgets if name != ROOT else ()):
        if not any(budget.key.counts(key) for key in covered):
            where = f" of flavor {budget.key.flavor}" if budget.key.flavor else ""
            message = f"no entry covers {budget.key.resource}{where}, so the budget has no effect; name it in min"
            yield Violation("UnusedBudget", of_group(name), f"spec.budgets[{at}].resource", message)
