"""How far a budget is used, in a line."""

import pytest

from shared.json_data import Json
from shared.text.accounts.budgets import budget_lines
from shared.text.remedies import remedy_text

BASE: Json = {"resource": "cpu", "hours": "100", "period": "Month", "whenSpent": "NoStart"}
UNTIL: Json = {"until": "2026-12-01T00:00:00Z", "expectedAt": "2026-11-23T10:00:00Z"}


@pytest.mark.parametrize(
    ("more", "used", "end"),
    [
        ({}, "cpu: 0 of 100 hours for a Month", "at the present use it lasts"),
        (
            {"flavor": "a100", "usedHours": "83.2", **UNTIL},
            "a100/cpu: 83.2 of 100 hours for a Month until 2026-12-01T00:00:00Z",
            "at the present use it is spent at 2026-11-23T10:00:00Z",
        ),
        (
            {"period": "Total", "usedHours": "100", "spentAt": "2026-11-23T10:00:00Z"},
            "cpu: 100 of 100 hours in all",
            "spent at 2026-11-23T10:00:00Z",
        ),
    ],
    ids=["unused", "nearly spent", "spent"],
)
def test_a_budget_says_what_is_used_and_when_it_is_spent(more: Json, used: str, end: str) -> None:
    assert list(budget_lines([{**BASE, **more}])) == [f"budget of {used}; when spent: NoStart; {end}"]


def test_a_remedy_names_the_group_and_the_larger_budget() -> None:
    larger = {"do": "RaiseBudget", "group": "p", **BASE, "flavor": "a100", "timeZone": "UTC"}
    after = {"do": "Resume", "group": "p", "and": [larger]}
    text = "raise the budget of p (NoStart) to 100 hours of a100/cpu for a Month"
    assert [remedy_text(larger), remedy_text(after)] == [text, f"{text}, then resume p"]
