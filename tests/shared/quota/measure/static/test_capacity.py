"""Root's capacity: which node counts for which flavor, what groups promise, what caps both."""

from dataclasses import replace

import pytest

from shared.quota.measure.snapshot import measure
from shared.quota.measure.static.capacity import FlavorMatcher, compute_capacity
from shared.quota.model.devices.resources import DeviceResources
from shared.quota.model.flavor import Flavor
from shared.quota.model.node import ClusterNode
from shared.quota.model.settings import CapacitySource, QuotaSettings
from shared.quota.model.tree import Entry, Group, Tree
from shared.resources import FlavorResource
from tests.builders import NOW, world
from tests.trees import KEY, tree

PLAIN = Flavor("default")
A100 = Flavor("a100", node_labels={"gpu": "a100"})
A100_EAST = Flavor("a100-east", node_labels={"gpu": "a100", "zone": "east"})
ANY_EAST = Flavor("any-east", node_labels={"zone": "east"})
BIG_EAST = Flavor("big-east", node_labels={"zone": "east", "size": "big"})


def capacity(
    text: str, nodes: list[ClusterNode], *flavors: Flavor, settings: QuotaSettings | None = None
) -> dict[FlavorResource, int]:
    by_name = {flavor.name: flavor for flavor in flavors}
    return compute_capacity(tree(text), by_name, nodes, settings or QuotaSettings())


@pytest.mark.parametrize(
    ("labels", "flavor"),
    [
        ({}, "default"),
        ({"gpu": "t4"}, "default"),
        ({"gpu": "a100"}, "a100"),
        ({"gpu": "a100", "zone": "east"}, "a100-east"),
        ({"gpu": "a100", "zone": "west"}, "a100"),
        ({"zone": "east"}, "any-east"),
        ({"gpu": "a100", "zone": "east", "size": "big"}, "a100-east"),
    ],
    ids=str,
)
def test_node_counts_for_the_matching_flavor_with_most_labels_then_by_name(labels: dict[str, str], flavor: str) -> None:
    for order in (1, -1):
        flavors = [PLAIN, A100, A100_EAST, ANY_EAST, BIG_EAST][::order]
        assert FlavorMatcher(flavors).flavor_of(labels) == flavor


def test_a_node_of_no_flavor_counts_for_none() -> None:
    assert FlavorMatcher([A100]).flavor_of({"gpu": "t4"}) is None


def test_what_nodes_offer_adds_up_by_flavor() -> None:
    nodes = [
        ClusterNode("one", {"gpu": "a100"}, {"cpu": 8000, "gpu": 8, "pods": 110}),
        ClusterNode("two", {"gpu": "a100"}, {"cpu": 4000, "gpu": 4}),
        ClusterNode("cordoned", {"gpu": "a100"}, {"cpu": 4000, "gpu": 4}, takes_pods=False),
        ClusterNode("draining", {"gpu": "a100"}, {"cpu": 4000, "gpu": 4}, takes_pods=False).keeping({"cpu": 500}),
        ClusterNode("plain", {}, {"cpu": 2000, "ephemeral-storage": 10**9}),
    ]
    assert capacity("root", nodes, A100, PLAIN) == {
        FlavorResource("a100", "cpu"): 12500,
        FlavorResource("a100", "gpu"): 12,
        FlavorResource("default", "cpu"): 2000,
    }


def test_default_flavor_exists_before_its_object() -> None:
    assert capacity("root", [ClusterNode("one", {}, {"cpu": 5})]) == {FlavorResource("default", "cpu"): 5}


def test_capacity_from_groups_is_the_sum_of_the_first_level() -> None:
    promised = QuotaSettings(capacity_source=CapacitySource.GROUPS)
    text = "root\n a 10 | t4:gpu 3\n  a-1 9\n b ..7\n c 5\n system 4"
    nodes = [ClusterNode("one", {}, {"gpu": 99})]
    assert capacity(text, nodes, PLAIN, settings=promised) == {
        FlavorResource("default", "gpu"): 15,
        FlavorResource("t4", "gpu"): 3,
    }


