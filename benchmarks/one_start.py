"""Where the time of one start goes, across all processes: a Job alone, from its creation to its resumption.

    python -m benchmarks.one_start [--jobs 50] [CONTENDER…]

Each contender gets two control planes of its own, as in `starts`. On the first one nothing is looked at: "plain". On
the second one the API server traces every request, and the contender's processes note moments (`benchmarks.profile`):
of each Job the stages sum to the whole. Jobs are created one after another, each half a second after the end of the one
before. Figures are medians. The sum of the stages' medians differs from the median of the whole, by "unexplained"; so
what a group of stages took, "part", is an average of the starts without the fastest and the slowest quarter.

CPU is read from the kernel, of the plain control plane: from the creation of a Job to its resumption, and to its end
with what is written about it in the second after. "waited": ready, but without a core, all threads together.
"""

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import mean, median
from typing import Final

from benchmarks.profile import cpu
from benchmarks.profile.collector import collecting, write_tracing
from benchmarks.profile.moments import PREFIX, RUN, noting, read_moments
from benchmarks.profile.spans import read_spans
from benchmarks.profile.stages import PARTS, STAGES, Incomplete, stages
from benchmarks.results.figures import Figure, record
from benchmarks.starting.agreeing import reviewed_limit
from benchmarks.starting.contender import Contender
from benchmarks.starting.itself import quotree
from benchmarks.starting.limit import limit
from benchmarks.starts import NODES, Seen, short_job
from dev.controlplane import cluster
from dev.controlplane.cluster import ControlPlane
from dev.controlplane.host.ports import Ports
from dev.controlplane.host.processes import AS_MODULE
from dev.controlplane.programs import binaries
from dev.controlplane.programs.binaries import Binaries
from shared.api.core.job import read_job
from shared.kube.client import Client
from shared.kube.connect.connection import ConnectionSettings, connected
from shared.kube.resources import JOBS
from shared.kube.watch.watching import Watch

Start = Callable[[ControlPlane, Sequence[str]], AbstractContextManager[Contender]]
CONTENDERS: Final[dict[str, Start]] = {
    "quotree": lambda control_plane, run: quotree(control_plane, run=run),
    "reviewed-limit": reviewed_limit,
    "limit": limit,
}
WARM_UP: Final = 8
"""The first Jobs are not counted: connections are made, and caches filled."""
QUIET: Final = 0.5
"""Seconds after a Job's end."""
EXPORTED: Final = 6.0
"""Seconds until the API server has sent its last spans; it sends them every five."""


@dataclass(frozen=True, slots=True)
class One:
    """One start. `began`, `ended`: nanoseconds; `to_start`, `in_all`: process → what it spent."""

    job: str
    began: int
    ended: int
    to_start: Mapping[str, cpu.Spent]
    in_all: Mapping[str, cpu.Spent]

    @property
    def took(self) -> float:
        """Milliseconds."""
        return (self.ended - self.began) / 1e6


async def start_each(control_plane: ControlPlane, contender: Contender, jobs: int) -> list[One]:
    """Create so many Jobs one after another, and return how it went, without the first ones."""
    found, ids = [], cpu.processes()
    async with connected(ConnectionSettings(kubeconfig=str(control_plane.kubeconfig))) as connection:
        client, seen = Client(connection, timeout=timedelta(minutes=2)), Seen()
        watch = Watch(client, JOBS, read_job, seen.see)
        watching = asyncio.create_task(watch.run())
        await watch.synced.wait()
        for number in range(WARM_UP + jobs):
            name = f"{PREFIX}{number}"
            body, before = short_job(name, number, contender), cpu.spent(ids)
            offset = time.time_ns() - time.perf_counter_ns()
            began = time.perf_counter_ns() + offset
            await client.create(JOBS, body, "default")
            await seen.until(lambda name=name: name in seen.resumed)  # type: ignore[misc]
            started = cpu.spent(ids)
            await seen.until(lambda name=name: name in seen.complete)  # type: ignore[misc]
            await asyncio.sleep(QUIET)
            ended = round(seen.resumed[name] * 1e9) + offset
            found.append(One(name, began, ended, _since(started, before), _since(cpu.spent(ids), before)))
        watching.cancel()
    return found[WARM_UP:]


def _since(after: Mapping[str, cpu.Spent], before: Mapping[str, cpu.Spent]) -> dict[str, cpu.Spent]:
    return {name: each.since(before[name]) for name, each in after.items()}


def plain(programs: Binaries, start: Start, jobs: int) -> list[One]:
    """Return starts that nothing looked at."""
    with cluster.start(programs, nodes=NODES) as control_plane, start(control_plane, AS_MODULE) as contender:
        return asyncio.run(start_each(control_plane, contender, jobs))


