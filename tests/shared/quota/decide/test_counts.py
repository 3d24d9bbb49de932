"""How many pods and workloads run at once: decided as any other resource. docs/specification.md §2.12."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from shared.quota.decide.plan import plan
from shared.quota.measure.inputs.recount import recounted
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import measure
from shared.quota.measure.static.capacity import UNBOUNDED
from shared.quota.model.flavor import Flavor
from shared.quota.model.node import ClusterNode
from shared.quota.model.tree import Tree
from shared.quota.model.workload import Workload
from shared.quota.outlook.explain.pending_reasons import PendingReasons
from shared.quota.outlook.outlook import Outlook
from shared.resources import FlavorResource
from tests.builders import NOW, pending, running
from tests.shared.quota.decide.plan_words import given, started_and_evicted, starts, waits
from tests.trees import tree

PODS, WORKLOADS = FlavorResource("counts", "pods"), FlavorResource("counts", "workloads")


def counted(groups: str, workloads: Iterable[Workload], nodes: Iterable[ClusterNode] = ()) -> World:
    """A world with 100 GPUs in which workloads request what their groups count."""
    drawn = groups if groups.startswith("root") else f"root 100\n{groups}"
    world = given(drawn, workloads)
    return recounted(replace(world, nodes=tuple(nodes)), Tree.of(()))


def jobs(group: str, number: int, pods: int = 1) -> list[Workload]:
    return [pending(group, 1, f"{group}{at}", pods=pods) for at in range(number)]


@pytest.mark.parametrize(
    ("groups", "started"),
    [
        ("a 9 | counts:workloads ..2\nb 9", ["a0", "a1", "b0", "b1", "b2"]),
        ("p/ 18 | counts:workloads ..3\n  a 9\n  b 9", ["a0", "a1", "b0"]),
        ("p/ 18\n  a 9 | counts:workloads ..1\n  b 9", ["a0", "b0", "b1", "b2"]),
        ("a 9 | counts:pods ..5\nb 9 | counts:pods 0..2", ["a0", "a1", "b0"]),
        ("root 100 | counts:workloads 3\na 9 | counts:workloads 1 w1\nb 9 | counts:workloads 0 w1", ["a0", "a1", "b0"]),
        ("a 9 | counts:workloads 1..9 b0\nb 9", ["a0", "b0", "b1", "b2"]),
    ],
    ids=["max of a leaf", "max of a parent", "beside a leaf", "pods", "max of root", "borrowingLimit"],
)
def test_no_more_run_at_once_than_a_group_counts(groups: str, started: list[str]) -> None:
    world = counted(groups, [*jobs("a", 3, pods=2), *jobs("b", 3, pods=2)])
    assert sorted(each.split()[0] for each in starts(plan(measure(world, NOW)))) == started


def test_reason_to_wait_is_the_group_that_counts() -> None:
    found = plan(measure(counted("p/ 9 | counts:workloads ..1\n  a 9", jobs("a", 2)), NOW))
    assert [each.message for each in PendingReasons(found)] == [
        "Job 'ns/a1' waits: group 'p' lacks 1 of counts/workloads (request 1, free 0); runs when used falls to 0"
    ]


def test_borrowed_workloads_come_back() -> None:
    groups = "root 100 | counts:workloads 2\na 9 | counts:workloads 1..2\nb 9 | counts:workloads 1..2"
    present = [running("a", 1, f"a{at}", pods=1) for at in range(2)]
    found = plan(measure(counted(groups, [*present, pending("b", 1, "b0")]), NOW))
    assert started_and_evicted(found)[1] == ["a1 Reclaim for b0"]


def test_lowered_count_evicts_what_is_above_it() -> None:
    present = [running("a", 1, f"a{at}", pods=2) for at in range(3)]
    found = plan(measure(counted("a 9 | counts:pods ..4", present), NOW))
    assert started_and_evicted(found)[1] == ["a2 Ceiling"]


def test_nodes_say_how_many_pods_there_can_be_and_nothing_bounds_workloads() -> None:
    nodes = [
        ClusterNode("one", allocatable={"gpu": 8, "pods": 3}),
        ClusterNode("two", {"gpu": "a100"}, {"gpu": 8, "pods": 2}),
        ClusterNode("cordoned", allocatable={"pods": 5}, takes_pods=False).keeping({"pods": 1}),
    ]
    world = counted("a 9 | counts:pods 1 counts:workloads 0", jobs("a", 9), nodes)
    world = replace(world, flavors={"a100": Flavor("a100", {"gpu": "a100"})}, unmanaged={PODS: 2})
    snapshot = measure(world, NOW)
    assert (snapshot.capacity[PODS], snapshot.capacity[WORKLOADS]) == (6, UNBOUNDED)
    assert snapshot.numbers["root"][PODS].runtime == 4
    assert len(starts(plan(snapshot))) == 4


def test_percent_is_of_the_pods_that_nodes_take() -> None:
    nodes = [ClusterNode("one", allocatable={"gpu": 8, "pods": 10})]
    world = counted("a 9 | counts:pods 20%..40%\n", [], nodes)
    numbers = measure(world, NOW).numbers["a"][PODS]
    assert (numbers.min, numbers.ceiling) == (2, 4)


def test_trees_without_counts_know_none() -> None:
    world = replace(given("root 8\na 8", jobs("a", 1)), unmanaged={PODS: 7})
    assert {key.flavor for found in measure(world, NOW).numbers.values() for key in found} == {"default"}


def test_edit_that_names_a_count_is_predicted() -> None:
    before = counted("a 9", jobs("a", 3))
    edited = replace(before, tree=tree("root 100\na 9 | counts:workloads ..2"))
    found = Outlook.of(before, NOW).prediction(recounted(edited, before.tree))
    assert [each.workload.key for each in found.waits] == ["ns/a2"]


def test_count_that_is_not_named_any_more_is_not_counted() -> None:
    before = counted("a 9 | counts:workloads ..2", jobs("a", 3))
    after = recounted(replace(before, tree=tree("root 100\na 9")), before.tree)
    assert waits(plan(measure(after, NOW))) == {}
