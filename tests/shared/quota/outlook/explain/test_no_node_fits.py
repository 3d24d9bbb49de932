"""A pod that no node of a flavor takes: its workload does not start there, does not count there, and is told why."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from shared.quota.decide.plan import plan
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.model.devices.resources import DeviceResources
from shared.quota.model.flavor import Flavor
from shared.quota.model.node import ClusterNode
from shared.quota.model.settings import CapacitySource, QuotaSettings, Uncovered
from shared.quota.model.workload import Workload
from shared.quota.outlook.advise.remedies import advise
from shared.quota.outlook.advise.remedy import RemedyAction
from shared.quota.outlook.explain.explanation import explain
from shared.quota.outlook.explain.pending_reasons import PendingReasons
from shared.resources import Amount, FlavorResource
from tests.builders import NOW, pending
from tests.shared.quota.decide.plan_words import starts
from tests.trees import tree

FLAVORS = (Flavor("big", {"size": "big"}), Flavor("small", {"size": "small"}))
GROUPS = "root\n  a | big:gpu 8 | small:gpu 8"


def nodes(flavor: str, number: int, **allocatable: Amount) -> list[ClusterNode]:
    return [ClusterNode(f"{flavor}-{count}", {"size": flavor}, allocatable) for count in range(number)]


def snapshot(
    work: Iterable[Workload], found: Iterable[ClusterNode], groups: str = GROUPS, settings: QuotaSettings | None = None
) -> Snapshot:
    return measure(World.of(tree(groups), FLAVORS, work, found, settings or QuotaSettings()), NOW)


def requests(of: Snapshot) -> Mapping[str, Amount]:
    return {key.flavor: each.request for key, each in of.numbers["a"].items() if each.request}


FOUR_TIMES_TWO = nodes("small", 4, gpu=2)
ONE_OF_EIGHT = nodes("big", 1, gpu=8)


def test_workload_takes_only_flavors_with_a_node_that_fits_its_pods() -> None:
    work = pending("a", 8, pods=2)
    found = snapshot([work], [*FOUR_TIMES_TWO, *ONE_OF_EIGHT])
    assert starts(plan(found)) == ["job entitled big"]
    assert requests(found) == {"big": 8}
    smaller = snapshot([replace(work, pods=4)], [*FOUR_TIMES_TWO, *ONE_OF_EIGHT])
    assert requests(smaller) == {"big": 8, "small": 8}


def test_workload_without_a_fitting_node_waits_with_the_numbers_of_the_largest_node() -> None:
    work = pending("a", 8, pods=2)
    found = snapshot([work], FOUR_TIMES_TWO)
    decided = plan(found)
    why = PendingReasons(decided).why(work)
    assert why is not None
    assert (why.reason.value, why.binding, why.flavor, why.resource, why.missing) == (
        "NoNodeFits",
        "root",
        "small",
        "gpu",
        2,
    )
    assert why.message == (
        "Job 'ns/job' waits: no node could run its pods (flavor big: requests 8 of big/gpu, the most it could get is "
        "0; flavor small: one pod requests gpu 4; the largest ready node has gpu 2)"
    )
    explained = explain(found, decided, work)
    limits = {each.flavor: each.binding.limit.value for each in explained.flavors if each.binding is not None}
    assert limits == {"big": "capacity", "small": "node"}


def test_numbers_are_those_of_the_largest_node_where_the_quota_is_too_small_too() -> None:
    work = pending("a", 40, pods=2)
    found = snapshot([work], FOUR_TIMES_TWO)
    decided = plan(found)
    why = PendingReasons(decided).why(work)
    assert why is not None
    assert why.message == (
        "Job 'ns/job' waits: no node could run its pods (flavor big: one pod requests gpu 20, and no node of it is "
        "ready; flavor small: one pod requests gpu 20; the largest ready node has gpu 2)"
    )
    bindings = [each.binding for each in explain(found, decided, work).flavors if each.binding is not None]
    assert [(each.limit.value, each.missing) for each in bindings] == [("node", 20), ("node", 18)]
    assert (why.flavor, why.missing) == ("big", 20)


def test_added_larger_node_starts_the_workload() -> None:
    work = pending("a", 8, pods=2)
    before = snapshot([work], FOUR_TIMES_TWO)
    more = replace(before.world, nodes=(*before.world.nodes, *nodes("small", 5, gpu=4)[4:]))
    assert starts(plan(measure(more, NOW, before))) == ["job entitled small"]


def test_node_fit_compares_all_resources_including_those_without_quota() -> None:
    mixed = [*nodes("small", 1, gpu=8, tpu=0), ClusterNode("cpu", {"size": "small"}, {"gpu": 0, "tpu": 8})]
    work = pending("a", {"gpu": 1, "tpu": 1})
    ignoring = QuotaSettings(ignored_resources=frozenset({"tpu"}))

    found = snapshot([work], mixed, settings=QuotaSettings(uncovered=Uncovered.IGNORE))
    why = PendingReasons(plan(found)).why(work)
    assert why is not None
    assert why.reason.value == "NoNodeFits"
    assert starts(plan(snapshot([pending("a", 1)], mixed, settings=ignoring))) == ["job entitled small"]


def test_different_pods_and_promised_capacity_are_not_compared_with_nodes() -> None:
    work = pending("a", 8, pods=0)
    assert starts(plan(snapshot([work], FOUR_TIMES_TWO))) == ["job entitled small"]
    from_groups = QuotaSettings(capacity_source=CapacitySource.GROUPS)
    assert starts(plan(snapshot([pending("a", 8)], (), settings=from_groups))) == ["job entitled big"]


def test_devices_are_not_compared_with_nodes() -> None:
    ignoring = QuotaSettings(uncovered=Uncovered.IGNORE)
    counted = replace(ignoring, devices=DeviceResources({"gpu.example.com": "gpu"}))
    work = pending("a", {"gpu": 8, "tpu": 1})
    offers = nodes("big", 1, gpu=0, tpu=1)
    assert starts(plan(snapshot([work], offers, settings=counted))) == ["job entitled big"]
    assert starts(plan(snapshot([work], nodes("big", 1, gpu=8, tpu=0), settings=counted))) == []
    assert starts(plan(snapshot([work], offers, settings=ignoring))) == []


def test_no_remedy_adds_nodes_that_are_too_small() -> None:
    work = pending("a", 8)
    found = snapshot([work], FOUR_TIMES_TWO)
    decided = plan(found)
    done = {each.do for each in advise(found, explain(found, decided, work)).remedies}
    assert done == {RemedyAction.SHRINK_REQUEST}


def test_node_shapes_do_not_change_the_capacity() -> None:
    found = snapshot([], [*FOUR_TIMES_TWO, *ONE_OF_EIGHT])
    assert found.capacity == {FlavorResource("big", "gpu"): 8, FlavorResource("small", "gpu"): 8}
