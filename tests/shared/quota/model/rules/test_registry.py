"""Which groups an edit is about, besides the one that it edits."""

from shared.quota.model.rules.context import Change
from shared.quota.model.rules.registry import its_parent
from tests.trees import tree

TREE = tree("p/ 4\n  a 2\nb 1")


def test_only_a_group_that_stays_and_has_a_parent_is_about_its_parent() -> None:
    without_a = tree("p/ 4\nb 1")
    assert list(its_parent(Change(without_a, TREE, "a"))) == ["p"]
    assert list(its_parent(Change(TREE, without_a, "a"))) == []
    assert list(its_parent(Change(TREE, TREE, "root"))) == []
