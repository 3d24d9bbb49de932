"""Rules about a group among others: just accepted, just refused, the whole sentence; in a whole tree and in an edit."""

from dataclasses import replace
from datetime import timedelta
from typing import NamedTuple

import pytest

from shared.quota.model import rules
from shared.quota.model.budgets.budget import Budget, BudgetKey, BudgetPeriod
from shared.quota.model.flavor import Flavor
from shared.quota.model.rules import Context
from shared.quota.model.rules.groups.hierarchy import cycle_heads
from shared.quota.model.settings import (
    BlockAdmission,
    GroupMaxima,
    QueueingMaxima,
    ReclaimMaxima,
    RunTimeMaxima,
    StartupMaxima,
)
from shared.quota.model.tree import NAMESPACE_ACCOUNTS, Entry, Group, QueueOrder, ReclaimOverrides, StartupOverrides
from shared.resources import FlavorResource
from tests.trees import GPU, group, tree

FLAVORS = {name: Flavor(name, {"model": name}) for name in ("default", "a100", "t4")}
CONTEXT = Context(FLAVORS, max_depth=4, capacity={FlavorResource(name, "gpu"): 20 for name in FLAVORS})


class Case(NamedTuple):
    """`edit` is a line of `tests.trees`; it replaces or adds one group of the tree `before`."""

    before: str
    accepted: str
    refused: str
    text: str


