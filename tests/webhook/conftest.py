"""A control plane without controllers, webhook replicas beside it, and a client, for tests of edits."""

from collections.abc import AsyncIterator, Iterator
from datetime import timedelta

import pytest

from dev.controlplane.cluster import ControlPlane, start
from dev.controlplane.programs.binaries import Binaries
from shared.kube.client import Client
from shared.kube.connect.connection import ConnectionSettings, connected
from tests.preloaded import Preloaded
from tests.webhook.control_planes import admission, bare_admission
from tests.webhook.rolling.balancer import PortBalancer
from tests.webhook.rolling.replicas import Replicas

__all__ = ["admission", "bare_admission", "client", "plain_control_plane", "replicas"]


@pytest.fixture(scope="package")
def plain_control_plane(control_plane_binaries: Binaries) -> Iterator[ControlPlane]:
    """API server and etcd alone, for module after module: each ends its replicas, and begins without what was left."""
    with start(control_plane_binaries, controllers=(), scheduler=False, kwok=False) as started:
        yield started


@pytest.fixture(scope="module")
def three_replicas(
    plain_control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory, preloaded: Preloaded
) -> Iterator[Replicas]:
    """Three webhook processes that keep reservations for 12 seconds only."""
    with PortBalancer().running() as balancer:
        made = Replicas(plain_control_plane, tmp_path_factory.mktemp("replicas"), balancer, preloaded=preloaded)
        try:
            made.install()
            made.clear()
            made.start(3)
            yield made
        finally:
            made.stop()


@pytest.fixture
def replicas(three_replicas: Replicas) -> Iterator[Replicas]:
    """The same; whatever a test stores is gone after it."""
    yield three_replicas
    three_replicas.clear()


@pytest.fixture
async def client(plain_control_plane: ControlPlane) -> AsyncIterator[Client]:
    settings = ConnectionSettings(kubeconfig=str(plain_control_plane.kubeconfig))
    async with connected(settings) as connection:
        yield Client(connection, timeout=timedelta(minutes=1))
