"""How fast a lender gets its share back while many wait: Quotree and Kueue with everything on, and what it costs.

    python -m benchmarks.reclaims [--jobs 200] [--waiting 10000] [--settle 600] [--patience 300] [CONTENDER…]

Two groups of one parent: the lender is promised all that the nodes have, one unit for each Job, the borrower nothing.
So many Jobs of one unit run in the borrower's group and do not end by themselves, and so many more wait there behind
them. 5 s after the contender's own status counts all of these, as many as run are created in the lender's by 20
clients. Each contender gets a control plane of its own (see `benchmarks.starts`). A pod that is evicted ends at once.

* taken in: how long that took after the last of those that wait was created, at most `settle` seconds;
* the first, the last: from the first creation until the lender's first and last Job are resumed;
* evictions: how often a Job of the borrower was suspended, and when; needed are as many as the lender has Jobs;
* freed: when the Job controller had last said that no pod of an evicted Job is left. Nothing can start there before;
  "behind": how long after the n-th Job's pods had ended the n-th of the lender was resumed, the median and the longest;
* requests and CPU: as in `benchmarks.starts`, for each Job of the lender, until all was quiet.

What the lender has not got back after `patience` seconds is not waited for.
"""

import argparse
import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from statistics import median
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
    freed: dict[str, float] = field(default_factory=dict)
    """suspended Job -> when its status first said that no pod of it is left."""
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
        was_resumed = after.metadata.name in self.resumed.get(group, {})
        if after.spec.suspend and was_resumed and not after.status.active and not after.status.terminating:
            self.freed.setdefault(after.metadata.name, now)

    async def until_resumed(self, group: str, jobs: int, patience: float = PATIENCE) -> Sequence[float]:
        """Return when each was first resumed, in order; those of so many seconds, if not all are."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                while len(self.resumed.get(group, ())) < jobs:
                    self.changed.clear()
                    await self.changed.wait()
        return sorted(self.resumed.get(group, {}).values())


def leaves(jobs: int) -> tuple[Leaf, ...]:
    """The lender, promised a unit for each Job, and the borrower, promised nothing."""
    whole, nothing = {"cpu": str(jobs), "memory": f"{jobs}Gi"}, {"cpu": "0", "memory": "0"}
    return Leaf(LENDER, "organisation-part", whole), Leaf(BORROWER, "organisation-part", nothing)


def nodes(jobs: int) -> list[cluster.NodeSpec]:
    """Ten nodes with a unit for each Job, all together."""
    each = {"cpu": str(-(-jobs // 10)), "memory": f"{-(-jobs // 10)}Gi", "pods": "5000"}
    return [cluster.NodeSpec(f"node-{number}", allocatable=each) for number in range(10)]


def endless_jobs(contender: Contender, group: str, jobs: int, name: str = "job") -> list[dict[str, Any]]:
    """Return Jobs of one unit whose pod runs until it is deleted. `name`: what theirs begin with."""
    unit = {"cpu": "1", "memory": "1Gi"}
    return [
        job(f"{group}-{name}-{number}", {contender.label: group}, unit, suspended=contender.suspended)
        for number in range(jobs)
    ]


async def until_known(contender: Contender, jobs: int, longest: float) -> float:
    """Wait until its status counts so many Jobs, for so many seconds at most; return how long that took."""
    began = time.perf_counter()
    with suppress(TimeoutError):
        async with asyncio.timeout(longest):
            while await asyncio.to_thread(contender.known) < jobs:  # noqa: ASYNC110 - it happens in other processes
                await asyncio.sleep(1)
    return time.perf_counter() - began


async def measure(control_plane: ControlPlane, contender: Contender, options: argparse.Namespace) -> None:
    """Print what it took."""
    jobs, waiting = options.jobs, options.waiting
    async with connected(ConnectionSettings(kubeconfig=str(control_plane.kubeconfig))) as connection:
        client = Client(connection, timeout=timedelta(minutes=2))
        seen = Seen(contender.label)
        watch = Watch(client, JOBS, read_job, seen.see)
        watching = asyncio.create_task(watch.run())
        await watch.synced.wait()
        await create_all(client, JOBS, endless_jobs(contender, BORROWER, jobs), "default", CLIENTS)
        if len(await seen.until_resumed(BORROWER, jobs)) < jobs:
            raise RuntimeError(f"{contender.name} has not started what fits")
        await create_all(client, JOBS, endless_jobs(contender, BORROWER, waiting, "waits"), "default", CLIENTS)
        taken_in = await until_known(contender, jobs + waiting, options.settle)
        await asyncio.sleep(5)
        before, spent = requests_answered(control_plane), cpu_spent()
        began = time.perf_counter()
        await create_all(client, JOBS, endless_jobs(contender, LENDER, jobs), "default", CLIENTS)
        resumed = await seen.until_resumed(LENDER, jobs, options.patience)
        await asyncio.sleep(5)
        answered = requests_answered(control_plane) - before
        costs = {name: (cpu - spent.get(name, 0)) / jobs for name, cpu in cpu_spent().items()}
        watching.cancel()
    figures = [
        Figure(f"reclaims.{contender.name.lower()}.taken-in", taken_in, "s"),
        *_times(f"reclaims.{contender.name.lower()}", seen, resumed, began, jobs),
        Figure(f"reclaims.{contender.name.lower()}.requests", answered / jobs, "requests"),
        Figure(f"reclaims.{contender.name.lower()}.api-server", costs.get(API_SERVER, 0.0), "ms of CPU"),
        Figure(f"reclaims.{contender.name.lower()}.own", own_cpu(contender, costs), "ms of CPU"),
    ]
    record(*figures)
    print(f"{contender.name}, {jobs} Jobs while {waiting} wait:")
    print("\n".join(f"  {each.name} {each.text}" for each in figures))
    print(f"  {cpu_text(costs)}", flush=True)


def _times(place: str, seen: Seen, resumed: Sequence[float], began: float, jobs: int) -> Iterator[Figure]:
    evicted, freed = seen.suspended.get(BORROWER, []), sorted(seen.freed.values())
    behind = sorted(start - free for start, free in zip(resumed, freed, strict=False))
    yield Figure(f"{place}.resumed", len(resumed), "Jobs", at_least=float(jobs))
    yield Figure(f"{place}.evictions", len(evicted), at_most=float(jobs))
    yield Figure(f"{place}.evictions-of-the-lender", len(seen.suspended.get(LENDER, ())), at_most=0.0)
    for name, times in (("eviction", evicted), ("freed", freed), ("start", resumed)):
        if times:
            yield Figure(f"{place}.first-{name}", times[0] - began, "s")
            yield Figure(f"{place}.last-{name}", times[-1] - began, "s")
    if behind:
        yield Figure(f"{place}.behind", median(behind), "s")
        yield Figure(f"{place}.behind.longest", behind[-1], "s")


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--waiting", type=int, default=10_000)
    parser.add_argument("--settle", type=float, default=600)
    parser.add_argument("--patience", type=float, default=300)
    options = read_options(parser, CONTENDERS, jobs=200)
    programs = binaries.ensure(progress=print)
    for _ in range(options.rounds):
        for name in options.contenders:
            with (
                cluster.start(programs, nodes=nodes(options.jobs)) as control_plane,
                CONTENDERS[name](control_plane, leaves(options.jobs)) as contender,
            ):
                asyncio.run(measure(control_plane, contender, options))


if __name__ == "__main__":
    main()
