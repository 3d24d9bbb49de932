"""One cluster for the tests of this folder: Quotree governs a kind that is installed after it, and then operated."""

from collections.abc import Iterator

import pytest

from dev.controlplane import cluster
from dev.controlplane.nodes import NodeSpec
from dev.controlplane.programs.binaries import Binaries
from dev.controlplane.quotree import installed
from tests.gadgets.gadget import DEFINITION, DESCRIPTOR, OPERATOR, PATH, Operator
from tests.gadgets.world import TREE, World
from tests.reconciler.reconciler_process import wait_for

NODES = tuple(
    NodeSpec(f"{model}-0", labels={"model": model}, allocatable={"cpu": "4", "memory": "64Gi"})
    for model in ("a100", "t4")
)


@pytest.fixture(scope="package")
def world(control_plane_binaries: Binaries) -> Iterator[World]:
    """Four cpus of each model, leaves that may lend them to each other."""
    with (
        cluster.start(control_plane_binaries, nodes=NODES) as control_plane,
        installed(control_plane, kinds=[DESCRIPTOR], reconcilers=0) as quotree,
    ):
        quotree.add_reconciler()
        control_plane.kubectl("apply", "--server-side", "-f", "-", input=TREE)
        control_plane.apply(_ROLE)
        users = [f"--user={OPERATOR}", "--user=alice"]
        control_plane.kubectl("create", "clusterrolebinding", "gadgets", "--clusterrole=gadgets", *users)
        # Only now: Quotree has run without it until here.
        control_plane.rest.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION)
        wait_for(lambda: control_plane.rest.request("GET", PATH)[0] == 200, "the kind is served")
        operator = Operator(control_plane.rest)
        operator.start()
        with control_plane.rest.acting_as("alice") as alice:
            try:
                yield World(quotree, operator, alice)
            finally:
                operator.stop()


_ROLE = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: gadgets}
rules:
- {apiGroups: [""], resources: [pods], verbs: ["*"]}
- {apiGroups: [batch], resources: [jobs], verbs: ["*"]}
- {apiGroups: [gadgets.example.com], resources: [gadgets, gadgets/status, gadgets/finalizers], verbs: ["*"]}
"""


@pytest.fixture
def at_rest(world: World) -> Iterator[World]:
    """The same, without any gadget or pod; as it is left, too."""
    yield world
    world.clear()
