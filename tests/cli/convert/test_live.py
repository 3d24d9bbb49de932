"""A converted quick start of Kueue starts on a real control plane, and what gets no node says so in its status."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dev.controlplane import cluster
from dev.controlplane.cluster import ControlPlane
from dev.controlplane.nodes import NodeSpec
from dev.controlplane.programs.binaries import Binaries
from dev.controlplane.quotree import Quotree, installed
from tests.cli.convert.converting import Converted
from tests.cli.convert.kueue.manifests import kueue, local_queue, queue, quotas
from tests.reconciler.reconciler_process import wait_for

SPOT = {"nodeLabels": {"node-type": "spot"}}
JOB = """---
apiVersion: batch/v1
kind: Job
metadata: {name: sample, namespace: default, labels: {kueue.x-k8s.io/queue-name: main}}
spec:
  suspend: true
  parallelism: 3
  completions: 3
  template:
    spec: {restartPolicy: Never, containers: [{name: main, image: none, resources: {requests: {cpu: 1}}}]}
"""
DEPLOYMENT = """---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default, labels: {kueue.x-k8s.io/queue-name: main}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: none, resources: {requests: {cpu: 1}}}]}
"""


@pytest.fixture(scope="module")
def quotree(control_plane_binaries: Binaries) -> Iterator[Quotree]:
    """A cluster with one node without labels of a flavor, as a quick start assumes it."""
    nodes = [NodeSpec("node", allocatable={"cpu": "16", "memory": "32Gi", "pods": "110"})]
    controllers = (*cluster.DEFAULT_CONTROLLERS, "deployment-controller", "replicaset-controller")
    started = cluster.start(control_plane_binaries, nodes=nodes, controllers=controllers)
    with started as control_plane, installed(control_plane) as running:
        yield running


def applied(control_plane: ControlPlane, text: str) -> subprocess.CompletedProcess[str]:
    return control_plane.kubectl("apply", "-f", "-", input=text)


def has_nodes(control_plane: ControlPlane, kind: str, name: str) -> dict[str, Any]:
    conditions = control_plane.get(kind, name).get("status", {}).get("conditions", [])
    return next((each for each in conditions if each["type"] == "HasNodes"), {})


def test_what_starts_in_kueue_starts_here(quotree: Quotree, tmp_path: Path) -> None:
    flavors = kueue("ResourceFlavor", "std", {}) + kueue("ResourceFlavor", "spot", SPOT)
    choice = [*quotas("std", cpu=9)[0]["flavors"], *quotas("spot", cpu=4)[0]["flavors"]]
    groups = [{"coveredResources": ["cpu"], "flavors": choice}]
    text = flavors + queue("team", "", resourceGroups=groups) + local_queue("default", "team") + JOB + DEPLOYMENT
    made = Converted(tmp_path, text)
    plane = quotree.cluster
    applied(plane, made.text)
    wait_for(lambda: plane.get("job", "sample")["status"].get("ready") == 3, "the Job runs")
    wait_for(lambda: plane.get("deployment", "web")["status"].get("readyReplicas") == 2, "it serves")
    labels = plane.get("pods", "-l", "app=web")["items"][0]["metadata"]["labels"]
    assert labels["quotree.dev/group"] == "team"

    wait_for(lambda: has_nodes(plane, "resourceflavor", "spot").get("status") == "False", "spot has no node")
    wait_for(lambda: has_nodes(plane, "resourceflavor", "default")["status"] == "True", "default has one")
    wait_for(lambda: has_nodes(plane, "quotagroup", "team").get("status") == "False", "its group says so")
    message = has_nodes(plane, "quotagroup", "team")["message"]
    assert message == "spot: no ready node has its nodeLabels and counts for it"


def test_webhook_names_the_flavor_for_which_all_nodes_count(quotree: Quotree) -> None:
    flavor = "{apiVersion: quotree.dev/v1alpha1, kind: ResourceFlavor, metadata: {name: second}}"
    answer = applied(quotree.cluster, flavor)
    assert "all count for default" in answer.stderr
    assert "(AmbiguousFlavor)" in answer.stderr
    wait_for(
        lambda: "count for default" in has_nodes(quotree.cluster, "resourceflavor", "second").get("message", ""),
        "its status says so",
    )
