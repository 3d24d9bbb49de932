"""Which groups an edit is about, besides the one that it edits."""

from shared.quota.model.rules.context import TreeEdit
from shared.quota.model.rules.registry import its_parent, itself_and_poorer_children
from tests.trees import tree

TREE = tree("p/ 4\n  a 2\nb 1")


def test_only_a_group_that_stays_and_has_a_parent_is_about_its_parent() -> None:
    without_a = tree("p/ 4\nb 1")
    assert list(its_parent(TreeEdit(without_a, TREE, "a"))) == ["p"]
    assert list(its_parent(TreeEdit(TREE, without_a, "a"))) == []
    assert list(its_parent(TreeEdit(TREE, TREE, "root"))) == []


def test_children_are_judged_again_when_their_parent_is_new_or_covers_less() -> None:
    without_p, with_less = tree("  a 2 ^p\nb 1"), tree("p/ a100:gpu 4\n  a 2\nb 1")
    assert list(itself_and_poorer_children(TreeEdit(without_p, TREE, "p"))) == ["p", "a"]
    assert list(itself_and_poorer_children(TreeEdit(TREE, with_less, "p"))) == ["p", "a"]
    assert list(itself_and_poorer_children(TreeEdit(TREE, tree("p/ 5\n  a 2\nb 1"), "p"))) == ["p"]
