"""How fast a lender gets its share back: Quotree and Kueue with everything on, and what it costs.

    python -m benchmarks.reclaims [--jobs 200] [--rounds 1] [quotree] [kueue]

Two groups of one parent: the lender is promised all that the nodes have, one unit for each Job, the borrower nothing.
So many Jobs of one unit run in the borrower's group and do not end by themselves; then as many of the lender's are
created by 20 clients. Each contender gets a control plane of its own (see `benchmarks.starts`). A pod that is evicted
ends at once.

* the first, the last: from the first creation until the lender's first and last Job are resumed;
* evictions: how often a Job of the borrower was suspended, and when; needed are as many as the lender has Jobs;
* requests and CPU: as in `benchmarks.starts`, for each Job of the lender, until all was quiet.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from benchmarks.jobs import create_all, job
from benchmarks.results.figures import Figure, record
from benchmarks.starting.contender import Contender, Leaf
from benchmarks.starting.itself import quotree
from benchmarks.starting.kueue import kueue
from benchmarks.starts import (
    API_SERVER,
    CLIENTS,
    PATIENCE,
    cpu_spent,
    cpu_text,
    own_cpu,
    read_options,
    requests_answered,
)
from dev.controlplane import cluster
from dev.controlplane.cluster import ControlPlane
from dev.controlplane.programs import binaries
from shared.api.core.job import Job, read_job
from shared.kube.client import Client
from shared.kube.connect.connection import ConnectionSettings, connected
from shared.kube.resources import JOBS
from shared.kube.watch.cache import Change, Changed
from shared.kube.watch.watching import Watch

Choose = Callable[[ControlPlane, Sequence[Leaf]], AbstractContextManager[Contender]]
CONTENDERS: Final[dict[str, Choose]] = {
    "quotree": quotree,
    "kueue": lambda control_plane, leaves: kueue(control_plane, leaves, reclaims=True),
}
LENDER: Final = "lender"
BORROWER: Final = "borrower"


@dataclass(slots=True)
class Seen:
    """What a watch has shown of each group's Jobs, by its label's value."""

    label: str
    resumed: dict[str, dict[str, float]] = field(default_factory=dict)
    """group -> Job -> when it was first seen resumed, on this process' clock."""
    suspended: dict[str, list[float]] = field(default_factory=dict)
    """group -> when a running Job of it was suspended, likewise."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def see(self, changes: Sequence[Change[Job]]) -> None:
        """Process a batch of the watch."""
        now = time.perf_counter()
        for change in changes:
            if isinstance(change, Changed) and change.after is not None:
                self._see(change.before, change.after, now)
        self.changed.set()

    def _see(self, before: Job | None, after: Job, now: float) -> None:
        group = after.metadata.labels[self.label]
        if not after.spec.suspend:
            self.resumed.setdefault(group, {}).setdefault(after.metadata.name, now)
        elif before is not None and not before.spec.suspend:
            self.suspended.setdefault(group, []).append(now)

    async def until_resumed(self, group: str, jobs: int) -> Sequence[float]:
        """Return when each was first resumed, in order. Raises TimeoutError after ten minutes."""
        async with asyncio.timeout(PATIENCE):
            while len(self.resumed.get(group, ())) < jobs:
                self.changed.clear()
                await self.changed.wait()
        return sorted(self.resumed[group].values())


def leaves(jobs: int) -> tuple[Leaf, ...]:
    """The lender, promised a unit for each Job, and the borrower, promised nothing."""
    whole, nothing = {"cpu": str(jobs), "memory": f"{jobs}Gi"}, {"cpu": "0", "memory": "0"}
    return Leaf(LENDER, "organisation-part", whole), Leaf(BORROWER, "organisation-part", nothing)


def nodes(jobs: int) -> list[cluster.NodeSpec]:
    """Ten nodes with a unit for each Job, all together."""
    each = {"cpu": str(-(-jobs // 10)), "memory": f"{-(-jobs // 10)}Gi", "pods": "5000"}
    return [cluster.NodeSpec(f"node-{number}", allocatable=each) for number in range(10)]


def endless_jobs(contender: Contender, group: str, jobs: int) -> list[dict[str, Any]]:
    """Return Jobs of one unit whose pod runs until it is deleted."""
    unit = {"cpu": "1", "memory": "1Gi"}
    return [
        job(f"{group}-{number}", {contender.label: group}, unit, suspended=contender.suspended)
        for number in range(jobs)
    ]


async def measure(control_plane: ControlPlane, contender: Contender, jobs: int) -> None:
    """Print what it took."""
    async with connected(ConnectionSettings(kubeconfig=str(control_plane.kubeconfig))) as connection:
        client = Client(connection, timeout=timedelta(minutes=2))
        seen = Seen(contender.label)
        watch = Watch(client, JOBS, read_job, seen.see)
        watching = asyncio.create_task(watch.run())
        await watch.synced.wait()
        await create_all(client, JOBS, endless_jobs(contender, BORROWER, jobs), "default", CLIENTS)
        await seen.until_resumed(BORROWER, jobs)
        await asyncio.sleep(5)
        before, spent = requests_answered(control_plane), cpu_spent()
        began = time.perf_counter()
        await create_all(client, JOBS, endless_jobs(contender, LENDER, jobs), "default", CLIENTS)
        resumed = await seen.until_resumed(LENDER, jobs)
        await asyncio.sleep(5)
        answered = requests_answered(control_plane) - before
        costs = {name: (cpu - spent.get(name, 0)) / jobs for name, cpu in cpu_spent().items()}
        watching.cancel()
    evicted = seen.suspended[BORROWER]
    place = f"reclaims.{contender.name.lower()}"
    record(
        Figure(f"{place}.evictions", len(evicted), at_most=float(jobs)),
        Figure(f"{place}.last-eviction", evicted[-1] - began, "s"),
        Figure(f"{place}.first", resumed[0] - began, "s"),
        Figure(f"{place}.last", resumed[-1] - began, "s"),
        Figure(f"{place}.requests", answered / jobs, "requests"),
        Figure(f"{place}.api-server", costs.get(API_SERVER, 0.0), "ms of CPU"),
        Figure(f"{place}.own", own_cpu(contender, costs), "ms of CPU"),
    )
    print(
        f"{contender.name:10} the lender's first of {jobs} after {resumed[0] - began:.2f} s, its last after "
        f"{resumed[-1] - began:.2f} s\n"
        f"{'':10} {len(evicted)} evictions of the borrower, the first after {evicted[0] - began:.2f} s, the last after "
        f"{evicted[-1] - began:.2f} s; {len(seen.suspended.get(LENDER, ()))} of the lender; needed {jobs}\n"
        f"{'':10} {answered / jobs:.1f} requests per Job\n"
        f"{'':10} {cpu_text(costs)}",
        flush=True,
    )


def main() -> None:
    """Run it."""
    options = read_options(__doc__, CONTENDERS, jobs=200)
    programs = binaries.ensure(progress=print)
    for _ in range(options.rounds):
        for name in options.contenders:
            with (
                cluster.start(programs, nodes=nodes(options.jobs)) as control_plane,
                CONTENDERS[name](control_plane, leaves(options.jobs)) as contender,
            ):
                asyncio.run(measure(control_plane, contender, options.jobs))


if __name__ == "__main__":
    main()
