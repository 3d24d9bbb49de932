"""What was broken before is not held against an edit, so that an illegal tree can be fixed step by step."""

from dataclasses import replace

import pytest

from shared.quota.model import rules
from shared.quota.model.rules import Context
from shared.quota.model.tree import Entry, Group, StopPolicy
from tests.trees import group, tree

CONTEXT = Context(max_depth=4)
OVER = tree("p/ 8\n  a 6\n  b 6\n  c 6\nq/ 10\n  d 1")


def change(line: str) -> rules.Findings:
    edited = group(line)
    return rules.check_change(OVER, OVER.with_group(edited), edited.name, CONTEXT)


@pytest.mark.parametrize("line", ["a 5 ^p", "p/ 9", "a 6 ^q"], ids=["a child lowered", "parent raised", "moved out"])
def test_edit_that_improves_a_broken_sum_is_accepted_with_what_is_left(line: str) -> None:
    found = change(line)
    assert found.violations == ()
    assert [each.rule for each in found.warnings] == ["SumOfMinExceedsParent"]


@pytest.mark.parametrize("line", ["a 7 ^p", "p/ 7", "d 1 ^p"], ids=["a child raised", "the parent lowered", "moved in"])
def test_edit_that_worsens_a_broken_sum_is_refused(line: str) -> None:
    assert [each.rule for each in change(line).violations] == ["SumOfMinExceedsParent"]


def test_an_edit_of_another_field_is_accepted_in_a_broken_tree() -> None:
    held = replace(OVER["a"], stop_policy=StopPolicy.HOLD)
    assert rules.check_change(OVER, OVER.with_group(held), "a", CONTEXT) == rules.NO_FINDINGS


def test_an_edit_of_another_resource_is_accepted_in_a_broken_tree() -> None:
    more = replace(OVER["p"], quotas=(*OVER["p"].quotas, Entry("default", min={"cpu": 5})))
    assert rules.check_change(OVER, OVER.with_group(more), "p", CONTEXT).violations != ()
    other = replace(OVER["p"], quotas=(*OVER["p"].quotas, Entry("t4", min={"cpu": 5})))
    assert rules.check_change(OVER, OVER.with_group(other), "p", CONTEXT).violations == ()


def test_broken_subtree_does_not_block_another() -> None:
    assert change("d 10 ^q") == rules.NO_FINDINGS


def test_stored_cycle_is_broken_by_one_edit_and_allows_other_edits_of_its_members() -> None:
    before = tree("a/ ^b\nb/ ^a")
    opened = group("a/")
    assert rules.check_change(before, before.with_group(opened), "a", CONTEXT) == rules.NO_FINDINGS
    held = replace(before["a"], stop_policy=StopPolicy.HOLD)
    assert rules.check_change(before, before.with_group(held), "a", CONTEXT) == rules.NO_FINDINGS


def test_stored_leaf_with_children_can_become_a_parent() -> None:
    before = tree("p\na ^p")
    assert rules.check_change(before, before.with_group(group("p/")), "p", CONTEXT) == rules.NO_FINDINGS


def test_too_deep_stored_tree_can_be_fixed_step_by_step() -> None:
    before = tree("a/\n  b/\n    c/\n      d/\n        e/\n          f/\n            g/")
    raised = group("c/")
    found = rules.check_change(before, before.with_group(raised), "c", CONTEXT)
    assert found.violations == ()
    assert [each.text for each in found.warnings] == [
        (
            "QuotaGroup 'c' spec.parent: is on level 1, g below it on level 5; at most 4 levels "
            "below root are allowed: give it a parent higher up (TooDeep)"
        )
    ]


def test_rules_about_one_group_skip_fields_that_the_edit_does_not_change() -> None:
    broken = Entry("default", min={"gpu": 2}, max={"gpu": 1})
    before = tree("").with_group(Group("a", quotas=(broken,)))
    added = Group("a", quotas=(broken, Entry("t4", max={"gpu": 1})))
    changed = Group("a", quotas=(replace(broken, min={"gpu": 3}),))
    assert rules.check_change(before, before.with_group(added), "a", CONTEXT).violations == ()
    assert [each.rule for each in rules.check_change(before, before.with_group(changed), "a", CONTEXT).violations] == [
        "MinAboveMax"
    ]
