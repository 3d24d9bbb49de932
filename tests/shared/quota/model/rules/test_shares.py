"""Which edits of a group take more from its siblings: TakesFromSiblings.

Compared with the exact division of the reference engine: what is let pass leaves every sibling what it had.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.quota.model.budgets.budget import Budget, BudgetKey, BudgetPeriod, WhenSpent
from shared.quota.model.rules.groups.rights.shares import check_shares, takes_more
from shared.quota.model.tree import DEFAULT_FLAVOR, Entry, Group
from tests.shared.quota.reference.division import Sibling, divide_exactly
from tests.trees import GPU, group

CASES = {
    "a new group without quotas": (None, "a", ""),
    "a new group with min": (None, "a 4", "min weight"),
    "a new group with max alone": (None, "a ..4", "max"),
    "a new group with weight 0": (None, "a ..4 w0", ""),
    "min raised": ("a 4..8", "a 5..8", "min"),
    "min lowered": ("a 4..8", "a 3..8", ""),
    "max that is the weight raised": ("a 4..8", "a 4..9", "max"),
    "max that is the weight lowered": ("a 4..8", "a 4..7", ""),
    "max beside a weight raised": ("a 4..8 w2", "a 4..9 w2", ""),
    "weight raised": ("a 4..8 w2", "a 4..8 w3", "weight"),
    "weight lowered": ("a 4..8 w2", "a 4..8 w1", ""),
    "weight set to the max that it was": ("a 4..8", "a 4..8 w8", ""),
    "weight set above the max that it was": ("a 4..8", "a 4..8 w9", "weight"),
    "weight taken away, max above it": ("a 4..8 w2", "a 4..8", "max"),
    "weight taken away, max below it": ("a 4..8 w9", "a 4..8", ""),
    "weight becomes inherited": ("a 4..8", "a 4", "weight"),
    "weight was inherited": ("a 4", "a 4..8", "max"),
    "a weight that stays inherited": ("a 4", "a 3", ""),
    "another resource": ("a 4..8", "a 4..8 default:cpu ..2", "max"),
    "another flavor": ("a 4..8", "a 4..8 | t4:gpu 1..1", "min max"),
    "an entry less": ("a 4..8 | t4:gpu 1..1", "a 4..8", ""),
    "limits of lending and borrowing": ("a 4..8", "a 4..8 b1 l1", ""),
    "a setting": ("a 4..8", "a 4..8 keep strict hold", ""),
    "a percent raised": ("a 40%..8 w2", "a 41%..8 w2", "min"),
    "a percent lowered": ("a 40%..80%", "a 30%..70%", ""),
    "a percent in place of an amount": ("a 4..8 w2", "a 4%..8 w2", "min"),
    "an amount in place of a percent": ("a 40%..8 w2", "a 4..8 w2", "min"),
    "a percent taken away": ("a 40%..8 w2", "a ..8 w2", ""),
    "a percent that is the weight": ("a 4..80%", "a 4..81%", "max"),
    "a weight that becomes a percent": ("a 4..8 w2", "a 4..8 w1%", "weight"),
    "moved without quotas": ("a", "a ^b", "parent"),
    "moved": ("a 4..8", "a 4..8 ^b", "parent min max"),
}


@pytest.mark.parametrize("case", CASES)
def test_edit_takes_more_by_these_fields(case: str) -> None:
    before, after, fields = CASES[case]
    old, new = group(before) if before else None, group(after)
    found = list(check_shares(old, new, "red"))
    assert [each.field.rsplit(".", 1)[1] for each in found] == fields.split()
    assert takes_more(old, new) is bool(fields)
    assert {each.rule for each in found} <= {"TakesFromSiblings"}


BUDGET_CASES = {
    "a budget more": ((), (("NoStart", 5),), ""),
    "more hours": ((("NoStart", 5),), (("NoStart", 6),), "hours"),
    "fewer hours": ((("NoStart", 5),), (("NoStart", 4),), ""),
    "a budget less": ((("Drain", 5),), (), "budgets"),
    "a budget less that only warns": ((("Warn", 5),), (), ""),
    "what follows is milder": ((("NoStart", 5),), (("NoBorrow", 5),), "budgets"),
    "what follows is stricter": ((("NoBorrow", 5),), (("NoStart", 5),), ""),
    "a stricter one has no more hours": ((("NoBorrow", 5), ("Drain", 5)), (("NoBorrow", 9), ("Drain", 5)), ""),
    "the stricter one has more hours": ((("NoBorrow", 9), ("Drain", 5)), (("NoBorrow", 9), ("Drain", 6)), "hours"),
    "the stricter one is taken away": ((("NoBorrow", 9), ("Drain", 5)), (("NoBorrow", 9),), "budgets"),
}


@pytest.mark.parametrize("case", BUDGET_CASES)
def test_larger_budget_takes_from_siblings(case: str) -> None:
    before, after, fields = BUDGET_CASES[case]
    old, new = (replace(group("a 4"), budgets=budgets(each)) for each in (before, after))
    assert [each.field.rsplit(".", 1)[1] for each in check_shares(old, new, "red")] == fields.split()
    assert not takes_more(replace(old, parent=None), replace(new, parent=None))


def budgets(written: tuple[tuple[str, int], ...]) -> tuple[Budget, ...]:
    key = BudgetKey(GPU, "", BudgetPeriod.MONTH, "UTC")
    return tuple(Budget(key, hours * 1000, WhenSpent(when)) for when, hours in written)


def test_message_names_the_budget_and_its_hours() -> None:
    old, new = (replace(group("a 4 ^p"), budgets=budgets((("NoStart", hours),))) for hours in (5, 6))
    (found,) = check_shares(old, new, "red")
    assert (found.field, found.message.partition(",")[0]) == (
        "spec.budgets[0].hours",
        "raises the budget of 5 hours of gpu for a Month (NoStart) to 6",
    )


def test_root_has_no_siblings() -> None:
    assert not takes_more(None, replace(group("root 8"), parent=None))


def test_message_names_the_change_the_user_and_the_parent() -> None:
    (found,) = check_shares(group("a 4..8 ^p"), group("a 5..8 ^p"), "red")
    assert found.text == (
        "QuotaGroup 'a' spec.quotas[0].min: raises min of default/gpu from 4 to 5, at the expense of the groups beside "
        "it; for that, user red also needs the verb update or patch on QuotaGroup p; ask a user who has it "
        "(TakesFromSiblings)"
    )


INHERITED = 12
"""The max of the parent, which an absent max is."""
LIMITED = st.none() | st.integers(0, 20)


@given(
    st.tuples(LIMITED, LIMITED, LIMITED),
    st.tuples(LIMITED, LIMITED, LIMITED),
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=3),
    st.integers(0, 60),
)
def test_edit_that_takes_no_more_leaves_siblings_their_shares(
    old: tuple[int | None, ...], new: tuple[int | None, ...], siblings: list[tuple[int, int]], pool: int
) -> None:
    before, after = shares_beside(entry(*old), siblings, pool), shares_beside(entry(*new), siblings, pool)
    loses = any(after[name] < before[name] for name in before if name != "a")
    takes = takes_more(Group("a", quotas=(entry(*old),)), Group("a", quotas=(entry(*new),)))
    assert takes or not loses


def entry(low: int | None, high: int | None, weight: int | None) -> Entry:
    """An entry with these limits; a weight only where min or max covers the resource."""
    covers = low is not None or high is not None
    written = {"min": low, "max": high, "weight": weight if covers else None}
    limits: dict[str, Any] = {limit: {GPU: amount} for limit, amount in written.items() if amount is not None}
    return Entry(DEFAULT_FLAVOR, **limits)


def shares_beside(edited: Entry, others: list[tuple[int, int]], pool: int) -> dict[str, Fraction]:
    """What each sibling gets if all want everything; `others`: min and weight."""
    low = edited.min.get(GPU, 0)
    weight = edited.weight.get(GPU, edited.max.get(GPU, INHERITED)) if edited.covered else 0
    all_of_them = [("a", low, weight), *((f"b{at}", *numbers) for at, numbers in enumerate(others))]
    return divide_exactly(pool, [Sibling(name, low, 0, pool, 0, weight) for name, low, weight in all_of_them])
