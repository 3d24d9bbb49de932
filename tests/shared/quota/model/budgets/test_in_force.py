"""What follows when budgets are spent, as the tree that is in force says it."""

from dataclasses import replace

import pytest

from shared.quota.model.amounts.resolution import resolve
from shared.quota.model.budgets.budget import Budget, BudgetKey, BudgetPeriod, SpentBudget, WhenSpent, read_hours
from shared.quota.model.budgets.in_force import NONE_SPENT, budget_text, stop_reason, tree_with_spent
from shared.quota.model.membership import Stop, stop_of
from shared.quota.model.tree import Entry, Group, StopPolicy, Tree
from shared.resources import QuantityError
from tests.trees import tree

DRAWN = "p/ 8\n  a 4..8\n  b 4 drain"


def spent(when: WhenSpent, at: int | None = 1_700_000_000_000, flavor: str = "", resource: str = "gpu") -> SpentBudget:
    key = BudgetKey(resource, flavor, BudgetPeriod.MONTH, "UTC")
    return SpentBudget(Budget(key, 1_500, when), at, 1_701_388_800_000)


def in_force(when: WhenSpent, group: str = "p") -> Tree:
    return tree_with_spent(tree(DRAWN), {group: (spent(when),)})


@pytest.mark.parametrize(
    ("when", "of_a", "of_b"),
    [
        (WhenSpent.WARN, StopPolicy.NONE, StopPolicy.HOLD_AND_DRAIN),
        (WhenSpent.NO_BORROW, StopPolicy.NONE, StopPolicy.HOLD_AND_DRAIN),
        (WhenSpent.NO_START, StopPolicy.HOLD, StopPolicy.HOLD_AND_DRAIN),
        (WhenSpent.DRAIN, StopPolicy.HOLD_AND_DRAIN_PREEMPTIBLE, StopPolicy.HOLD_AND_DRAIN),
    ],
)
def test_a_spent_budget_stops_the_whole_subtree_and_weakens_no_policy(
    when: WhenSpent, of_a: StopPolicy, of_b: StopPolicy
) -> None:
    found = in_force(when)
    assert (stop_of(found, "a").policy, stop_of(found, "b")) == (of_a, Stop(of_b, "b"))


def test_no_borrow_keeps_the_budgets_resource_within_min_in_its_flavor() -> None:
    entries = tuple(Entry(flavor, min={"gpu": 2, "cpu": 1}, borrowing_limit={"gpu": 5}) for flavor in ("x", "y"))
    group = Group("a", quotas=entries)
    found = tree_with_spent(Tree.of([group]), {"a": (spent(WhenSpent.NO_BORROW, flavor="y"),)})["a"]
    assert found.quotas == (entries[0], replace(entries[1], borrowing_limit={"gpu": 0}))


def test_no_borrow_holds_where_the_borrowing_limit_is_a_percent_too() -> None:
    found = tree_with_spent(tree("root 8\n  a 4..8 b40%"), {"a": (spent(WhenSpent.NO_BORROW),)})
    (entry,) = resolve(found, lambda _: 8)["a"].quotas
    assert entry.borrowing_limit == {"gpu": 0}


def test_nothing_spent_leaves_the_tree_the_same_object() -> None:
    found = tree(DRAWN)
    assert tree_with_spent(found, NONE_SPENT) is found


def test_nothing_starts_while_it_is_not_known_what_is_used() -> None:
    unknown = tree_with_spent(tree(DRAWN), {"p": (spent(WhenSpent.NO_BORROW, at=None),)})
    assert stop_of(unknown, "a") == Stop(StopPolicy.HOLD, "p")
    assert unknown["p"].quotas == tree_with_spent(tree(DRAWN), {"p": (spent(WhenSpent.NO_BORROW),)})["p"].quotas


def test_reason_names_the_budget_and_its_end() -> None:
    found = in_force(WhenSpent.NO_START)
    assert stop_reason(found["p"], StopPolicy.HOLD) == (
        "group 'p' has spent its budget of 1.5 hours of gpu for a Month: the next begins at 2023-12-01T00:00:00Z; "
        "a larger budget holds at once"
    )
    assert stop_reason(found["b"], StopPolicy.HOLD_AND_DRAIN) == "group 'b' has stopPolicy HoldAndDrain"


@pytest.mark.parametrize(
    ("quantity", "resource", "amount", "text"),
    [
        (1000, "cpu", 1000 * 1000 * 3_600_000, "1000 hours of cpu for a Month"),
        ("10m", "cpu", 10 * 3_600_000, "0.01 hours of cpu for a Month"),
        ("0.5", "nvidia.com/gpu", 1_800_000, "0.5 hours of nvidia.com/gpu for a Month"),
        ("512Gi", "memory", 512 * 2**30 * 3_600_000, "512Gi hours of memory for a Month"),
    ],
)
def test_hours_are_amounts_times_milliseconds(quantity: str | int, resource: str, amount: int, text: str) -> None:
    budget = Budget(BudgetKey(resource, "", BudgetPeriod.MONTH, "UTC"), read_hours(quantity))
    assert (budget.amount, budget_text(budget)) == (amount, text)


@pytest.mark.parametrize("quantity", [1.5, "many", "1e30", True])
def test_hours_that_are_no_quantity_are_refused(quantity: float | str) -> None:
    with pytest.raises(QuantityError):
        read_hours(quantity)