CASES = {
    "children promise what the parent has": Case(
        "p/ 8\n  a 6\n  b 1",
        "b 2 ^p",
        "b 4 ^p",
        "QuotaGroup 'p' spec.quotas[0].min: children promise 10 of default/gpu (a 6 + b 4), parent has 8; "
        "raise min to 10 or free 2 from a child (SumOfMinExceedsParent)",
    ),
    "a new child": Case(
        "p/ 8\n  a 6",
        "b 2 ^p",
        "b 3 ^p",
        "QuotaGroup 'p' spec.quotas[0].min: children promise 9 of default/gpu (a 6 + b 3), parent has 8; "
        "raise min to 9 or free 1 from a child (SumOfMinExceedsParent)",
    ),
    "a child moved here": Case(
        "p/ 8\n  a 6\nq/ 8\n  b 3",
        "b 2 ^p",
        "b 3 ^p",
        "QuotaGroup 'p' spec.quotas[0].min: children promise 9 of default/gpu (a 6 + b 3), parent has 8; "
        "raise min to 9 or free 1 from a child (SumOfMinExceedsParent)",
    ),
    "the parent's min lowered": Case(
        "p/ 8\n  a 6",
        "p/ 6",
        "p/ 5",
        "QuotaGroup 'p' spec.quotas[0].min: children promise 6 of default/gpu (a 6), parent has 5; "
        "raise min to 6 or free 1 from a child (SumOfMinExceedsParent)",
    ),
    "six children are named": Case(
        "p/ 6\n  a 1\n  b 1\n  c 1\n  d 1\n  e 1",
        "f 1 ^p",
        "f 2 ^p",
        "QuotaGroup 'p' spec.quotas[0].min: children promise 7 of default/gpu (f 2 + a 1 + b 1 + c 1 + d 1 + e 1), "
        "parent has 6; raise min to 7 or free 1 from a child (SumOfMinExceedsParent)",
    ),
    "of seven children the smallest is counted": Case(
        "p/ 7\n  a 1\n  b 1\n  c 1\n  d 1\n  e 1\n  f 1",
        "g 1 ^p",
        "g 2 ^p",
        "QuotaGroup 'p' spec.quotas[0].min: children promise 8 of default/gpu (g 2 + a 1 + b 1 + c 1 + d 1 + e 1 + "
        "1 more 1), parent has 7; raise min to 8 or free 1 from a child (SumOfMinExceedsParent)",
    ),
    "percents of one parent": Case(
        "p/ 8\n  a 60%",
        "b 40% ^p",
        "b 40.5% ^p",
        "QuotaGroup 'p' spec.quotas: children promise 100.5% of its default/gpu (a 60%, b 40.5%); free 0.5% from a "
        "child (PercentsExceedParent)",
    ),
    "percents of root": Case(
        "a 60%",
        "b 40%..200%",
        "b 41%",
        "QuotaGroup 'root' spec.quotas: children promise 101% of its default/gpu (a 60%, b 41%); free 1% from a child "
        "(PercentsExceedParent)",
    ),
    "percents beside amounts": Case(
        "p/ 8\n  a 50%",
        "b 4 ^p",
        "b 5 ^p",
        "QuotaGroup 'p' spec.quotas[0].min: children promise 9 of default/gpu (b 5 + a 50% (4)), parent has 8; "
        "raise min to 9 or free 1 from a child (SumOfMinExceedsParent)",
    ),
    "amounts below a percent": Case(
        "p/ 40%",
        "a 8 ^p",
        "a 9 ^p",
        "QuotaGroup 'p' spec.quotas[0].min: children promise 9 of default/gpu (a 9), parent has 8; "
        "raise min to 9 or free 1 from a child (SumOfMinExceedsParent)",
    ),
    "a percent min and an amount as max": Case(
        "b 4",
        "a 50%..10",
        "a 50%..9",
        "QuotaGroup 'a' spec.quotas[0].min: min of default/gpu is 50% (10), max is 9; lower min to 9 or raise max to "
        "50% (10) (MinAboveMax)",
    ),
    "a percent of a parent without min": Case(
        "p/ ..8",
        "a ..8 ^p",
        "a ..50% ^p",
        "QuotaGroup 'a' spec.quotas[0].max: a percent of default/gpu is a share of nothing: parent p has no min of it; "
        "give it one, or write an amount (PercentOfNothing)",
    ),
    "a parent's min taken away from below percents": Case(
        "p/ 4..8\n  a ..50%",
        "p/ 1..8",
        "p/ ..8",
        "QuotaGroup 'a' spec.quotas[0].max: a percent of default/gpu is a share of nothing: parent p has no min of it; "
        "give it one, or write an amount (PercentOfNothing)",
    ),
    "a parent with max alone has a min of 0": Case(
        "p/ ..8\n  a ..8",
        "a 0..8 ^p",
        "a 1..8 ^p",
        "QuotaGroup 'p' spec.quotas[0].min: children promise 1 of default/gpu (a 1), parent has 0; "
        "raise min to 1 or free 1 from a child (SumOfMinExceedsParent)",
    ),
    "a flavor the parent has": Case(
        "p/ a100:gpu 8 | t4:gpu 8\n  a a100:gpu 1",
        "a t4:gpu ..1 ^p",
        "a default:gpu ..1 ^p",
        "QuotaGroup 'a' spec.quotas[0].flavor: parent p has no entry for flavor default (it has a100, t4); "
        "add one there or take this one out (FlavorNotInParent)",
    ),
    "a resource the parent covers": Case(
        "p/ a100:gpu 8\n  a a100:gpu 1",
        "a a100:gpu ..1 ^p",
        "a a100:cpu ..1 ^p",
        "QuotaGroup 'a' spec.quotas[0]: covers cpu of a100, parent p covers gpu; add it there or take it out here "
        "(ResourceNotInParent)",
    ),
    "what a child has is not taken from the parent": Case(
        "p/ a100:gpu 8 | t4:gpu 8\n  a a100:gpu 0",
        "p/ a100:gpu 8",
        "p/ t4:gpu 8",
        "QuotaGroup 'a' spec.quotas[0].flavor: parent p has no entry for flavor a100 (it has t4); "
        "add one there or take this one out (FlavorNotInParent)",
    ),
    "the parent holds groups": Case(
        "p/\nq\na",
        "a ^p",
        "a ^q",
        "QuotaGroup 'a' spec.parent: parent q is a leaf: it holds workloads, not groups; name a "
        "group with isParent: true, "
        "or set that on q while it has no workloads (ParentIsLeaf)",
    ),
    "a group others wait for holds groups": Case(
        "a ^p",
        "p/",
        "p",
        "QuotaGroup 'a' spec.parent: parent p is a leaf: it holds workloads, not groups; name a "
        "group with isParent: true, "
        "or set that on p while it has no workloads (ParentIsLeaf)",
    ),
    "no circle": Case(
        "a/\n  b/\n    c/",
        "a/",
        "a/ ^c",
        "QuotaGroup 'a' spec.parent: a would be above itself: a -> c -> b -> a; "
        "give one of them another parent (Cycle)",
    ),
    "no circle through a parent that was absent": Case(
        "a/ ^late\nb/ ^a",
        "late/",
        "late/ ^b",
        "QuotaGroup 'late' spec.parent: late would be above itself: late -> b -> a -> late; "
        "give one of them another parent (Cycle)",
    ),
    "not below a circle": Case(
        "a/ ^b\nb/ ^a\nc",
        "c ^d",
        "c ^a",
        "QuotaGroup 'c' spec.parent: the groups above c form a cycle: a -> b -> a; "
        "give one of them another parent (Cycle)",
    ),
    "no deeper than maxDepth": Case(
        "a/\n  b/\n    c/\n      d/\nx",
        "x ^c",
        "x ^d",
        "QuotaGroup 'x' spec.parent: is on level 5; at most 4 levels below root are allowed: "
        "give it a parent higher up (TooDeep)",
    ),
    "a moved subtree counts as a whole": Case(
        "a/\n  b/\n    c/\nx/\n  y",
        "x/ ^b",
        "x/ ^c",
        "QuotaGroup 'x' spec.parent: is on level 4, y below it on level 5; at most 4 levels below root are allowed: "
        "give it a parent higher up (TooDeep)",
    ),
    "depth through a parent that was absent": Case(
        "a/\n  b/\n    c/\nx/ ^late\n  y",
        "late/ ^a",
        "late/ ^b",
        "QuotaGroup 'late' spec.parent: is on level 3, y below it on level 5; at most 4 levels below root are allowed: "
        "give it a parent higher up (TooDeep)",
    ),
    "the sum of those who wait is judged when the parent appears": Case(
        "a 3 ^late\nb 5 ^late",
        "late/ 8",
        "late/ 7",
        "QuotaGroup 'late' spec.quotas[0].min: children promise 8 of default/gpu (b 5 + a 3), parent has 7; "
        "raise min to 8 or free 1 from a child (SumOfMinExceedsParent)",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_edit_is_accepted_at_each_limit_and_refused_beyond(case: Case) -> None:
    before = tree(case.before)
    fine, broken = group(case.accepted), group(case.refused)

    assert rules.check_change(before, before.with_group(fine), fine.name, CONTEXT).violations == ()
    found = rules.check_change(before, before.with_group(broken), broken.name, CONTEXT)
    assert [each.text for each in found.violations] == [case.text]


@pytest.mark.parametrize("case", [case for name, case in CASES.items() if name != "not below a circle"])
def test_a_whole_tree_breaks_the_same_rule(case: Case) -> None:
    code = case.text.rpartition("(")[2].rstrip(")")
    fine = tree(case.before).with_group(group(case.accepted))
    broken = tree(case.before).with_group(group(case.refused))
    assert rules.check_tree(fine, CONTEXT).violations == ()
    assert {each.rule for each in rules.check_tree(broken, CONTEXT).violations} == {code}


MINUTE = timedelta(minutes=1)
BOUNDED = Context(
    FLAVORS,
    maxima=GroupMaxima(
        ReclaimMaxima(notice=MINUTE), StartupMaxima(BlockAdmission.GROUP), QueueingMaxima(MINUTE), RunTimeMaxima(MINUTE)
    ),
)


def with_overrides(notice: timedelta, blocks: BlockAdmission = BlockAdmission.NONE) -> Group:
    reclaim, startup = ReclaimOverrides(notice=notice), StartupOverrides(block_admission=blocks)
    return replace(group("a 1"), reclaim=reclaim, startup=startup, patience=notice, max_run_time=notice)


def test_group_settings_are_limited_by_the_maxima() -> None:
    before = tree("a 1")
    fine = with_overrides(MINUTE, BlockAdmission.GROUP)
    broken = with_overrides(1.5 * MINUTE, BlockAdmission.CLUSTER)
    assert rules.check_change(before, before.with_group(fine), "a", BOUNDED) == rules.NO_FINDINGS
    found = rules.check_change(before, before.with_group(broken), "a", BOUNDED)
    assert [each.text for each in found.violations] == [
        (
            "QuotaGroup 'a' spec.reclaim.notice: is 1m30s, at most 1m is allowed (quota.maxima.reclaim.notice); "
            "lower it (AboveMaximum)"
        ),
        (
            "QuotaGroup 'a' spec.startup.blockAdmission: is Cluster, at most Group is allowed "
            "(quota.maxima.startup.blockAdmission); lower it (AboveMaximum)"
        ),
        (
            "QuotaGroup 'a' spec.queueing.patience: is 1m30s, at most 1m is allowed (quota.maxima.queueing.patience); "
            "lower it (AboveMaximum)"
        ),
        (
            "QuotaGroup 'a' spec.maxRunTime: is 1m30s, at most 1m is allowed (quota.maxima.maxRunTime); lower it "
            "(AboveMaximum)"
        ),
    ]
    assert rules.check_tree(before.with_group(broken), BOUNDED).violations == found.violations


def test_setting_above_its_maximum_can_be_lowered_step_by_step() -> None:
    before = tree("a 1").with_group(with_overrides(3 * MINUTE))
    lower, higher = (before.with_group(with_overrides(minutes * MINUTE)) for minutes in (2, 4))
    assert rules.check_change(before, lower, "a", BOUNDED).violations == ()
    assert [each.rule for each in rules.check_change(before, higher, "a", BOUNDED).violations] == ["AboveMaximum"] * 3


class Warned(NamedTuple):
    before: str
    edit: str
    silent: str
    text: str


WARNINGS = {
    "an absent parent": Warned(
        "p/",
        "a ^q",
        "a ^p",
        "QuotaGroup 'a' spec.parent: parent q does not exist yet; the group is inactive until it does (ParentAbsent)",
    ),
    "a percent of what no node has": Warned(
        "b 3",
        "a t4:cpu 40%",
        "a t4:gpu 40%",
        "QuotaGroup 'a' spec.quotas[0].min: the cluster has no t4/cpu, so the percent counts 0 until a node offers "
        "some (PercentOfNoNode)",
    ),
    "an absent flavor": Warned(
        "p/",
        "a h100:gpu 1",
        "a a100:gpu 1",
        "QuotaGroup 'a' spec.quotas[0].flavor: flavor h100 does not exist yet; the group is inactive until it does "
        "(FlavorAbsent)",
    ),
    "a percent in an absent flavor": Warned(
        "p/",
        "a h100:gpu 40%",
        "a a100:gpu 40%",
        "QuotaGroup 'a' spec.quotas[0].flavor: flavor h100 does not exist yet; the group is inactive until it does "
        "(FlavorAbsent)",
    ),
    "the first level above capacity": Warned(
        "a 15",
        "b 6",
        "b 5",
        "QuotaGroup 'root' spec.quotas: the first level is promised 21 of default/gpu, capacity is 20; "
        "mins are scaled down while demand exceeds it (FirstLevelAboveCapacity)",
    ),
    "the first level above root's max": Warned(
        "root ..10\na 6",
        "b 5",
        "b 4",
        "QuotaGroup 'root' spec.quotas: the first level is promised 11 of default/gpu, capacity is 10; "
        "mins are scaled down while demand exceeds it (FirstLevelAboveCapacity)",
    ),
    "a weight on some siblings": Warned(
        "a 1 w2\nb 1 w1",
        "c 1",
        "c 1 w0",
        "QuotaGroup 'root' spec.quotas: of the children a, b set a weight for default/gpu, c do not: "
        "their share follows their max; set it on all or on none (WeightOnSome)",
    ),
}


@pytest.mark.parametrize("case", WARNINGS.values(), ids=WARNINGS)
def test_edit_is_accepted_with_its_warning(case: Warned) -> None:
    before = tree(case.before)
    warned, silent = group(case.edit), group(case.silent)
    found = rules.check_change(before, before.with_group(warned), warned.name, CONTEXT)
    assert (found.violations, [each.text for each in found.warnings]) == ((), [case.text])
    assert rules.check_change(before, before.with_group(silent), silent.name, CONTEXT) == rules.NO_FINDINGS
    assert [each.text for each in rules.check_tree(before.with_group(warned), CONTEXT).warnings] == [case.text]


@pytest.mark.parametrize(
    ("order", "weights", "warns"),
    [
        pytest.param(QueueOrder.NAMESPACE, {"here": 2000}, "", id="of a namespace that exists"),
        pytest.param(QueueOrder.NAMESPACE, {"gone": 2000}, "there is no namespace gone", id="of one that does not"),
        pytest.param(QueueOrder.USER, {"ann": 1, NAMESPACE_ACCOUNTS + "here": 1}, "", id="of users, who are not known"),
        pytest.param(QueueOrder.USER, {NAMESPACE_ACCOUNTS + "gone": 1}, "there is no namespace", id="of accounts"),
        pytest.param(QueueOrder.AGE, {"here": 1}, "weights have no effect, because the order is Age", id="by age"),
    ],
)
def test_a_weight_without_effect_is_accepted_with_a_warning(
    order: QueueOrder, weights: dict[str, int], warns: str
) -> None:
    edited = replace(group("a 1"), order=order, order_weights=weights)
    context = Context(FLAVORS, namespaces={"here"})
    found = rules.check_change(tree(""), tree("").with_group(edited), "a", context)
    assert found.violations == ()
    assert [(each.rule, each.message.startswith(warns)) for each in found.warnings] == (
        [("UnusedWeight", True)] if warns else []
    )
    unknown = rules.check_change(tree(""), tree("").with_group(edited), "a", Context(FLAVORS))
    assert bool(unknown.warnings) is (order is QueueOrder.AGE)


def test_a_budget_of_what_no_entry_covers_is_accepted_with_a_warning() -> None:
    def edited(resource: str, flavor: str) -> rules.Findings:
        own = Budget(BudgetKey(resource, flavor, BudgetPeriod.DAY, "UTC"), 1000)
        return rules.check_change(tree(""), tree("").with_group(replace(group("a 1"), budgets=(own,))), "a", CONTEXT)

    assert edited("gpu", "") == edited("gpu", "default") == rules.NO_FINDINGS
    [warning] = edited("cpu", "").warnings
    assert warning.text == (
        "QuotaGroup 'a' spec.budgets[0].resource: no entry covers cpu, so the budget has no effect; name it in min "
        "(UnusedBudget)"
    )
    assert [each.rule for each in edited("gpu", "a100").warnings] == ["UnusedBudget"]


def test_unknown_capacity_is_not_compared() -> None:
    before = tree("a 10000")
    found = rules.check_change(before, before.with_group(group("b 10000")), "b", Context(FLAVORS))
    assert found == rules.NO_FINDINGS


def test_children_of_root_can_have_any_flavor_resource_and_sum() -> None:
    drawn = tree("root ..4\na a100:cpu 9\nb t4:gpu 9")
    assert rules.check_tree(drawn, Context(FLAVORS)) == rules.NO_FINDINGS


def test_child_can_have_a_max_above_that_of_its_parent_and_a_guarantee_above_what_it_lends() -> None:
    drawn = tree("p/ 8..10 l8\n  a 8..100 l0")
    assert rules.check_tree(drawn, Context(FLAVORS)) == rules.NO_FINDINGS


def test_each_cycle_is_listed_once_and_a_group_that_is_its_own_parent_is_none() -> None:
    stored = tree("b/ ^c\nc/ ^b\na/ ^b\ny/ ^x\nx/ ^y\nown/ ^own")
    assert list(cycle_heads(stored)) == ["b", "x"]


@pytest.mark.parametrize(("measured", "warned"), [(None, True), (frozenset({"default"}), True), (frozenset(), False)])
def test_capacity_of_a_flavor_that_is_not_measured_yet_is_not_called_0(
    measured: frozenset[str] | None, warned: bool
) -> None:
    context = rules.Context(flavors={"default": Flavor("default")}, capacity={}, measured=measured)
    found = rules.check_change(tree(""), tree("a 5"), "a", context)
    assert ("FirstLevelAboveCapacity" in {each.rule for each in found.warnings}) == warned


PROMISED = Context(FLAVORS, capacity={}, promised=lambda _: True)


@pytest.mark.parametrize(
    ("root", "edit", "text"),
    [
        ("root", "a 50%", "root's capacity of it is what the first level is promised; give root a max of it"),
        ("root 8", "a 50%", ""),
        ("root", "a 50% ^p", ""),
    ],
)
def test_a_share_of_what_is_promised_needs_roots_max(root: str, edit: str, text: str) -> None:
    before = tree(f"{root}\np/ 4")
    found = rules.check_change(before, before.with_group(group(edit)), "a", PROMISED).violations
    assert [each.message for each in found] == (
        [f"a percent of default/gpu is a share of nothing: {text}, or write an amount"] if text else []
    )


def test_root_cannot_have_a_share_of_what_is_promised() -> None:
    before = tree("root")
    root = replace(group("root ..50%"), parent=None, is_parent=True)
    found = rules.check_change(before, before.with_group(root), "root", PROMISED).violations
    assert [(each.rule, each.field) for each in found] == [("PercentOfNothing", "spec.quotas[0].max")]
    assert rules.check_change(before, before.with_group(root), "root", CONTEXT).violations == ()


def test_percents_are_judged_by_themselves_where_no_capacity_is_known() -> None:
    unknown = Context(FLAVORS)
    before = tree("a 60%\nb ..4")
    assert rules.check_change(before, before.with_group(group("b 50%..4")), "b", unknown).violations[0].rule == (
        "PercentsExceedParent"
    )
    for fine in ("b 40%..1", "b 1 l40%", "b 40% l40%"):
        assert rules.check_change(before, before.with_group(group(fine)), "b", unknown) == rules.NO_FINDINGS


@pytest.mark.parametrize(
    ("share", "rule"),
    [
        (Entry("default", percents={"min": {"cpu": 50_000}}), "ResourceNotInParent"),
        (Entry("a100", percents={"max": {GPU: 50_000}}), "FlavorNotInParent"),
    ],
)
def test_a_percent_of_what_the_parent_does_not_cover_is_one_finding(share: Entry, rule: str) -> None:
    before = tree("p/ 8\n  a 1")
    after = before.with_group(replace(before["a"], quotas=(share,)))
    assert [each.rule for each in rules.check_change(before, after, "a", CONTEXT).violations] == [rule]


def test_nodes_that_come_and_go_make_no_group_inactive() -> None:
    drawn = tree("p/ 50%..10\n  a 9\nq/ 8\n  b 50%..1\n  c 7")
    assert rules.inactive_groups(drawn, FLAVORS) == {}
    assert rules.inactive_groups(tree("p/ 8\n  a 60%\n  b 41%"), FLAVORS)["a"].reason == "PercentsExceedParent"
