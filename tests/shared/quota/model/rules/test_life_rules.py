"""Rules about an edit itself: turning, deleting, the three built-in groups, and min below what is held."""

from dataclasses import replace

import pytest

from shared.quota.model import rules
from shared.quota.model.flavor import Flavor
from shared.quota.model.rules import Context, GroupWorkloads
from shared.quota.model.tree import DEFAULT, ROOT, SYSTEM, Group, StopPolicy, Tree
from shared.resources import FlavorResource
from tests.trees import group, tree

NOTHING = Context()
DRAWN = tree("p/ 8\n  a 4\n  b 2\nq/\nc").with_group(Group(SYSTEM)).with_group(Group(DEFAULT))


def with_work(name: str, work: GroupWorkloads) -> Context:
    return Context(workloads=lambda group: work if group == name else GroupWorkloads())


def texts(found: rules.Findings) -> list[str]:
    return [each.text for each in found.violations]


def test_empty_group_can_change_between_leaf_and_parent() -> None:
    assert rules.check_change(DRAWN, DRAWN.with_group(group("q")), "q", NOTHING) == rules.NO_FINDINGS
    assert rules.check_change(DRAWN, DRAWN.with_group(group("c/")), "c", NOTHING) == rules.NO_FINDINGS


def test_group_with_children_cannot_become_a_leaf() -> None:
    found = rules.check_change(DRAWN, DRAWN.with_group(group("p 8")), "p", NOTHING)
    assert texts(found)[0] == (
        "QuotaGroup 'p' spec.isParent: still holds 2 groups (a, b); move or delete them first (TurnedWithChildren)"
    )
    assert {each.rule for each in found.violations} == {"TurnedWithChildren", "ParentIsLeaf"}


@pytest.mark.parametrize("work", [GroupWorkloads(pending=1), GroupWorkloads(running=1)], ids=["pending", "running"])
def test_leaf_with_workloads_cannot_get_children(work: GroupWorkloads) -> None:
    found = rules.check_change(DRAWN, DRAWN.with_group(group("c/")), "c", with_work("c", work))
    assert texts(found) == [
        (f"QuotaGroup 'c' spec.isParent: still holds workloads ({work}); finish or move them first (TurnedWithWork)")
    ]


def test_empty_group_can_be_deleted() -> None:
    assert rules.check_change(DRAWN, DRAWN.without("c"), "c", NOTHING) == rules.NO_FINDINGS


def test_group_with_children_cannot_be_deleted() -> None:
    assert texts(rules.check_change(DRAWN, DRAWN.without("p"), "p", NOTHING)) == [
        (
            "QuotaGroup 'p': cannot be deleted while it holds 2 groups (a, b); move or delete them first "
            "(DeletedWithChildren)"
        )
    ]


def test_group_with_workloads_cannot_be_deleted() -> None:
    context = with_work("c", GroupWorkloads(pending=3, running=2))
    assert texts(rules.check_change(DRAWN, DRAWN.without("c"), "c", context)) == [
        (
            "QuotaGroup 'c': cannot be deleted while it holds workloads (3 pending, 2 running); "
            "finish or move them first (DeletedWithWork)"
        )
    ]


@pytest.mark.parametrize("name", [ROOT, SYSTEM, DEFAULT])
def test_built_in_group_cannot_be_deleted(name: str) -> None:
    found = rules.check_change(DRAWN, DRAWN.without(name), name, NOTHING)
    assert found.violations[0].text == (
        f"QuotaGroup '{name}': is one of the three groups every cluster has; it cannot be deleted (BuiltInDeleted)"
    )


@pytest.mark.parametrize("line", ["root ..100", "default 4..8 w2"])
def test_max_of_root_and_quotas_of_default_can_be_edited(line: str) -> None:
    edited = group(line)
    if edited.name == ROOT:
        edited = replace(edited, parent=None, is_parent=True)
    assert rules.check_change(DRAWN, DRAWN.with_group(edited), edited.name, NOTHING).violations == ()


def test_system_group_cannot_be_edited() -> None:
    after = DRAWN.with_group(Group(SYSTEM, stop_policy=StopPolicy.HOLD))
    assert texts(rules.check_change(DRAWN, after, SYSTEM, NOTHING)) == [
        (
            "QuotaGroup 'system' spec: system is never limited and never recycled; none of its fields may be edited "
            "(SystemLocked)"
        )
    ]


def test_built_in_groups_can_be_created() -> None:
    empty = Tree.of([])
    for name in (SYSTEM, DEFAULT):
        assert rules.check_change(empty, empty.with_group(Group(name)), name, NOTHING) == rules.NO_FINDINGS
    root = Group(ROOT, None, is_parent=True, uid="1")
    assert rules.check_change(empty, empty.with_group(root), ROOT, NOTHING) == rules.NO_FINDINGS


def test_min_lowered_below_non_preemptible_use_is_warned_of() -> None:
    key = FlavorResource("default", "gpu")
    context = with_work("a", GroupWorkloads(running=1, non_preemptible={key: 3}))
    warned = rules.check_change(DRAWN, DRAWN.with_group(group("a 2 ^p")), "a", context)
    assert (warned.violations, [each.text for each in warned.warnings]) == (
        (),
        [
            (
                "QuotaGroup 'a' spec.quotas: min of default/gpu is lowered to 2, workloads that are not preemptible "
                "use 3: they continue, and no more of them start until they use less than min (MinBelowNonPreemptible)"
            )
        ],
    )
    assert rules.check_change(DRAWN, DRAWN.with_group(group("a 3 ^p")), "a", context) == rules.NO_FINDINGS
    low, capped = (DRAWN.with_group(group(line)) for line in ("a 2 ^p", "a 2..4 ^p"))
    assert rules.check_change(low, capped, "a", context) == rules.NO_FINDINGS


def test_flavor_in_use_cannot_be_deleted() -> None:
    drawn = tree("a a100:gpu 1\nb a100:gpu ..1\nc t4:gpu 1")
    flavor = Flavor("a100")
    found = rules.check_flavor_change(flavor, None, Context({"a100": flavor}), drawn)
    assert texts(found) == [
        (
            "ResourceFlavor 'a100': cannot be deleted while groups use it (a, b); take its entries out of them first "
            "(FlavorInUse)"
        )
    ]
    assert rules.check_flavor_change(Flavor("h100"), None, NOTHING, drawn) == rules.NO_FINDINGS


def test_unlabelled_flavor_next_to_open_labelled_ones_is_warned_of() -> None:
    context = Context({"a100": Flavor("a100", {"model": "a100"})})
    found = rules.check_flavor_change(None, Flavor("any"), context, DRAWN)
    assert [each.text for each in found.warnings] == [
        (
            "ResourceFlavor 'any' spec.nodeLabels: has no nodeLabels, and the nodes of a100 have no taint: "
            "workloads of any might run on them; taint those nodes, or give any a label (UnlabelledFlavor)"
        )
    ]
