"""Who edits a group without the verb divide on a group above it is told which verb is missing, and where."""

import pytest

from shared.quota.model.rules.groups.rights.division import check_division
from tests.trees import group, tree

CASES = {
    "deep": (group("a ^p"), "below p, where user red divides nothing", "on QuotaGroup p or one above it"),
    "below root": (group("a"), "below root, where user red divides nothing", "on all QuotaGroups"),
    "root": (tree("root 8")["root"], "the root, where user red divides nothing", "on all QuotaGroups"),
}


@pytest.mark.parametrize("case", CASES)
def test_message_names_the_place_and_the_missing_verb(case: str) -> None:
    state, place, where = CASES[case]
    (found,) = check_division([state], "red")
    assert found.text == (
        f"QuotaGroup {state.name!r} spec.parent: the group is {place}: for that, it needs the verb divide {where} "
        "(quota.requireDivide); have it granted, or ask a user who has it (OutsideDivision)"
    )


def test_group_that_was_and_is_outside_is_named_once() -> None:
    assert len(list(check_division([group("a ^p"), group("a ^q")], "red"))) == 1
    assert list(check_division([], "red")) == []