def test_max_of_root_limits_either_source() -> None:
    promised = QuotaSettings(capacity_source=CapacitySource.GROUPS)
    nodes = [ClusterNode("one", {}, {"gpu": 99, "cpu": 7})]
    gpu, cpu = FlavorResource("default", "gpu"), FlavorResource("default", "cpu")
    assert capacity("root 12\n a 30", nodes, settings=promised) == {gpu: 12}
    assert capacity("root 12\n a 30", nodes) == {gpu: 12, cpu: 7}
    assert capacity("root 200\n a 30", nodes) == {gpu: 99, cpu: 7}


def test_configured_amounts_replace_those_of_their_keys() -> None:
    given = QuotaSettings(capacity=(("default", "gpu", 3), ("t4", "gpu", 50)))
    nodes = [ClusterNode("one", {}, {"gpu": 99, "cpu": 7})]
    assert capacity("root t4:gpu 40", nodes, settings=given) == {
        FlavorResource("default", "gpu"): 3,
        FlavorResource("default", "cpu"): 7,
        FlavorResource("t4", "gpu"): 40,
    }


GPU = "gpu.example.com.deviceclass.resource.k8s.io/devices"
NIC = "example.com/nic"
COUNTED = QuotaSettings(devices=DeviceResources({"nic.example.com": NIC}))


def devices(resource: str, least: int, most: int | None = None, flavor: str = "default") -> Entry:
    return Entry(flavor, min={resource: least}, max={} if most is None else {resource: most})


def device_capacity(*root: Entry, source: CapacitySource = CapacitySource.NODES) -> dict[str, int]:
    """Of a tree with groups that are promised 2 and 3 devices, and a node that offers 5 network devices."""
    groups = [
        Group("root", parent=None, is_parent=True, quotas=root),
        Group("a", quotas=(devices(GPU, 2),)),
        Group("b", quotas=(devices(GPU, 3), devices(NIC, 1, flavor="fast"))),
    ]
    node = ClusterNode("one", {}, {"cpu": 8000, NIC: 5})
    found = compute_capacity(Tree.of(groups), {}, [node], replace(COUNTED, capacity_source=source))
    return {f"{key.flavor}/{key.resource}": amount for key, amount in found.items()}


def test_devices_have_the_capacity_promised_to_the_first_level() -> None:
    expected = {"default/cpu": 8000, f"default/{GPU}": 5, f"fast/{NIC}": 1}
    assert device_capacity() == expected


@pytest.mark.parametrize("most", [4, 9], ids=["less than is promised", "more than is promised"])
def test_max_of_root_sets_the_device_capacity(most: int) -> None:
    assert device_capacity(devices(GPU, 0, most))[f"default/{GPU}"] == most


def test_max_of_root_only_limits_devices_with_capacity_from_groups() -> None:
    groups = CapacitySource.GROUPS
    assert device_capacity(devices(GPU, 0, 9), source=groups)[f"default/{GPU}"] == 5
    assert device_capacity(devices(GPU, 0, 4), source=groups)[f"default/{GPU}"] == 4


def test_more_capacity_of_one_flavor_raises_the_max_of_root_in_that_flavor_alone() -> None:
    given = world("root a100:gpu ..4 | t4:gpu ..4\n  a a100:gpu 1", flavors=(Flavor("a100"), Flavor("t4")))
    more = measure(given, NOW).with_more(FlavorResource("a100", "gpu"), 3)
    limits = {each.flavor: dict(each.max) for each in more.tree_index.tree["root"].quotas}
    assert limits == {"a100": {"gpu": 7}, "t4": {"gpu": 4}}


def test_percents_are_shares_of_the_capacity_with_what_is_more() -> None:
    more = measure(world("root 8\n  a 50%"), NOW).with_more(KEY, 4)
    assert more.tree_index.tree["a"].quotas[0].min == {KEY.resource: 6}
