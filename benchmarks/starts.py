"""How fast held Jobs are started: Quotree and Kueue with everything on, and the limit, one patch per Job and no more.

`kinds` is Quotree that governs all shipped kinds beside Jobs, `recording` one whose leader records; `reviewed-limit` is
one patch per Job, and two webhooks that agree at once to each creation: the difference to it is Quotree's own.

    python -m benchmarks.starts [--jobs 500] [--rounds 1] [CONTENDER…]

Each contender gets a control plane of its own, one after another: etcd, API server, Job controller, scheduler and
simulated nodes, all on this machine; 20 groups in two levels, quota for all.

* alone: Jobs one at a time, from the moment the creation is sent to the moment a watch shows the Job resumed;
* together: so many Jobs created by 20 clients at once; from the first creation to the last resumed Job seen. Pods
  finish at once, so that the Job controller and the scheduler work on all of it too;
* queue: so many Jobs created while all groups are stopped, then let go at once; from that moment to the last resumed;
* requests: what the API server answered in all meanwhile, per Job, until all were complete and all was quiet; the
  creation and what the Job controller, the scheduler and the nodes ask are in it, and equal for all contenders;
* CPU: what each process spent on a Job, in milliseconds, from the first creation of "together" until all was quiet.

Kueue is built from its Go module the first time (about four minutes).
"""

import argparse
import asyncio
import os
import re
import statistics
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from benchmarks.jobs import create_all, job
from benchmarks.results.figures import Figure, of_rounds, record
from benchmarks.starting.agreeing import reviewed_limit
from benchmarks.starting.contender import Contender
from benchmarks.starting.itself import quotree, quotree_recording, quotree_with_kinds
from benchmarks.starting.kueue import kueue
from benchmarks.starting.limit import limit
from dev.controlplane import cluster
from dev.controlplane.cluster import ControlPlane
from dev.controlplane.programs import binaries
from shared.api.core.job import Job, read_job
from shared.kube.client import Client
from shared.kube.connect.connection import ConnectionSettings, connected
from shared.kube.resources import JOBS
from shared.kube.watch.cache import Change, Changed
from shared.kube.watch.watching import Watch

CONTENDERS: Final[dict[str, Callable[[ControlPlane], AbstractContextManager[Contender]]]] = {
    "quotree": quotree,
    "kinds": quotree_with_kinds,
    "recording": quotree_recording,
    "kueue": kueue,
    "limit": limit,
    "reviewed-limit": reviewed_limit,
}
ALONE: Final = 30
CLIENTS: Final = 20
PATIENCE: Final = 600.0
API_SERVER: Final = "kube-apiserver"
UNITS: Final = {
    "alone": "ms",
    "queue": "/s",
    "together": "/s",
    "requests": "requests",
    "api-server": "ms of CPU",
    "own": "ms of CPU",
}
"""what is measured → its unit."""
SHARES: Final = {"together": 80.0, "queue": 85.0}
"""The bars, in percent of the limit."""
ALONE_LATER: Final = 6.0
API_SERVER_MORE: Final = 7.0
OWN_CPU: Final = 3.5
TIMES_KUEUE: Final = 8.0
Pair = tuple[Mapping[str, float], Mapping[str, float]]
"""What Quotree and another had in one round."""
NODES: Final = [
    cluster.NodeSpec(f"node-{number}", allocatable={"cpu": "10000", "memory": "40000Gi", "pods": "5000"})
    for number in range(10)
]


@dataclass(slots=True)
class Seen:
    """When each Job was first seen resumed, by name, on this process' clock; and how many are complete."""

    resumed: dict[str, float] = field(default_factory=dict)
    complete: set[str] = field(default_factory=set)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def see(self, changes: Sequence[Change[Job]]) -> None:
        """Process a batch of the watch."""
        now = time.perf_counter()
        for change in changes:
            job = change.after if isinstance(change, Changed) else None
            if job is not None and not job.spec.suspend:
                self.resumed.setdefault(job.metadata.name, now)
                if job.has_finished:
                    self.complete.add(job.metadata.name)
        self.changed.set()

    async def until(self, done: Callable[[], bool]) -> None:
        """Return when the watch has shown it. Raises TimeoutError after ten minutes."""
        async with asyncio.timeout(PATIENCE):
            while not done():
                self.changed.clear()
                await self.changed.wait()


