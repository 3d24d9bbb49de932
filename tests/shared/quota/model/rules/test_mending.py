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
def test_a_step_that_mends_a_sum_is_accepted_and_told_what_is_left(line: str) -> None:
    found = change(line)
    assert found.violations == ()
    assert [each.rule for each in found.warnings] == ["SumOfMinExceedsParent"]


@pytest.mark.parametrize("line", ["a 7 ^p", "p/ 7", "d 1 ^p"], ids=["a child raised", "the parent lowered", "moved in"])
def test_a_step_that_makes_a_sum_worse_is_refused(line: str) -> None:
    assert [each.rule for each in change(line).violations] == ["SumOfMinExceedsParent"]


def test_an_edit_of_another_field_is_accepted_in_a_broken_tree() -> None:
    held = replace(OVER["a"], stop_policy=StopPolicy.HOLD)
    assert rules.check_change(OVER, OVER.with_group(held), "a", CONTEXT) == rules.NO_FINDINGS


def test_an_edit_of_another_resource_is_accepted_in_a_broken_tree() -> None:
    more = replace(OVER["p"], quotas=(*OVER["p"].quotas, Entry("default", min={"cpu": 5})))
    assert rules.check_change(OVER, OVER.with_group(more), "p", CONTEXT).violations != ()
    other = replace(OVER["p"], quotas=(*OVER["p"].quotas, Entry("t4", min={"cpu": 5})))
    assert rules.check_change(OVER, OVER.with_group(other), "p", CONTEXT).violations == ()


def test_a_broken_subtree_does_not_block_another() -> None:
    assert change("d 10 ^q") == rules.NO_FINDINGS


def test_a_stored_circle_is_opened_by_one_edit_and_does_not_stop_other_edits_of_its_members() -> None:
    before = tree("a/ ^b\nb/ ^a")
    opened = group("a/")
    assert rules.check_change(before, before.with_group(opened), "a", CONTEXT) == rules.NO_FINDINGS
    held = replace(before["a"], stop_policy=StopPolicy.HOLD)
    assert rules.check_change(before, before.with_group(held), "a", CONTEXT) == rules.NO_FINDINGS


def test_a_leaf_that_was_stored_with_children_may_be_made_a_parent() -> None:
    before = tree("p\na ^p")
    assert rules.check_change(before, before.with_group(group("p/")), "p", CONTEXT) == rules.NO_FINDINGS


def test_a_tree_stored_too_deep_may_be_raised_step_by_step() -> None:
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


def test_an_own_rule_is_not_run_again_for_what_the_edit_leaves_alone() -> None:
    broken = Entry("default", min={"gpu": 2}, max={"gpu": 1})
    before = tree("").with_group(Group("a", quotas=(broken,)))
    added = Group("a", quotas=(broken, Entry("t4", max={"gpu": 1})))
    changed = Group("a", quotas=(replace(broken, min={"gpu": 3}),))
    assert rules.check_change(before, before.with_group(added), "a", CONTEXT).violations == ()
    assert [each.rule for each in rules.check_change(before, before.with_group(changed), "a", CONTEXT).violations] == [
        "MinAboveMax"
    ]
