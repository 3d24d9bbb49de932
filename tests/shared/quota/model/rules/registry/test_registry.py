"""Which groups an edit is about, besides the one that it edits."""

from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any

import pytest

from shared.quota.model.rules.checking import changed_fields
from shared.quota.model.rules.context import Context, GroupWorkloads, TreeEdit
from shared.quota.model.rules.registry import CHANGE_RULES, ChangeRule, its_parent, itself_and_poorer_children
from shared.quota.model.tree import DEFAULT, SYSTEM, Group, Override, Preemption, StopPolicy, Tree
from shared.resources import FlavorResource
from tests.builders import NOW
from tests.trees import group, tree

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


WHOLE = tree("p/ 4\n  a 2\nb 3").with_group(Group(SYSTEM)).with_group(Group(DEFAULT))
WORK = GroupWorkloads(pending=1, running=1, non_preemptible={FlavorResource("default", "gpu"): 3})
EDITED: dict[str, Any] = {
    "parent": "p",
    "is_parent": True,
    "quotas": group("x 1").quotas,
    "allow_lending": False,
    "patience": timedelta(hours=1),
    "preemption": Preemption.NEVER,
    "stop_policy": StopPolicy.HOLD,
    "require_requests": True,
    "overrides": (Override(NOW - timedelta(days=2), NOW - timedelta(days=1), stop_policy=StopPolicy.CLOSE),),
}


def edits() -> Iterator[TreeEdit]:
    """Each group deleted, and each with one field edited."""
    for name, old in WHOLE.groups.items():
        kept = {key: each for key, each in WHOLE.groups.items() if key != name}
        yield TreeEdit(WHOLE, Tree(kept), name)
        for field in fields(Group):
            value: Any = not old.is_parent if field.name == "is_parent" else EDITED.get(field.name)
            if field.name in EDITED:
                yield TreeEdit(WHOLE, WHOLE.with_group(replace(old, **{field.name: value})), name)


@pytest.mark.parametrize("rule", CHANGE_RULES, ids=[rule.codes[0] for rule in CHANGE_RULES])
def test_a_rule_about_an_edit_finds_something_only_where_a_field_that_it_reads_changes(rule: ChangeRule) -> None:
    context = Context(workloads=lambda _: WORK, now=NOW)
    found = [edit for edit in edits() if list(rule.check(edit, context))]
    assert [edit for edit in found if not rule.reads & changed_fields(edit.old, edit.new)] == []
    assert (rule.codes, len(found) > 0) == (rule.codes, True)
