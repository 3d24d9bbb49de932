"""One control plane with the visibility API for the tests of this folder."""

import time
from collections.abc import Iterator

import pytest

from dev.controlplane import cluster
from dev.controlplane.nodes import NodeSpec
from dev.controlplane.programs.binaries import Binaries
from dev.controlplane.quotree import Quotree, installed
from tests.e2e.visibility.manifests import EDITOR, TREE
from tests.e2e.visibility.steps import HIDDEN, available, listed, submit, suspended, wait_for

DIALECT = {"dialects": {"systems": ["kueue"], "queueGroups": {"team-a/main": "lent"}}}


@pytest.fixture(scope="package")
def quotree(control_plane_binaries: Binaries) -> Iterator[Quotree]:
    """One node of 8 cpu; team-a's jobs wait behind team-b's, in its own group and in another one."""
    nodes = [NodeSpec("node-0", allocatable={"cpu": "8", "memory": "64Gi"})]
    with (
        cluster.start(control_plane_binaries, nodes=nodes) as started,
        installed(started, visibility=True, values=("dialects={kueue}",), webhook=DIALECT) as running,
    ):
        for team in ("team-a", "team-b"):
            started.kubectl("create", "namespace", team)
            started.kubectl(
                "create", "rolebinding", "view", "--clusterrole=view", f"--user={team}", f"--namespace={team}"
            )
        started.kubectl("apply", "--server-side", "-f", "-", input=TREE)
        started.apply(EDITOR)
        submit(started, "team-b", "nlp", "hidden-1", 4)
        submit(started, "team-b", "vision", "hidden-2", 3)
        wait_for(lambda: not any(suspended(started, each) for each in HIDDEN[:2]), "team-b runs")
        submit(started, "team-b", "vision", "hidden-head", 4)
        time.sleep(1.1)  # Ages are in whole seconds.
        submit(started, "team-a", "vision", "own", 2)
        wait_for(lambda: available(started) == "True", "the API is served")
        wait_for(lambda: listed(running) == ["hidden-head", "own"], "both are known to wait")
        yield running
