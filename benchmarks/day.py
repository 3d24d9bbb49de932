"""The trace openb lived through on a real control plane, by Quotree and by Kueue: days in minutes.

    python -m benchmarks.day [--minutes 12] [--pods N] [--patience 300] [CONTENDER…]

Alibaba's cluster-trace-gpu-v2023 (`dev.openb`): its 1,213 GPU nodes are simulated, its pods come as Jobs of one pod
with their requests, accepted models and priorities, from the moment at which the first twentieth had come (30 days are
left; the first 118 are quiet). Who still ran then comes first, with the rest of its run time; who was over is left out,
and so is a pod that no node can hold. All the trace's GPUs would never be short: at most 71 are in use at once. So the
organisation has 63 (`benchmarks.starting.organisation`, the same tree for both). Pods of 50 neighbours in a row are of
one team, so that teams are busy in turns, and borrow and lend.

Arrivals and run times are divided by one factor, so that those 30 days take `minutes`. A pod that runs ends by itself
after its run time; what is evicted begins again. What of the control plane a Job needs is not compressed: its GPUs are
held from its start until the Job controller says that its pod has ended. What has not ended `patience` seconds
after the last arrival is given up. `pods`: the first so many of them alone, at the same pace. `keep`: a folder for what
was seen and for all logs.

Everything is read from a watch of the Jobs, nothing from what contenders say. What waits for a contender and what for
its quota: see `benchmarks.course`. "Late": how long after its time a Job was created, because the API server and the
contender's webhooks took longer than Jobs came.
"""

import argparse
import asyncio
import itertools
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from random import Random
from statistics import mean, median
from typing import Any, Final

import msgspec

from benchmarks.course import POINTS, Asked, Course, Sample, What, averages, samples
from benchmarks.results.figures import Figure, of_rounds, record
from benchmarks.starting.contender import Contender
from benchmarks.starting.organisation import GPUS, NODES, TEAMS, holding, kueue_organisation, quotree_organisation
from benchmarks.starts import API_SERVER, cpu_spent, cpu_text, own_cpu
from dev.controlplane import cluster
from dev.controlplane.cluster import ControlPlane
from dev.controlplane.programs import binaries
from dev.openb.manifests import GPU, MODEL_LABEL, PRIORITIES, job
from dev.openb.records import NodeRecord, PodRecord, read_pods
from shared.api.core.job import Job, read_job
from shared.kube.client import Client
from shared.kube.connect.connection import ConnectionSettings, connected
from shared.kube.errors import ApiError
from shared.kube.resources import JOBS
from shared.kube.watch.cache import Change
from shared.kube.watch.watching import Watch

CONTENDERS: Final[dict[str, Callable[[ControlPlane], AbstractContextManager[Contender]]]] = {
    "quotree": quotree_organisation,
    "kueue": kueue_organisation,
}
CLIENTS: Final = 20
NEIGHBOURS: Final = 50
"""So many pods in a row are of one team."""
STEP: Final = 0.5
"""Seconds between two samples."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A pod that comes so many seconds after the beginning, and runs for so many. `models`: those it can get."""

    at: float
    pod: PodRecord
    team: str
    models: Sequence[str]
    runs: float

    def body(self, label: str) -> dict[str, Any]:
        """Return its Job. `label`: where the contender looks for the team."""
        accepts = frozenset(self.models) if len(self.models) < len(GPUS) else frozenset[str]()
        run_for = {"demo.quotree.dev/run-for": f"{self.runs:.3f}s"}
        body = job(replace(self.pod, models=accepts), namespace="default", group=self.team, annotations=run_for)
        body["metadata"]["labels"] = {label: self.team}
        return body

    @property
    def asked(self) -> Asked:
        """What it needs."""
        return Asked(self.pod.gpus, self.models, PRIORITIES[self.pod.qos])