def short_job(name: str, number: int, contender: Contender) -> dict[str, Any]:
    """Return a Job of usual size whose pod is done as soon as it runs."""
    return job(
        name,
        contender.labels(number),
        {"cpu": "1", "memory": "1Gi"},
        suspended=contender.suspended,
        metadata={"annotations": {"demo.quotree.dev/run-for": "0s"}},
    )


async def alone(client: Client, seen: Seen, contender: Contender) -> list[float]:
    """Milliseconds from creation to resumption, of Jobs one at a time."""
    found = []
    for number in range(ALONE):
        name = f"alone-{number}"
        began = time.perf_counter()
        await client.create(JOBS, short_job(name, number, contender), "default")
        await seen.until(lambda name=name: name in seen.resumed)  # type: ignore[misc]
        found.append((seen.resumed[name] - began) * 1000)
        await seen.until(lambda name=name: name in seen.complete)  # type: ignore[misc]
    return sorted(found)


async def create_named(client: Client, contender: Contender, names: Sequence[str]) -> None:
    """Create the Jobs of these names as fast as 20 clients can."""
    bodies = (short_job(name, number, contender) for number, name in enumerate(names))
    await create_all(client, JOBS, bodies, "default", CLIENTS)


async def together(client: Client, seen: Seen, contender: Contender, jobs: int) -> tuple[float, float]:
    """Jobs created, and Jobs resumed, per second, both counted from the first creation."""
    names = [f"job-{number}" for number in range(jobs)]
    began = time.perf_counter()
    await create_named(client, contender, names)
    created = time.perf_counter()
    await seen.until(lambda: seen.resumed.keys() >= set(names))
    last = max(seen.resumed[name] for name in names)
    await seen.until(lambda: seen.complete >= set(names))
    return jobs / (created - began), jobs / (last - began)


async def queue(client: Client, seen: Seen, contender: Contender, jobs: int) -> float:
    """Jobs resumed per second, counted from the moment the queue is let go."""
    names = [f"queued-{number}" for number in range(jobs)]
    await asyncio.to_thread(contender.hold)
    await asyncio.sleep(1)
    await create_named(client, contender, names)
    await asyncio.sleep(3)
    began = time.perf_counter()
    await asyncio.to_thread(contender.release)
    await seen.until(lambda: seen.resumed.keys() >= set(names))
    if early := [name for name in names if seen.resumed[name] < began]:
        raise RuntimeError(f"{contender.name} started {len(early)} Jobs while it was told to hold them")
    return jobs / (max(seen.resumed[name] for name in names) - began)


def requests_answered(control_plane: ControlPlane) -> int:
    """Return how many requests but watches the API server has answered, by its own count."""
    _, text = control_plane.rest.request("GET", "/metrics")
    lines = re.findall(r"^apiserver_request_total\{(.*)\} (\S+)$", text, re.MULTILINE)
    return int(sum(float(count) for labels, count in lines if 'verb="WATCH"' not in labels))


