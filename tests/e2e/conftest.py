"""One cluster for all end-to-end tests: real control plane, the chart, webhook, reconciler, an ordinary user."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from dev.controlplane import cluster
from dev.controlplane.cluster import ControlPlane
from dev.controlplane.nodes import NodeSpec
from dev.controlplane.programs.binaries import Binaries
from dev.controlplane.quotree import Quotree, installed
from tests.e2e.kubectl_steps import Asking
from tests.reconciler.reconciler_process import wait_for

_MODELS = ("a100", "t4")
_CONTROLLERS = (
    *cluster.DEFAULT_CONTROLLERS,
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
)
_TREE = """
apiVersion: quotree.dev/v1alpha1
kind: ResourceFlavor
metadata: {name: a100}
spec: {nodeLabels: {model: a100}, nodeTaints: [{key: gpu, value: "true", effect: NoSchedule}],
       tolerations: [{key: gpu, operator: Exists}]}
---
apiVersion: quotree.dev/v1alpha1
kind: ResourceFlavor
metadata: {name: t4}
spec: {nodeLabels: {model: t4}}
---
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: research}
spec: {isParent: true, quotas: [{flavor: t4, min: {cpu: 8}}]}
---
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: vision}
spec: {parent: research, quotas: [{flavor: t4, min: {cpu: 4}}]}
---
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: language}
spec: {parent: research, quotas: [{flavor: t4, min: {cpu: 4}}]}
---
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: steered}
spec: {quotas: [{flavor: a100, min: {cpu: 2}}]}
"""


@pytest.fixture(scope="package")
def world(control_plane_binaries: Binaries) -> Iterator[ControlPlane]:
    """Two nodes, 8 cpu of model t4 and 2 of the tainted model a100."""
    nodes = [
        NodeSpec("t4-0", labels={"model": "t4"}, allocatable={"cpu": "8", "memory": "64Gi"}),
        NodeSpec(
            "a100-0",
            labels={"model": "a100"},
            taints=(cluster.Taint("gpu", "true", "NoSchedule"),),
            allocatable={"cpu": "2", "memory": "64Gi"},
        ),
    ]
    with cluster.start(control_plane_binaries, nodes=nodes, controllers=_CONTROLLERS) as started:
        yield started


@pytest.fixture(scope="package")
def quotree(world: ControlPlane) -> Iterator[Quotree]:
    """Quotree with the tree of this folder's tests. It counts devices, by the chart's own rights."""
    devices = {"resources": {"devices": {"counted": True}}}
    with installed(world, quota=devices, values=["quota.resources.devices.counted=true"]) as running:
        world.kubectl("apply", "--server-side", "-f", "-", input=_TREE)
        yield running


@pytest.fixture(scope="package")
def alice(world: ControlPlane) -> Path:
    """The kubeconfig of a user who may do everything with Jobs and pods, and nothing else."""
    rules = [
        {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["*"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["*"]},
    ]
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "worker"},
        "rules": rules,
    }
    world.apply(yaml.safe_dump(role))
    world.kubectl("create", "clusterrolebinding", "alice", "--clusterrole=worker", "--user=alice")
    may = ("auth", "can-i", "create", "jobs.batch", "--as=alice")
    wait_for(lambda: world.kubectl(*may, check=False).stdout.strip() == "yes", "the binding is in force")
    return world.kubeconfig_for("alice")


@pytest.fixture
def ask(quotree: Quotree, alice: Path) -> Iterator[Asking]:
    """Words to say what a test does as alice; her work is taken away afterwards, and the tree is as before."""
    asking = Asking(quotree, alice)
    yield asking
    asking.clear()
    restored = asking.edit_tree(*yaml.safe_load_all(_TREE))
    assert restored.returncode == 0, restored.stderr
