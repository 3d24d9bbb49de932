"""Rules about an edit itself: turning, deleting, the three built-in groups, and min below what is held."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import permutations

import pytest

from shared.api.core.placement import Taint
from shared.quota.measure.static.capacity import FlavorMatcher
from shared.quota.model import rules
from shared.quota.model.flavor import Flavor, nodes_taken_by
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


def test_an_edited_flavor_is_warned_of_again_only_if_its_labels_or_taints_change() -> None:
    context = Context({"a100": Flavor("a100", {"model": "a100"}), "any": Flavor("any")})
    tainted = replace(Flavor("any"), node_taints=(Taint("team", "a", "NoSchedule"),))
    found = [
        [each.rule for each in rules.check_flavor_change(Flavor("any"), after, context, DRAWN).warnings]
        for after in (Flavor("any"), tainted)
    ]
    assert found == [[], ["UnlabelledFlavor"]]


@pytest.mark.parametrize(
    ("labels", "drawn", "warned"),
    [
        pytest.param({"std": {}}, "a std:cpu 1", ["std has no nodeLabels, like default"], id="beside the built-in one"),
        pytest.param({"any": {}}, "a any:cpu 1", [], id="before the built-in one, which is not used"),
        pytest.param(
            {"any": {}, "default": {}}, "a 1", ["default has no nodeLabels, like any"], id="used built-in one"
        ),
        pytest.param(
            {"a": {"m": "1"}, "b": {"m": "1"}, "default": {}}, "a 1", ["b has the same nodeLabels as a"], id="labelled"
        ),
        pytest.param({"std": {}, "default": {"m": "1"}}, "a std:cpu 1", [], id="the built-in one has labels"),
        pytest.param({"a": {"m": "1"}, "b": {"m": "1", "n": "2"}}, "a b:cpu 1", [], id="one has more labels"),
    ],
)
def test_flavors_of_the_same_nodes_are_warned_of(
    labels: Mapping[str, Mapping[str, str]], drawn: str, warned: Sequence[str]
) -> None:
    context = Context({name: Flavor(name, each) for name, each in labels.items()})
    found = [each for each in rules.check_tree(tree(drawn), context).warnings if each.rule == "AmbiguousFlavor"]
    assert [f"{each.object.partition('/')[2]} {each.message.partition(': a node')[0]}" for each in found] == warned
    nodes_only = replace(context, counts_nodes=False)
    assert not [each for each in rules.check_tree(tree(drawn), nodes_only).warnings if each.rule == "AmbiguousFlavor"]


@pytest.mark.parametrize("names", list(permutations(("any", "default", "std"))))
def test_named_taker_of_nodes_is_the_one_that_capacity_counts_them_for(names: Sequence[str]) -> None:
    flavors = [*map(Flavor, names), Flavor("x", {"m": "1"}), Flavor("y", {"m": "1"})]
    matcher = FlavorMatcher(flavors)
    taken = nodes_taken_by(flavors)
    assert taken == {"default": "any", "std": "any", "y": "x"}
    assert {matcher.flavor_of(each.node_labels) for each in flavors} == {each.name for each in flavors} - taken.keys()