def cpu_spent() -> dict[str, float]:
    """Milliseconds of CPU that each child of this process has spent so far, by name."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            name, _, rest = stat.read_text().partition("(")[2].rpartition(")")
            words = rest.split()
            if int(words[1]) == os.getpid():
                command = (stat.parent / "cmdline").read_bytes().decode().split("\0")
                shown = command[2] if "python" in name else Path(command[0]).name
                found[shown] = (int(words[11]) + int(words[12])) * 1000 / os.sysconf("SC_CLK_TCK")
    found["asking"] = time.process_time() * 1000
    return found


async def measure(control_plane: ControlPlane, contender: Contender, jobs: int) -> dict[str, float]:
    """Print some lines, and return what was measured."""
    async with connected(ConnectionSettings(kubeconfig=str(control_plane.kubeconfig))) as connection:
        client = Client(connection, timeout=timedelta(minutes=2))
        seen = Seen()
        watch = Watch(client, JOBS, read_job, seen.see)
        watching = asyncio.create_task(watch.run())
        await watch.synced.wait()
        single = await alone(client, seen, contender)
        await asyncio.sleep(2)
        before, spent = requests_answered(control_plane), cpu_spent()
        created, started = await together(client, seen, contender, jobs)
        await asyncio.sleep(2)
        answered = requests_answered(control_plane) - before
        costs = {name: (cpu - spent.get(name, 0)) / jobs for name, cpu in cpu_spent().items()}
        queued = await queue(client, seen, contender, jobs)
        watching.cancel()
    print(
        f"{contender.name:10} alone: median {statistics.median(single):.1f} ms, worst {single[-1]:.1f} ms\n"
        f"{'':10} queue of {jobs}: {queued:.1f} started/s\n"
        f"{'':10} {jobs} together: {started:.1f} started/s ({created:.1f} created/s), "
        f"{answered / jobs:.1f} requests per Job\n"
        f"{'':10} {cpu_text(costs)}",
        flush=True,
    )
    found = {"alone": statistics.median(single), "queue": queued, "together": started, "requests": answered / jobs}
    return found | {"api-server": costs.get(API_SERVER, 0.0), "own": own_cpu(contender, costs)}


def own_cpu(contender: Contender, costs: Mapping[str, float]) -> float:
    """Return what all processes of the contender spent."""
    return sum(costs.get(name, 0.0) for name in contender.programs)


def cpu_text(costs: Mapping[str, float]) -> str:
    """Return what each process spent on a Job, in milliseconds; nothing of those that spent next to nothing."""
    return "CPU per Job: " + ", ".join(f"{name} {cost:.1f}" for name, cost in costs.items() if cost >= 0.05)


def read_options(parser: argparse.ArgumentParser, contenders: Collection[str], jobs: int) -> argparse.Namespace:
    """Read also `contenders`, `jobs` and `rounds` from the command line; `jobs`: so many if it does not say."""
    parser.add_argument("contenders", nargs="*", metavar="contender", default=list(contenders))
    parser.add_argument("--jobs", type=int, default=jobs)
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    if unknown := set(options.contenders) - set(contenders):
        parser.error(f"unknown contender {', '.join(sorted(unknown))}: there are {', '.join(contenders)}")
    return options


def figures_of(rounds: Mapping[str, Sequence[Mapping[str, float]]]) -> Iterator[Figure]:
    """Yield the median of each contender's rounds, then what Quotree is to the others. `rounds`: contender → rounds."""
    for name, found in rounds.items():
        for what, unit in UNITS.items():
            bar = OWN_CPU if (name, what) == ("quotree", "own") else None
            yield of_rounds(f"starts.{name}.{what}", [each[what] for each in found], unit, at_most=bar)
    ours = rounds.get("quotree", ())
    for name in ("limit", "reviewed-limit"):
        if ours and (theirs := rounds.get(name)):
            yield from _beside_limit(name, list(zip(ours, theirs, strict=True)), barred=name == "limit")
    if ours and "kueue" in rounds:
        yield from _beside_kueue(list(zip(ours, rounds["kueue"], strict=True)))


def _beside_limit(name: str, pairs: Sequence[Pair], *, barred: bool) -> Iterator[Figure]:
    place = f"starts.quotree-to-{name}"
    for what in ("together", "queue"):
        shares = [100 * ours[what] / theirs[what] for ours, theirs in pairs]
        yield of_rounds(f"{place}.{what}", shares, "%", at_least=SHARES[what] if barred else None)
    later = [ours["alone"] - theirs["alone"] for ours, theirs in pairs]
    yield of_rounds(f"{place}.alone", later, "ms", at_most=ALONE_LATER if barred else None)
    more = [100 * (ours["api-server"] / theirs["api-server"] - 1) for ours, theirs in pairs if theirs["api-server"]]
    if more:
        yield of_rounds(f"{place}.api-server", more, "% more", at_most=API_SERVER_MORE if barred else None)


def _beside_kueue(pairs: Sequence[Pair]) -> Iterator[Figure]:
    for what in ("together", "queue"):
        faster = [ours[what] / theirs[what] for ours, theirs in pairs]
        bar = TIMES_KUEUE if what == "together" else None
        yield of_rounds(f"starts.quotree-to-kueue.{what}", faster, "times", at_least=bar)
    yield of_rounds(
        "starts.quotree-to-kueue.alone", [theirs["alone"] / ours["alone"] for ours, theirs in pairs], "times"
    )


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options = read_options(parser, CONTENDERS, jobs=500)
    programs = binaries.ensure(progress=print)
    rounds: dict[str, list[Mapping[str, float]]] = {name: [] for name in options.contenders}
    for _ in range(options.rounds):
        for name in options.contenders:
            with cluster.start(programs, nodes=NODES) as control_plane, CONTENDERS[name](control_plane) as contender:
                rounds[name].append(asyncio.run(measure(control_plane, contender, options.jobs)))
        record(*figures_of(rounds))


if __name__ == "__main__":
    main()
