"""One control plane for all tests of this folder, cleared after each; a reconciler is the test's own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dev.controlplane import cluster
from dev.controlplane.programs import binaries
from tests.preloaded import Preloaded
from tests.reconciler.reconciler_process import Quotree

CPUS = 1000
NODES = (cluster.NodeSpec("node-0", allocatable={"cpu": str(CPUS), "memory": "1Ti", "pods": "1000"}),)


@contextmanager
def _with_kinds(programs: binaries.Binaries) -> Iterator[cluster.ControlPlane]:
    """With one node of 1000 cpus, and the controller that makes the ResourceClaims of pods."""
    controllers = (*cluster.DEFAULT_CONTROLLERS, "resourceclaim-controller")
    with cluster.start(programs, nodes=NODES, audit=True, controllers=controllers) as control_plane:
        Quotree(control_plane, control_plane.workdir).install()
        yield control_plane


@pytest.fixture(scope="package")
def own_control_plane(control_plane_binaries: binaries.Binaries) -> Iterator[cluster.ControlPlane]:
    with _with_kinds(control_plane_binaries) as control_plane:
        yield control_plane


@pytest.fixture
def q(own_control_plane: cluster.ControlPlane, preloaded: Preloaded, tmp_path: Path) -> Iterator[Quotree]:
    """Quotree's kinds are there; the test starts the reconciler."""
    quotree = Quotree(own_control_plane, tmp_path, preloaded=preloaded)
    try:
        yield quotree
    finally:
        print(quotree.say())
        quotree.clear(keep={node.name for node in NODES})


@pytest.fixture
def throwaway(control_plane_binaries: binaries.Binaries, preloaded: Preloaded, tmp_path: Path) -> Iterator[Quotree]:
    """The same on a control plane of the test's own, which ends sooner than hundreds of objects can be deleted."""
    with _with_kinds(control_plane_binaries) as control_plane:
        quotree = Quotree(control_plane, tmp_path, preloaded=preloaded)
        try:
            yield quotree
        finally:
            print(quotree.say())
            quotree.kill()
