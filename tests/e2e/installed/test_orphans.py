"""Pods that outlive their Job stay in its group, also where only the Job named that group."""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dev.controlplane.cluster import ControlPlane
from dev.controlplane.quotree import Quotree
from shared.api.names import GROUP_LABEL, POD_GROUP_LABEL, POD_GROUP_SIZE_LABEL, PREEMPTIBLE_LABEL
from tests.polling import first_true

NAMESPACE = "open-team"
pytestmark = pytest.mark.timeout(900)


def wait_for(is_so: Callable[[], bool], what: str, seconds: float = 180) -> None:
    first_true(is_so, lambda: f"after {seconds:g} s still not: {what}", seconds, every=0.5)


def wide(name: str, cpu: str, pods: int, **labels: str) -> dict[str, Any]:
    """A Job of vision; `labels` are its pods' alone. Without one of its own it would get them."""
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    template = {"metadata": {"labels": labels}, "spec": {"restartPolicy": "Never", "containers": [container]}}
    metadata = {"name": name, "namespace": NAMESPACE, "labels": {GROUP_LABEL: "vision"}}
    spec = {"parallelism": pods, "completions": pods, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


@pytest.fixture(scope="module")
def namespace(world: ControlPlane, quotree: Quotree) -> Iterator[ControlPlane]:
    """A namespace that is only managed: its workloads name their groups."""
    world.kubectl("create", "namespace", NAMESPACE)
    world.kubectl("label", "namespace", NAMESPACE, "quotree.dev/managed=true")
    yield world
    world.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


@pytest.fixture
def team(namespace: ControlPlane) -> Iterator[ControlPlane]:
    """The cluster; afterwards the namespace is empty again."""
    yield namespace
    namespace.kubectl("delete", "jobs,pods", "--all", "-n", NAMESPACE, "--cascade=foreground", "--grace-period=0")


def pods_of(world: ControlPlane) -> list[dict[str, Any]]:
    return list(world.get("pods", "-n", NAMESPACE)["items"])


def running(world: ControlPlane) -> list[dict[str, Any]]:
    return [each for each in pods_of(world) if each["spec"].get("nodeName")]


def orphaned(world: ControlPlane, body: dict[str, Any]) -> None:
    """Run this Job, and delete it without its pods; return when these are adopted."""
    name, pods = body["metadata"]["name"], body["spec"]["parallelism"]
    world.kubectl("create", "-f", "-", input=json.dumps(body))
    wait_for(lambda: len(running(world)) == pods, "it runs")
    world.kubectl("delete", "job", name, "-n", NAMESPACE, "--cascade=orphan")
    is_adopted = "quotree.dev/admission"
    wait_for(
        lambda: all(is_adopted in each["metadata"].get("annotations", {}) for each in running(world)),
        "its pods are adopted",
    )


def test_the_pods_of_an_orphaned_job_are_counted_in_its_group(team: ControlPlane) -> None:
    team.kubectl("create", "-f", "-", input=json.dumps(wide("wide", "1", 2)))
    wait_for(lambda: len(pods_of(team)) == 2, "it runs")
    assert [each["metadata"]["labels"].get(GROUP_LABEL) for each in pods_of(team)] == ["vision"] * 2
    moved = team.kubectl("label", "pods", "--all", "-n", NAMESPACE, f"{GROUP_LABEL}-", check=False)
    assert "(GroupRemoved)" in moved.stderr
    team.kubectl("delete", "job", "wide", "-n", NAMESPACE, "--cascade=orphan")
    admitted = "quotree.dev/admission"
    wait_for(lambda: all(admitted in each["metadata"].get("annotations", {}) for each in pods_of(team)), "adopted")
    wait_for(lambda: "2" in used(team), "its group still counts them")


def test_orphaned_pods_are_recycled_whatever_their_template_says(team: ControlPlane) -> None:
    orphaned(team, wide("wide", "2", 3, **{PREEMPTIBLE_LABEL: "false"}))
    lender = wide("lender", "4", 1)
    lender["metadata"]["labels"] = {GROUP_LABEL: "language"}
    team.kubectl("create", "-f", "-", input=json.dumps(lender))
    wait_for(lambda: not team.get("job", "lender", "-n", NAMESPACE)["spec"]["suspend"], "the lender has its own")


def test_orphaned_pods_start_no_pod_group(team: ControlPlane) -> None:
    gang = {POD_GROUP_LABEL: "gang", POD_GROUP_SIZE_LABEL: "100"}
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": "8"}}}
    metadata = {"name": "large", "namespace": NAMESPACE, "labels": {GROUP_LABEL: "vision", **gang}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}
    team.kubectl("create", "-f", "-", input=json.dumps(pod))
    orphaned(team, wide("seed", "100m", 1, **gang))
    time.sleep(2)
    (large,) = (each for each in pods_of(team) if each["metadata"]["name"] == "large")
    assert large["spec"].get("schedulingGates") == [{"name": "quotree.dev/admission"}]


def used(world: ControlPlane) -> list[str]:
    """What the group uses of each flavor's cpu."""
    quotas = world.get("quotagroup", "vision").get("status", {}).get("quotas", [])
    return [each.get("used", {}).get("cpu", "") for each in quotas]
