"""Groups of different pods: each set on its own flavor's nodes, all together or none, evicted as a whole."""

import json
from typing import Any

import pytest

from dev.controlplane import cluster
from shared.api.names import (
    ADMISSION,
    EVICTION,
    GATE,
    GROUP_LABEL,
    POD_GROUP_LABEL,
    POD_GROUP_SIZE_LABEL,
    POD_SET_LABEL,
)
from tests.reconciler.reconciler_process import Quotree, wait_for

pytestmark = pytest.mark.timeout(900)
PODS = "/api/v1/namespaces/default/pods"
LONG = 240.0
GPU = "nvidia.com/gpu"


def node(model: str, **resources: str) -> cluster.NodeSpec:
    return cluster.NodeSpec(f"{model}-0", labels={"model": model}, allocatable={"pods": "20", **resources})


def entry(flavor: str, cpu: str = "0", gpu: str = "0") -> dict[str, Any]:
    return {"flavor": flavor, "min": {"cpu": cpu, GPU: gpu}}


def pod(name: str, group: str, ring: str, size: int, **requests: str) -> dict[str, Any]:
    resources = {"cpu": requests["cpu"]} | ({GPU: requests["gpu"]} if "gpu" in requests else {})
    labels = {GROUP_LABEL: group, POD_GROUP_LABEL: ring, POD_GROUP_SIZE_LABEL: str(size)}
    if "pod_set" in requests:
        labels[POD_SET_LABEL] = requests["pod_set"]
    container = {"name": "main", "image": "none", "resources": {"requests": resources, "limits": resources}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {"schedulingGates": [{"name": GATE}], "containers": [container]},
    }


def ring(name: str, group: str) -> list[dict[str, Any]]:
    """A driver that needs a CPU, and two workers with two GPUs each."""
    driver = pod(f"{name}-driver", group, name, 3, cpu="1", pod_set="driver")
    return [driver, *(pod(f"{name}-worker-{number}", group, name, 3, cpu="1", gpu="2") for number in range(2))]


def pods(q: Quotree) -> dict[str, dict[str, Any]]:
    return {each["metadata"]["name"]: each for each in q.get(PODS)["items"]}


def placed(q: Quotree) -> dict[str, str]:
    return {name: each["spec"]["nodeName"] for name, each in pods(q).items() if each["spec"].get("nodeName")}


def held(q: Quotree) -> set[str]:
    return {name for name, each in pods(q).items() if each["spec"].get("schedulingGates")}


def used(q: Quotree) -> dict[str, dict[str, str]]:
    return {each["flavor"]: each["used"] for each in q.group_status("vision").get("quotas", [])}


def note(q: Quotree, name: str, annotation: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(pods(q)[name]["metadata"].get("annotations", {}).get(annotation, "{}"))
    return found


def test_driver_and_workers_on_two_flavors_are_reclaimed_whole_and_restart_on_others(q: Quotree) -> None:
    q.control_plane.add_nodes([node("std", cpu="8"), node("a100", **{"cpu": "8", GPU: "4"})])
    # Before the leader: it might learn of the pods before it learns of a flavor.
    for model in ("std", "a100", "t4"):
        q.flavor(model, nodeLabels={"model": model})
    q.lead()
    q.group("vision", quotas=[entry("std", cpu="2"), entry("a100"), entry("t4")])
    q.group("lender", quotas=[entry("std", cpu="2"), entry("a100", cpu="4", gpu="4")])
    for each in ring("ray", "vision"):
        q.create(PODS, each)
    on_two = {"ray-driver": "std-0", "ray-worker-0": "a100-0", "ray-worker-1": "a100-0"}
    wait_for(lambda: placed(q) == on_two, "each set runs on its own flavor's nodes", LONG)
    admission = note(q, "ray-worker-0", ADMISSION)
    (workers,) = admission["podSets"].keys() - {"driver"}
    assert admission["podSets"] == {"driver": {"cpu": "std"}, workers: {"cpu": "a100", GPU: "a100"}}
    assert {name: each["metadata"]["labels"][POD_SET_LABEL] for name, each in pods(q).items()} == {
        "ray-driver": "driver",
        "ray-worker-0": workers,
        "ray-worker-1": workers,
    }

    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "keep"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {POD_SET_LABEL: "driver", GROUP_LABEL: "vision"}}},
    }
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    q.create(budgets, budget)
    wait_for(lambda: q.get(f"{budgets}/keep")["status"].get("currentHealthy") == 1, "the budget sees the driver", LONG)
    for each in ring("own", "lender"):
        q.create(PODS, each)
    wait_for(lambda: note(q, "ray-driver", EVICTION), "all of it is told to go", LONG)
    claim = note(q, "ray-driver", EVICTION)["for"]
    assert claim["podSets"] == {"driver": {"cpu": "std"}, workers: {"cpu": "a100", GPU: "a100"}}
    assert note(q, "ray-driver", EVICTION)["podSets"] == admission["podSets"]
    q.delete(f"{budgets}/keep")
    lender = {"own-driver": "std-0", "own-worker-0": "a100-0", "own-worker-1": "a100-0"}
    wait_for(lambda: placed(q) == lender, "the lender runs, and no pod of the other is left", LONG)

    for each in ring("ray", "vision"):
        q.create(PODS, each)
    again = {"ray-driver", "ray-worker-0", "ray-worker-1"}
    wait_for(lambda: q.events("ray-driver"), "it waits as one", LONG)
    assert held(q) == again
    q.control_plane.add_nodes([node("t4", **{"cpu": "8", GPU: "4"})])
    on_others = {"ray-driver": "std-0", "ray-worker-0": "t4-0", "ray-worker-1": "t4-0"}
    wait_for(lambda: placed(q) == lender | on_others, "its workers run on the other flavor", LONG)
    counted = {"std": {"cpu": "1", GPU: "0"}, "a100": {"cpu": "0", GPU: "0"}, "t4": {"cpu": "2", GPU: "4"}}
    wait_for(lambda: used(q) == counted, "each set is counted in its flavor", LONG)
    q.stop()
    q.delete(f"{PODS}/ray-worker-1")
    q.start()
    left = counted | {"t4": {"cpu": "1", GPU: "2"}}
    wait_for(lambda: used(q) == left, "a new leader counts what is left of it", LONG)


def test_pod_set_with_two_kinds_of_pods_waits_until_they_are_named_apart(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[{"flavor": "default", "min": {"cpu": "8"}}])
    for number, cpu in enumerate(("1", "2")):
        q.create(PODS, pod(f"odd-{number}", "vision", "odd", 2, cpu=cpu, pod_set="same"))
    wait_for(lambda: q.events("odd-0") or q.events("odd-1"), "its owner is told", LONG)
    assert held(q) == {"odd-0", "odd-1"}
    q.delete(f"{PODS}/odd-1")
    wait_for(lambda: "odd-1" not in pods(q), "it is gone", LONG)
    q.create(PODS, pod("odd-1", "vision", "odd", 2, cpu="2", pod_set="other"))
    wait_for(lambda: set(placed(q)) == {"odd-0", "odd-1"}, "both run", LONG)
