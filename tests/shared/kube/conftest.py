"""Clients for the tests of shared.kube: of a real API server, and of small servers that misbehave."""

import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from dev.controlplane.cluster import ControlPlane
from shared.kube.client import Client
from shared.kube.connect.connection import Connection, ConnectionSettings, connected
from shared.kube.resources import NAMESPACES
from tests.faults.proxy import FaultProxy


@pytest.fixture
async def connection(control_plane: ControlPlane) -> AsyncIterator[Connection]:
    async with connected(ConnectionSettings(kubeconfig=str(control_plane.kubeconfig))) as opened:
        yield opened


@pytest.fixture
def client(connection: Connection) -> Client:
    return Client(connection)


@pytest.fixture
def proxy(control_plane: ControlPlane) -> Iterator[FaultProxy]:
    """Faults between a client and the shared control plane."""
    with FaultProxy(control_plane.url, control_plane.ca_file).running() as running:
        yield running


@pytest.fixture
async def through(proxy: FaultProxy, control_plane: ControlPlane, tmp_path: Path) -> AsyncIterator[Client]:
    """A client whose way leads through the fault proxy, as `watcher`."""
    kubeconfig = proxy.side("watcher").kubeconfig(control_plane.kubeconfig, tmp_path / "through")
    async with connected(ConnectionSettings(kubeconfig=str(kubeconfig))) as opened:
        yield Client(opened)


@pytest.fixture
async def namespace(client: Client) -> str:
    """A namespace of the test's own."""
    name = f"kube-{uuid.uuid4().hex[:12]}"
    await client.create(NAMESPACES, {"metadata": {"name": name}})
    return name
