"""Limits that are percents follow the nodes: their amounts stand in the status, and bound what starts."""

import pytest

from dev.controlplane import cluster
from tests.reconciler.reconciler_process import Quotree, quota, wait_for

pytestmark = pytest.mark.timeout(900)
LONG = 240.0
ON_SHARED = {"nodeSelector": {"model": "shared"}}


def node(name: str) -> cluster.NodeSpec:
    return cluster.NodeSpec(name, labels={"model": "shared"}, allocatable={"cpu": "8", "pods": "50"})


def percents(q: Quotree, group: str) -> dict[str, tuple[str, str]]:
    """Limit -> its percent and its amount."""
    found = q.group_status(group).get("quotas", [])
    return {each["limit"]: (each["percent"], each["amount"]) for own in found for each in own.get("percents", [])}


def capacity(q: Quotree) -> list[str]:
    quotas = q.group_status("root").get("quotas", [])
    return [each["capacity"]["cpu"] for each in quotas if each["flavor"] == "shared"]


def test_percents_follow_the_nodes_and_a_cordon_stops_nothing(q: Quotree) -> None:
    q.control_plane.add_nodes([node("shared-0")])
    q.lead()
    q.flavor("shared", nodeLabels={"model": "shared"})
    q.group("research", isParent=True, quotas=[quota("shared", min="50%", max="100%")])
    q.group("vision", parent="research", quotas=[quota("shared", min="50%", max="50%")])
    for number in range(4):
        q.job(f"vision-{number}", "vision", pod=ON_SHARED)
    wait_for(lambda: percents(q, "vision") == {"min": ("50%", "2"), "max": ("50%", "2")}, "half of half of 8", LONG)
    wait_for(lambda: len(q.running()) == 2, "as many as max run", LONG)
    wait_for(lambda: sum(len(q.pods_on_nodes(name)) for name in q.running()) == 2, "on the node", LONG)
    q.merge("/api/v1/nodes/shared-0", {"spec": {"unschedulable": True}})
    wait_for(lambda: capacity(q) == ["2"], "the node is closed", LONG)
    assert (percents(q, "vision")["max"], len(q.running())) == (("50%", "2"), 2)
    q.merge("/api/v1/nodes/shared-0", {"spec": {"unschedulable": None}})
    q.control_plane.add_nodes([node("shared-1")])
    wait_for(lambda: percents(q, "vision") == {"min": ("50%", "4"), "max": ("50%", "4")}, "a node more", LONG)
    wait_for(lambda: len(q.running()) == 4, "all run", LONG)
    q.delete("/api/v1/nodes/shared-1")
    wait_for(lambda: len(q.running()) == 2, "a max that fell evicts", LONG)
