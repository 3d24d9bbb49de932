"""A Job whose pods fit no node waits with the largest node in its message, and starts once a larger one is there."""

import pytest

from dev.controlplane import cluster
from tests.reconciler.reconciler_process import Quotree, quota, wait_for

pytestmark = pytest.mark.timeout(900)
LONG = 240.0
ON_FAST = {"nodeSelector": {"model": "fast"}}
"""As the webhook, which is not part of this test, places them."""


def node(name: str, cpu: str) -> cluster.NodeSpec:
    return cluster.NodeSpec(name, labels={"model": "fast"}, allocatable={"cpu": cpu, "pods": "10"})


def largest(q: Quotree) -> list[dict[str, str]] | None:
    quotas = q.group_status("root").get("quotas", [])
    return next((each.get("largestNodes") for each in quotas if each["flavor"] == "fast"), None)


def test_pod_larger_than_every_node_waits_until_a_larger_node_is_added(q: Quotree) -> None:
    q.control_plane.add_nodes([node(f"fast-{number}", "4") for number in range(3)])
    q.lead()
    q.flavor("fast", nodeLabels={"model": "fast"})
    q.group("vision", quotas=[quota("fast", min="12")])
    q.known("vision")
    q.job("wide", "vision", "6", pod=ON_FAST)
    wait_for(lambda: q.events("wide"), "its owner is told", LONG)
    ((reason, note),) = q.events("wide")
    assert reason == "NoNodeFits"
    assert "one pod requests cpu 6; the largest ready node has cpu 4" in note
    wait_for(lambda: largest(q) == [{"cpu": "4"}], "root's status has the largest node", LONG)
    q.job("narrow", "vision", "4", pod=ON_FAST)
    wait_for(lambda: q.pods_on_nodes("narrow"), "one that fits is not held up", LONG)
    assert q.running() == {"narrow"}
    q.control_plane.add_nodes([node("fast-large", "8")])
    wait_for(lambda: q.pods_on_nodes("wide"), "it runs on the larger node", LONG)
    assert set(q.pods_on_nodes("wide").values()) == {"fast-large"}
    wait_for(lambda: largest(q) == [{"cpu": "8"}], "and in the status", LONG)
