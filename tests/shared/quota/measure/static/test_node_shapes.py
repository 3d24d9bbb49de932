"""The largest nodes of each flavor: what is kept from change to change is what a fresh look finds."""

from dataclasses import replace

import pytest

from shared.quota.measure.static.node_shapes import NodeShapes, group_nodes
from shared.quota.model.flavor import Flavor
from shared.quota.model.node import ClusterNode
from shared.quota.model.settings import CapacitySource, QuotaSettings
from tests.prove.numbers.placements import random_nodes
from tests.prove.random_draw import Seeded

FLAVORS = {"default": Flavor("default"), "a": Flavor("a", {"kind": "a"}), "b": Flavor("b", {"kind": "b"})}
SETTINGS = QuotaSettings()


def node(name: str, kind: str = "a", *, takes_pods: bool = True, **allocatable: int) -> ClusterNode:
    return ClusterNode(name, {"kind": kind}, allocatable, takes_pods)


def test_nodes_of_a_flavor_are_those_that_count_for_it_and_take_pods() -> None:
    nodes = [
        node("small", cpu=4, pods=500),
        node("large", cpu=8, gpu=0),
        node("cordoned", cpu=64, takes_pods=False),
        node("of no flavor but default", "c", cpu=16),
    ]
    assert group_nodes(nodes, FLAVORS, SETTINGS) == {"default": ({"cpu": 16},), "a": ({"cpu": 8},), "b": ()}


def test_uncounted_resources_do_not_affect_shapes() -> None:
    nodes = [ClusterNode("n", {"kind": "a"}, {"cpu": 1, "pods": 110, "ephemeral-storage": 5})]
    assert group_nodes(nodes, FLAVORS, SETTINGS)["a"] == ({"cpu": 1},)


@pytest.mark.parametrize(
    ("settings", "compared"),
    [
        (QuotaSettings(capacity_source=CapacitySource.GROUPS), set()),
        (QuotaSettings(capacity=(("a", "cpu", 8),)), {"default", "b"}),
    ],
    ids=["capacity is what groups are promised", "capacity of a flavor is given by hand"],
)
def test_resources_not_offered_by_nodes_are_not_compared(settings: QuotaSettings, compared: set[str]) -> None:
    assert group_nodes([node("n", cpu=1)], FLAVORS, settings).keys() == compared


def test_equal_node_changes_nothing() -> None:
    shapes = NodeShapes(FLAVORS.values(), SETTINGS)
    shapes.change(None, node("one", cpu=8))
    before = shapes.largest()
    shapes.change(None, node("two", cpu=8))
    shapes.change(None, node("smaller", cpu=4))
    shapes.change(node("one", cpu=8), None)
    assert shapes.largest() is before
    shapes.change(node("two", cpu=8), None)
    assert shapes.largest()["a"] == ({"cpu": 4},)


@pytest.mark.parametrize("seed", range(30))
def test_incremental_node_shapes_equal_a_new_computation(seed: int) -> None:
    dice = Seeded(f"shapes {seed}")
    shapes, nodes = NodeShapes(FLAVORS.values(), SETTINGS), dict[str, ClusterNode]()
    for _ in range(60):
        name = f"n{dice.between(0, 9)}"
        found = [] if dice.chance(30) else [replace(each, name=name) for each in random_nodes(dice, 4)]
        before, after = nodes.pop(name, None), found[0] if found else None
        shapes.change(before, after)
        if after is not None:
            nodes[name] = after
        fresh = group_nodes(nodes.values(), FLAVORS, SETTINGS)
        assert shapes.largest() == fresh
