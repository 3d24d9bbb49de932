"""A watch outlives its API server: frozen, killed, restarted, compacted. On a control plane of the test's own."""

import asyncio
import json
import re
import urllib.request
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from dev.controlplane import cluster
from dev.controlplane.programs import binaries
from shared.kube.client import Client
from shared.kube.connect.connection import ConnectionSettings, connected
from shared.kube.errors import Unavailable
from shared.kube.resources import CONFIG_MAPS
from shared.kube.watch.watching import Changed, WatchSettings
from tests.faults.proxy import FaultProxy
from tests.shared.kube.servers import until
from tests.shared.kube.watch.test_watching import Thing, put, watching

NAMESPACE = "default"
PATIENT = WatchSettings(silence=timedelta(seconds=2))


@pytest.fixture
async def bare(control_plane_binaries: binaries.Binaries) -> AsyncIterator[cluster.ControlPlane]:
    """etcd and an API server, nothing else."""
    starting = cluster.start(control_plane_binaries, nodes=(), controllers=(), scheduler=False, kwok=False)
    with await asyncio.to_thread(lambda: starting) as started:
        yield started


@pytest.fixture
async def direct(bare: cluster.ControlPlane) -> AsyncIterator[Client]:
    async with connected(ConnectionSettings(kubeconfig=str(bare.kubeconfig))) as connection:
        yield Client(connection, timeout=timedelta(seconds=5))


async def put_when_back(client: Client, name: str, value: str) -> None:
    async with asyncio.timeout(120):
        while True:
            try:
                return await put(client, NAMESPACE, name, value)
            except Unavailable:
                await asyncio.sleep(0.2)


def compact_everything(control_plane: cluster.ControlPlane) -> None:
    """Make etcd forget all versions but the last, through its JSON gateway."""
    started = " ".join(control_plane.processes["kube-apiserver"].command)
    found = re.search(r"--etcd-servers=(\S+)", started)
    assert found is not None

    def ask(path: str, body: dict[str, object]) -> dict[str, dict[str, str]]:
        request = urllib.request.Request(f"{found[1]}{path}", json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=60) as answer:
            decoded: dict[str, dict[str, str]] = json.load(answer)
            return decoded

    revision = ask("/v3/kv/range", {"key": "AA=="})["header"]["revision"]
    ask("/v3/kv/compaction", {"revision": revision, "physical": True})


async def test_frozen_api_server_delays_events_without_loss(bare: cluster.ControlPlane, direct: Client) -> None:
    async with watching(direct, NAMESPACE, PATIENT, fields="metadata.name!=kube-root-ca.crt") as (watch, seen):
        await put_when_back(direct, "before", "1")
        bare.processes["kube-apiserver"].freeze()
        await until(lambda: watch.health.trouble is not None)
        await until(lambda: watch.health.quiet_seconds() >= PATIENT.silence.total_seconds())
        bare.processes["kube-apiserver"].thaw()
        await put_when_back(direct, "after", "1")
        await until(lambda: seen.things == {"before": "1", "after": "1"})
        assert watch.counts.lists == 1
        await until(lambda: watch.health.trouble is None)


async def test_quiet_watch_is_well_as_soon_as_it_is_accepted_again(bare: cluster.ControlPlane, tmp_path: Path) -> None:
    """No object matches, so nothing comes on it but a bookmark a minute."""
    patient = WatchSettings(silence=timedelta(seconds=90))
    with FaultProxy(bare.url, bare.ca_file).running() as proxy:
        side = proxy.side("watcher")
        kubeconfig = side.kubeconfig(bare.kubeconfig, tmp_path / "through")
        async with (
            connected(ConnectionSettings(kubeconfig=str(kubeconfig))) as connection,
            watching(Client(connection), NAMESPACE, patient, fields="metadata.name=nothing") as (watch, _),
        ):
            await until(watch.synced.is_set)
            side.cut()
            await until(lambda: watch.health.trouble is not None)
            await until(lambda: watch.health.trouble is None, seconds=40)
            assert (watch.counts.lists, watch.counts.events) == (1, 0)


async def test_watch_reconnects_to_a_restarted_api_server(bare: cluster.ControlPlane, direct: Client) -> None:
    async with watching(direct, NAMESPACE, PATIENT, fields="metadata.name!=kube-root-ca.crt") as (watch, seen):
        await put_when_back(direct, "before", "1")
        await until(lambda: "before" in seen.things)
        bare.processes["kube-apiserver"].kill()
        await until(lambda: watch.health.trouble is not None)
        await asyncio.to_thread(bare.processes["kube-apiserver"].start)
        await put_when_back(direct, "after", "1")
        await until(lambda: seen.things == {"before": "1", "after": "1"})


async def test_difference_after_compaction_and_restart_is_reported_once(
    bare: cluster.ControlPlane, direct: Client, tmp_path: Path
) -> None:
    with FaultProxy(bare.url, bare.ca_file).running() as proxy:
        side = proxy.side("watcher")
        kubeconfig = side.kubeconfig(bare.kubeconfig, tmp_path / "through")
        for name in ("goes", "changes", "stays"):
            await put_when_back(direct, name, "1")
        async with (
            connected(ConnectionSettings(kubeconfig=str(kubeconfig))) as connection,
            watching(Client(connection), NAMESPACE, PATIENT, fields="metadata.name!=kube-root-ca.crt") as (watch, seen),
        ):
            side.partition()
            await direct.within(timedelta(seconds=60)).delete(CONFIG_MAPS, "goes", NAMESPACE)
            await put_when_back(direct, "changes", "2")
            for number in range(20):
                await put_when_back(direct, "changes", f"3.{number}")
            bare.processes["kube-apiserver"].kill()
            await asyncio.to_thread(compact_everything, bare)
            await asyncio.to_thread(bare.processes["kube-apiserver"].start)
            side.cut()
            side.heal()
            await until(lambda: watch.counts.lists >= 2 and len(seen.batches) == 2)
            assert seen.batches[1:] == [
                [Changed(Thing("goes", "1"), None), Changed(Thing("changes", "1"), Thing("changes", "3.19"))]
            ]