def traced(programs: Binaries, start: Start, jobs: int, folder: Path) -> tuple[list[One], list[dict[str, float]]]:
    """Return starts, and the stages of each whose moments are all there."""
    file = folder / "moments"
    with Ports() as ports:
        port = ports.take()
        tracing = f"--tracing-config-file={write_tracing(folder, port)}"
        with (
            noting(file),
            collecting(port) as messages,
            cluster.start(programs, nodes=NODES, extra_apiserver_args=[tracing]) as control_plane,
            start(control_plane, RUN) as contender,
        ):
            found = asyncio.run(start_each(control_plane, contender, jobs))
            time.sleep(EXPORTED)
    spans, moments = [span for message in messages for span in read_spans(message)], read_moments(file)
    every = []
    for one in found:
        within = [each for each in spans if one.began <= each.began <= one.ended]
        try:
            every.append(
                stages(one.began, one.ended, one.job, within, [each for each in moments if one.began <= each.at])
            )
        except Incomplete as error:
            print(f"{one.job}: {error}")
    return found, every


def figures_of(
    name: str, untouched: Sequence[One], found: Sequence[One], every: Sequence[Mapping[str, float]]
) -> Iterator[Figure]:
    """Yield what was measured of one contender. `every`: the stages of each start of `found`."""
    place = f"one_start.{name}"
    whole = median(each.took for each in found)
    yield Figure(f"{place}.plain", median(each.took for each in untouched), "ms")
    yield Figure(f"{place}.traced", whole, "ms")
    medians = {stage: median(each[stage] for each in every) for stage in every[0]}
    for stage, took in medians.items():
        yield Figure(f"{place}.{stage}", took, "ms")
    yield Figure(f"{place}.sum", sum(medians.values()), "ms")
    yield Figure(f"{place}.unexplained", whole - sum(medians.values()), "ms")
    middle = middle_half(every)
    for part in PARTS:
        sums = [sum(each.get(stage.name, 0.0) for stage in STAGES if stage.part == part) for each in middle]
        yield Figure(f"{place}.part.{part}", mean(sums), "ms")
    yield Figure(f"{place}.part.all", mean(sum(each.values()) for each in middle), "ms")
    yield Figure(f"{place}.written-again", 100 * mean(each["again"] > 0 for each in every), "%")
    for process in untouched[0].to_start:
        yield Figure(f"{place}.cpu.{process}.to-start", median(one.to_start[process].cpu for one in untouched), "ms")
        yield Figure(f"{place}.cpu.{process}.waited", median(one.to_start[process].waited for one in untouched), "ms")
        yield Figure(f"{place}.cpu.{process}.in-all", median(one.in_all[process].cpu for one in untouched), "ms")


def middle_half(every: Sequence[Mapping[str, float]]) -> Sequence[Mapping[str, float]]:
    """Return the starts without the fastest and the slowest quarter."""
    ordered = sorted(every, key=lambda each: sum(each.values()))
    return ordered[len(ordered) // 4 : len(ordered) - len(ordered) // 4]


def beside(name: str, figures: Sequence[Figure]) -> Iterator[Figure]:
    """Yield how much more Quotree needs than that contender, part by part."""
    values = {each.name: each.value for each in figures}
    for what in ("plain", *(f"part.{part}" for part in (*PARTS, "all"))):
        ours, theirs = values[f"one_start.quotree.{what}"], values[f"one_start.{name}.{what}"]
        yield Figure(f"one_start.quotree-to-{name}.{what}", ours - theirs, "ms")


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("contenders", nargs="*", metavar="contender", default=list(CONTENDERS))
    parser.add_argument("--jobs", type=int, default=50)
    options = parser.parse_args()
    if unknown := set(options.contenders) - set(CONTENDERS):
        parser.error(f"unknown contender {', '.join(sorted(unknown))}: there are {', '.join(CONTENDERS)}")
    programs = binaries.ensure(progress=print)
    figures: list[Figure] = []
    for name in options.contenders:
        start = CONTENDERS[name]
        untouched = plain(programs, start, options.jobs)
        with tempfile.TemporaryDirectory() as folder:
            found, every = traced(programs, start, options.jobs, Path(folder))
        figures += figures_of(name, untouched, found, every)
        print(
            f"{name}: load {os.getloadavg()[0]:.1f}, {len(every)} of {len(found)} starts with all moments", flush=True
        )
    if "quotree" in options.contenders:
        others = [name for name in options.contenders if name != "quotree"]
        figures += [figure for name in others for figure in beside(name, figures)]
    record(*figures)
    print("\n".join(f"{each.name} {each.text}" for each in figures), flush=True)


if __name__ == "__main__":
    main()