def arrivals(minutes: float) -> tuple[list[Arrival], float]:
    """Return all of the trace in so many minutes, in their order, and by how much time is divided."""
    pods = sorted(read_pods(), key=lambda each: each.created)
    begin, dice, found = pods[len(pods) // 20].created, Random(1), list[Arrival]()
    factor = (pods[-1].created - begin) / (60 * minutes)
    for number, pod in enumerate(pods):
        team = dice.choice(TEAMS) if number % NEIGHBOURS == 0 or not found else found[-1].team
        runs = pod.ran_for - max(0, begin - (pod.created if pod.scheduled is None else pod.scheduled))
        models = holding(pod)
        if runs > 0 and models:
            found.append(Arrival(max(0, pod.created - begin) / factor, pod, team, models, runs / factor))
    return found, factor


@dataclass(slots=True)
class Creation:
    """How creating went: seconds that each Job was late, and what was refused, which is tried again."""

    late: list[float]
    refused: list[ApiError]


async def create_when_due(client: Client, coming: Sequence[Arrival], label: str, began: float, done: Creation) -> None:
    """Create each at its time, by 20 clients, and note how that goes in `done`."""
    left = iter([(each.at, each.body(label)) for each in coming])

    async def create_some() -> None:
        for at, body in left:
            await asyncio.sleep(began + at - time.perf_counter())
            while not await _created(client, body, done):  # noqa: ASYNC110 - it asks again, as a person would
                await asyncio.sleep(1)
            done.late.append(time.perf_counter() - began - at)

    await asyncio.gather(*(create_some() for _ in range(CLIENTS)))


async def _created(client: Client, body: dict[str, Any], done: Creation) -> bool:
    try:
        await client.create(JOBS, body, "default")
    except ApiError as error:
        done.refused.append(error)
        return False
    return True


def node(record: NodeRecord) -> cluster.NodeSpec:
    """Return what the simulated cluster needs to have the trace's node."""
    gives = {"cpu": f"{record.cpu_milli}m", "memory": f"{record.memory_mib}Mi", GPU: str(record.gpus)}
    return cluster.NodeSpec(record.name, labels={MODEL_LABEL: record.model}, allocatable=gives)


async def measure(control_plane: ControlPlane, contender: Contender, options: argparse.Namespace) -> None:
    """Live through it, and print what was seen."""
    every, factor = arrivals(options.minutes)
    coming = every[: options.pods]
    course = Course(MODEL_LABEL)
    async with connected(ConnectionSettings(kubeconfig=str(control_plane.kubeconfig))) as connection:
        client = Client(connection, timeout=timedelta(minutes=2))
        began = time.perf_counter()

        def see(changes: Sequence[Change[Job]]) -> None:
            course.see(changes, time.perf_counter() - began)

        watch = Watch(client, JOBS, read_job, see)
        watching = asyncio.create_task(watch.run())
        telling = asyncio.create_task(tell(course))
        await watch.synced.wait()
        spent, began = cpu_spent(), time.perf_counter()
        creation = Creation([], [])
        with suppress(TimeoutError):
            async with asyncio.timeout(coming[-1].at + options.patience):
                await create_when_due(client, coming, contender.label, began, creation)
                while len(course.ended) < len(coming):  # noqa: ASYNC110 - the watch adds to it
                    await asyncio.sleep(STEP)
        end = time.perf_counter() - began
        costs = {name: (cpu - spent.get(name, 0)) / len(coming) for name, cpu in cpu_spent().items()}
        watching.cancel()
        telling.cancel()
    if options.keep:
        keep(control_plane, course, options.keep / contender.name.lower())
    asked = {each.pod.name: each.asked for each in coming}
    found = list(samples(course.events, asked, GPUS, end, STEP))
    figures = [
        Figure("day.factor", factor),
        Figure("day.gpus", sum(GPUS.values()), "GPUs"),
        Figure("day.minutes", options.minutes, "minutes"),
        *_counts(f"day.{contender.name.lower()}", course, coming, creation, end),
        *_times(f"day.{contender.name.lower()}", course, found, len(coming), end),
        Figure(f"day.{contender.name.lower()}.api-server", costs.get(API_SERVER, 0.0), "ms of CPU"),
        Figure(f"day.{contender.name.lower()}.own", own_cpu(contender, costs), "ms of CPU"),
    ]
    record(*figures)
    print(f"{contender.name}, {len(coming)} Jobs, time divided by {factor:.0f}, load {os.getloadavg()[0]:.1f}:")
    print("\n".join(f"  {each.name} {each.text}" for each in figures))
    if creation.refused:
        print(f"  refused {len(creation.refused)} times, first: {creation.refused[0]}")
    print(f"  {cpu_text(costs)}", flush=True)


async def tell(course: Course) -> None:
    """Print once a minute how far it is."""
    for minute in itertools.count(1):
        await asyncio.sleep(60)
        print(f"  {minute} minutes:", *(f"{each.value} {course.count(each)}" for each in What), flush=True)


def keep(control_plane: ControlPlane, course: Course, folder: Path) -> None:
    """Write what was seen, and copy all logs."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "events.json").write_bytes(msgspec.json.encode(course.events))
    for log in control_plane.workdir.rglob("*.log"):
        shutil.copy(log, folder / log.name)


def _counts(place: str, course: Course, coming: Sequence[Arrival], creation: Creation, end: float) -> Iterator[Figure]:
    yield Figure(f"{place}.jobs", len(coming), "Jobs")
    yield Figure(f"{place}.created", course.count(What.CREATED), "Jobs")
    yield Figure(f"{place}.ended", len(course.ended), "Jobs")
    yield Figure(f"{place}.starts", course.count(What.STARTED))
    yield Figure(f"{place}.evictions", course.count(What.EVICTED))
    yield Figure(f"{place}.refused", len(creation.refused))
    if creation.late:
        yield Figure(f"{place}.late", median(creation.late), "s")
        yield Figure(f"{place}.late.longest", max(creation.late), "s")
    yield Figure(f"{place}.took", end, "s")
    yield Figure(f"{place}.after-the-last", end - coming[-1].at, "s")


def _times(place: str, course: Course, found: Sequence[Sample], jobs: int, end: float) -> Iterator[Figure]:
    waits = course.waits(end)
    yield Figure(f"{place}.wait", mean(waits), "s")
    yield Figure(f"{place}.wait.median", median(waits), "s")
    yield Figure(f"{place}.wait.95", waits[len(waits) * 95 // 100], "s")
    yield Figure(f"{place}.wait.contender", STEP * sum(each.could_run for each in found) / jobs, "s")
    yield Figure(f"{place}.wait.quota", STEP * sum(each.waiting - each.could_run for each in found) / jobs, "s")
    yield Figure(f"{place}.idle.average", mean(each.idle for each in found), "GPUs")
    yield Figure(f"{place}.idle.wanted", mean(each.wanted for each in found), "GPUs")
    curves: Mapping[str, tuple[Sequence[float], str]] = {
        "waiting": (averages([each.waiting for each in found]), "Jobs"),
        "idle": (averages([each.idle for each in found]), "GPUs"),
        "wanted": (averages([each.wanted for each in found]), "GPUs"),
        "created": (course.until(What.CREATED, POINTS, end), "Jobs"),
        "started": (course.until(What.STARTED, POINTS, end), "starts"),
        "evicted": (course.until(What.EVICTED, POINTS, end), "evictions"),
    }
    for what, (values, unit) in curves.items():
        yield of_rounds(f"{place}.curve.{what}", values, unit)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("contenders", nargs="*", metavar="contender", default=list(CONTENDERS))
    parser.add_argument("--minutes", type=float, default=12)
    parser.add_argument("--pods", type=int, help="all, if absent")
    parser.add_argument("--patience", type=float, default=300)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    if unknown := set(options.contenders) - set(CONTENDERS):
        parser.error(f"unknown contender {', '.join(sorted(unknown))}: there are {', '.join(CONTENDERS)}")
    programs = binaries.ensure(progress=print)
    nodes = [node(record) for records in NODES.values() for record in records]
    for name in options.contenders:
        with cluster.start(programs, nodes=nodes) as control_plane, CONTENDERS[name](control_plane) as contender:
            asyncio.run(measure(control_plane, contender, options))


if __name__ == "__main__":
    main()
