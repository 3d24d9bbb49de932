"""A cluster with Quotree, a small tree, and a tenant with Kubernetes' own role `edit` in one namespace."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from dev.controlplane import cluster
from dev.controlplane.nodes import NodeSpec
from dev.controlplane.programs.binaries import Binaries
from dev.controlplane.quotree import Quotree, installed
from tests.dashboard.in_cluster import DASHBOARD_USER
from tests.e2e.kubectl_steps import Asking

_TREE = """
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: research}
spec: {isParent: true, quotas: [{min: {cpu: 4}}]}
---
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: vision}
spec: {parent: research, quotas: [{min: {cpu: 2}}]}
---
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: language}
spec: {parent: research, quotas: [{min: {cpu: 2}}]}
"""


@pytest.fixture(scope="module")
def quotree(control_plane_binaries: Binaries) -> Iterator[Quotree]:
    """One node of 8 cpu."""
    nodes = [NodeSpec("node", allocatable={"cpu": "8", "memory": "16Gi", "pods": "110"})]
    dashboard = ("dashboard.enabled=true", "dashboard.deploy=false", f"dashboard.user={DASHBOARD_USER}")
    with (
        cluster.start(control_plane_binaries, nodes=nodes, audit=True) as started,
        installed(started, values=dashboard) as running,
    ):
        started.kubectl("apply", "--server-side", "-f", "-", input=_TREE)
        yield running


@pytest.fixture
def ask(quotree: Quotree) -> Iterator[Asking]:
    """The administrator; the work is taken away afterwards."""
    asking = Asking(quotree, quotree.cluster.kubeconfig)
    yield asking
    asking.clear()


@pytest.fixture
def tenant(quotree: Quotree) -> Path:
    """The kubeconfig of a user with the role `edit` in the namespace `default`, and nothing else."""
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "tenant-edits", "namespace": "default"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "tenant"}],
    }
    quotree.cluster.apply(yaml.safe_dump(binding))
    return quotree.cluster.kubeconfig_for("tenant")
