"""How long a reconciler takes from its start to its first decision in a full cluster, and how much memory it holds.

    python -m benchmarks.full_start [--groups 2000] [--jobs 100000]

A real API server that holds so many groups in two levels and so many Jobs, all of them waiting. "first decision" is
from the start of the process to the first Job that a watch shows resumed: at the first start in the cluster's life, and
at one after an orderly stop. "one change" is from the creation of one more Job in a leaf that has room to its
resumption. Memory is the process' resident set, after the first decision and at the end.
Filling the API server takes some minutes and is not counted; nothing but the reconciler works on it.
"""

import argparse
import asyncio
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from benchmarks.jobs import create_all, job
from benchmarks.results.figures import Figure, record
from dev.controlplane import cluster
from dev.controlplane.cluster import ControlPlane
from dev.controlplane.host.processes import Process
from dev.controlplane.programs import binaries
from dev.controlplane.quotree import Quotree, installed
from shared.api.core.job import Job, read_job
from shared.api.names import API_VERSION, GROUP_LABEL
from shared.kube.client import Client
from shared.kube.connect.connection import ConnectionSettings, connected
from shared.kube.resources import JOBS, MUTATING_WEBHOOKS, QUOTA_GROUPS, VALIDATING_WEBHOOKS
from shared.kube.watch.cache import Change, Changed
from shared.kube.watch.watching import Watch

BELOW: Final = 49
"""Leaves of each group of the first level."""
CLIENTS: Final = 32
CHANGES: Final = 10
BAR: Final = 6.0
"""Seconds to the first decision of a restart."""
MEMORY_BAR: Final = 300.0
FREE: Final = "free"
"""The leaf that has room, and lends none of it; all others wait."""


def groups_of(count: int) -> list[dict[str, Any]]:
    """Parents, the leaves below them, and the one leaf with room."""
    parents = max(count // (BELOW + 1), 1)
    free = group(FREE, {"quotas": [{"min": {"cpu": "100"}, "lendingLimit": {"cpu": "0"}}]})
    nothing = [{"min": {"cpu": "0"}}]
    upper = (group(f"p{number}", {"isParent": True, "quotas": nothing}) for number in range(parents))
    lower = (
        group(f"g{number}", {"parent": f"p{number % parents}", "quotas": nothing}) for number in range(count - parents)
    )
    return [free, *upper, *lower]


def group(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Return a QuotaGroup."""
    return {"apiVersion": API_VERSION, "kind": "QuotaGroup", "metadata": {"name": name}, "spec": spec}


def waiting_job(name: str, leaf: str) -> dict[str, Any]:
    """Return a Job that is held."""
    return job(name, {GROUP_LABEL: leaf}, {"cpu": "1"}, suspended=True)


class Resumed:
    """Which Jobs a watch has shown resumed; the watch asks for those of the one leaf alone."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._changed = asyncio.Event()

    def see(self, changes: Sequence[Change[Job]]) -> None:
        """Process a batch of the watch."""
        for change in changes:
            if isinstance(change, Changed) and change.after is not None and not change.after.spec.suspend:
                self._names.add(change.after.metadata.name)
        self._changed.set()

    async def until(self, name: str) -> None:
        """Return when that one is."""
        while name not in self._names:
            self._changed.clear()
            await self._changed.wait()


def resident(process: Process) -> int:
    """MiB."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmRSS:"))


async def fill(client: Client, groups: int, jobs: int) -> None:
    """Without the webhook, which is not what is measured."""
    for configurations in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
        await client.delete(configurations, "quotree")
    bodies = groups_of(groups)
    await create_all(client, QUOTA_GROUPS, bodies, None, CLIENTS)
    leaves = [each["metadata"]["name"] for each in bodies if "parent" in each["spec"]]
    print(f"{len(bodies)} groups are there; creating {jobs} Jobs", flush=True)
    waiting = (waiting_job(f"waits-{number}", leaves[number % len(leaves)]) for number in range(jobs - 1))
    await create_all(client, JOBS, waiting, "default", CLIENTS)
    await client.create(JOBS, waiting_job("first", FREE), "default")


async def measure(control_plane: ControlPlane, quotree: Quotree, groups: int, jobs: int) -> None:
    """Print the figures."""
    async with connected(ConnectionSettings(kubeconfig=str(control_plane.kubeconfig))) as connection:
        client = Client(connection, timeout=timedelta(minutes=1))
        await fill(client, groups, jobs)
        resumed = Resumed()
        watch = Watch(client, JOBS, read_job, resumed.see, labels=f"{GROUP_LABEL}={FREE}")
        watching = asyncio.create_task(watch.run())
        await watch.synced.wait()
        for name, kind in (("first", "first start"), ("second", "restart")):
            began = time.perf_counter()
            process = await asyncio.to_thread(quotree.add_reconciler)
            await resumed.until(name)
            took = time.perf_counter() - began
            record(*_figures(kind.replace(" ", "-"), took, resident(process)))
            print(f"{kind}: first decision after {took:.1f} s, {resident(process)} MiB", flush=True)
            if name == "first":
                await asyncio.to_thread(process.stop)
                await client.create(JOBS, waiting_job("second", FREE), "default")
        await asyncio.sleep(20)
        changes = []
        for number in range(CHANGES):
            began = time.perf_counter()
            await client.create(JOBS, waiting_job(f"change-{number}", FREE), "default")
            await resumed.until(f"change-{number}")
            changes.append((time.perf_counter() - began) * 1000)
            await asyncio.sleep(1)
        watching.cancel()
    record(Figure("full_start.change", statistics.median(changes), "ms"))
    print(
        f"one change: median {statistics.median(changes):.0f} ms, worst {max(changes):.0f} ms, {resident(process)} MiB"
    )


def _figures(kind: str, seconds: float, memory: int) -> Iterator[Figure]:
    yield Figure(f"full_start.{kind}.first-decision", seconds, "s", at_most=BAR if kind == "restart" else None)
    yield Figure(f"full_start.{kind}.memory", memory, "MiB", at_most=MEMORY_BAR)


@contextmanager
def without_controllers() -> Iterator[tuple[ControlPlane, Quotree]]:
    """An API server with one node and Quotree's chart, and no process beyond it that could work on its objects."""
    nodes = [cluster.NodeSpec("node", allocatable={"cpu": "100", "memory": "1000Gi"})]
    programs = binaries.ensure(progress=print)
    with (
        cluster.start(programs, nodes=nodes, controllers=(), scheduler=False) as control_plane,
        installed(control_plane, webhooks=0, reconcilers=0) as quotree,
    ):
        yield control_plane, quotree


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=100_000)
    options = parser.parse_args()
    with without_controllers() as (control_plane, quotree):
        asyncio.run(measure(control_plane, quotree, options.groups, options.jobs))


if __name__ == "__main__":
    main()
