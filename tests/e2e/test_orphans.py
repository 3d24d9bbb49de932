"""Pods that outlive their Job stay in its group, also where only the Job named that group."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from dev.controlplane.cluster import ControlPlane
from dev.controlplane.quotree import Quotree

NAMESPACE = "open-team"
pytestmark = pytest.mark.timeout(300)


def wait_for(is_so: Callable[[], bool], what: str, seconds: float = 90) -> None:
    ends = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < ends, f"after {seconds:g} s still not: {what}"
        time.sleep(0.5)


def test_the_pods_of_an_orphaned_job_are_counted_in_its_group(world: ControlPlane, quotree: Quotree) -> None:
    world.kubectl("create", "namespace", NAMESPACE)
    world.kubectl("label", "namespace", NAMESPACE, "quotree.dev/managed=true")
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    body = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "wide", "namespace": NAMESPACE, "labels": {"quotree.dev/group": "vision"}},
        "spec": {"parallelism": 2, "completions": 2, "template": template},
    }
    world.kubectl("create", "-f", "-", input=json.dumps(body))

    def pods() -> list[dict[str, Any]]:
        return list(world.get("pods", "-n", NAMESPACE)["items"])

    try:
        wait_for(lambda: len(pods()) == 2, "it runs")
        assert [each["metadata"]["labels"].get("quotree.dev/group") for each in pods()] == ["vision"] * 2
        moved = world.kubectl("label", "pods", "--all", "-n", NAMESPACE, "quotree.dev/group-", check=False)
        assert "(GroupRemoved)" in moved.stderr
        world.kubectl("delete", "job", "wide", "-n", NAMESPACE, "--cascade=orphan")
        admitted = "quotree.dev/admission"
        wait_for(
            lambda: all(admitted in each["metadata"].get("annotations", {}) for each in pods()), "they are adopted"
        )
        wait_for(lambda: "2" in used(world), "its group still counts them")
    finally:
        world.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def used(world: ControlPlane) -> list[str]:
    """What the group uses of each flavor's cpu."""
    quotas = world.get("quotagroup", "vision").get("status", {}).get("quotas", [])
    return [each.get("used", {}).get("cpu", "") for each in quotas]
