"""Which groups start nothing: what is not there yet, and illegal trees stored without the webhook."""

import itertools
import random

import pytest

from shared.quota.model.lifecycle import Inactive
from shared.quota.model.rules import inactive_groups
from shared.quota.model.tree import Tree
from tests.trees import group, tree

FLAVORS = ("default", "a100")


def reasons(text: str, max_depth: int = 16) -> dict[str, tuple[str, bool]]:
    found = inactive_groups(tree(text), FLAVORS, max_depth)
    return {name: (inactive.reason, inactive.detached) for name, inactive in sorted(found.items())}


def test_legal_tree_has_no_inactive_group() -> None:
    assert reasons("p/ 8\n  a 4\n  b 4\nc a100:gpu 1") == {}


def test_missing_parent_makes_its_subtree_inactive() -> None:
    assert inactive_groups(tree("p/ ^late\n  a\nb"), FLAVORS) == {
        "p": Inactive("ParentAbsent", "parent late does not exist yet; the group is inactive until it does", True),
        "a": Inactive(
            "ParentAbsent", "p above it: parent late does not exist yet; the group is inactive until it does", True
        ),
    }


def test_missing_flavor_makes_only_its_group_inactive() -> None:
    drawn = "p/ h100:gpu 8 | a100:gpu 8\n  a a100:gpu 4\n  b h100:gpu 4"
    assert reasons(drawn) == {"p": ("FlavorAbsent", False), "b": ("FlavorAbsent", False)}


def test_cycle_makes_its_members_and_their_subtrees_inactive() -> None:
    drawn = "a/ ^b\nb/ ^a\nc ^b\nd"
    assert reasons(drawn) == {"a": ("Cycle", True), "b": ("Cycle", True), "c": ("Cycle", True)}


def test_all_members_of_a_cycle_have_the_same_reason() -> None:
    found = inactive_groups(tree("a/ ^b\nb/ ^c\nc/ ^a\nd ^b"), FLAVORS)
    messages = {name: inactive.message for name, inactive in found.items()}
    assert messages["a"] == messages["b"] == messages["c"]
    assert messages["d"] == f"b above it: {messages['b']}"


def test_exceeded_sum_makes_only_the_subtree_of_the_parent_inactive() -> None:
    assert reasons("p/ 8\n  a 6\n    x 1\n  b 6\nq/ 8\n  c 8") == dict.fromkeys(
        ("p", "a", "b", "x"), ("SumOfMinExceedsParent", False)
    )


def test_child_of_a_leaf_is_inactive_and_the_leaf_is_not() -> None:
    assert reasons("p 8\na 1 ^p\nx 1 ^a") == {"a": ("ParentIsLeaf", False), "x": ("ParentIsLeaf", False)}


def test_too_deep_group_is_inactive() -> None:
    assert reasons("a/\n  b/\n    c/\n      d", max_depth=2) == {"c": ("TooDeep", False), "d": ("TooDeep", False)}


def test_nearest_reason_is_reported() -> None:
    assert reasons("p/ 8\n  a 9\n    x 3..2") == {
        "p": ("SumOfMinExceedsParent", False),
        "a": ("SumOfMinExceedsParent", False),
        "x": ("MinAboveMax", False),
    }


def test_group_that_is_its_own_parent_is_a_cycle() -> None:
    assert reasons("a/ ^a\nb ^a") == {"a": ("OwnParent", True), "b": ("OwnParent", True)}


@pytest.mark.parametrize("seed", range(20))
def test_order_of_reading_does_not_change_the_result(seed: int) -> None:
    dice = random.Random(seed)
    names = [f"g{at}" for at in range(12)]
    parents = [*names, "root", "late"]
    groups = [
        group(f"{name}{dice.choice('/ ')} {dice.randint(0, 4)}..{dice.randint(1, 6)} ^{dice.choice(parents)}")
        for name in names
    ]
    first = inactive_groups(Tree.of(groups), FLAVORS)
    for _ in range(5):
        dice.shuffle(groups)
        assert inactive_groups(Tree.of(groups), FLAVORS) == first


def test_chain_of_300_levels_is_checked_quickly() -> None:
    lines = ["n0/", *(f"n{at}/ ^n{at - 1}" for at in range(1, 300))]
    found = inactive_groups(Tree.of(group(line) for line in lines), FLAVORS)
    assert sorted(found) == sorted(f"n{at}" for at in range(16, 300))


def test_cycle_of_2000_groups_is_checked_quickly() -> None:
    names = [f"n{at}" for at in range(2000)]
    found = inactive_groups(
        Tree.of(group(f"{name}/ ^{above}") for name, above in itertools.pairwise([*names, names[0]])), FLAVORS
    )
    assert {inactive.reason for inactive in found.values()} == {"Cycle"}
    assert len(found) == 2000
