"""Whether a recorded live run replays as it was: `python -m benchmarks.recorded_run [--jobs N] [--seconds N]`.

The reconciler leads a live run on a real control plane with simulated nodes, and records it: Jobs come evenly, of four
leaves in two levels, and two edits of quota objects. Printed is how the replay of the recording differs from the run;
and how its replay under another tree differs from a live run of the same Jobs under that tree.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from random import Random
from statistics import mean, median, quantiles
from typing import Any, Final

import yaml

from benchmarks.engine.replay import group
from benchmarks.results.figures import Figure, record
from dev.controlplane import cluster
from dev.controlplane.programs import binaries
from tests.reconciler.reconciler_process import Quotree, finished, quota, wait_for

NODES: Final = (cluster.NodeSpec("node-0", allocatable={"cpu": "1000", "memory": "1Ti", "pods": "1000"}),)
LEAVES: Final = ("vision", "speech", "web", "search")
LONGEST: Final = 12
"""Seconds that a Job runs."""
PATIENCE: Final = 900.0
Spec = Mapping[str, Any]
TREE: Final[Mapping[str, Spec]] = {
    "root": {"isParent": True, "quotas": [quota(max="40")]},
    "research": {"isParent": True, "quotas": [quota(min="24")]},
    "vision": {"parent": "research", "quotas": [quota(min="12")]},
    "speech": {"parent": "research", "quotas": [quota(min="12")]},
    "web": {"quotas": [quota(min="8")]},
    "search": {"quotas": [quota(min="8")]},
}
Edit = tuple[float, str, Spec]
EDITS: Final[Sequence[Edit]] = (
    (0.35, "web", {"quotas": [quota(min="2")]}),
    (0.65, "root", {"isParent": True, "quotas": [quota(max="48")]}),
)
"""(part of the time after which, group, its spec from then on)."""
OTHER: Final[Mapping[str, Spec]] = {
    "root": {"isParent": True, "quotas": [quota(max="40")]},
    "research": {"isParent": True, "quotas": [quota(min="16", max="30")]},
    "vision": {"parent": "research", "quotas": [quota(min="4")]},
    "speech": {"parent": "research", "quotas": [quota(min="10")]},
    "web": {"quotas": [quota(min="16")]},
    "search": {"quotas": [quota(min="4", max="12")]},
}
"""The other tree, which nobody edits."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A Job that comes `at` seconds after the beginning."""

    at: float
    name: str
    leaf: str
    cpus: int
    seconds: int


@dataclass(frozen=True, slots=True)
class Event:
    """A start or an eviction: the `number`th of its kind of this workload."""

    workload: str
    what: str
    number: int
    time: datetime


def arrivals(jobs: int, seconds: float) -> list[Arrival]:
    """Return the Jobs: of each leaf in turn most, so that the others lend and take back."""
    dice, found = Random(1), []
    for number in range(jobs):
        busy = LEAVES[number * 8 // jobs % 4]
        leaf = busy if dice.random() < 0.7 else dice.choice(LEAVES)
        cpus, long = dice.choice((1, 2, 2, 4, 6)), dice.randint(2, LONGEST)
        found.append(Arrival(number * seconds / jobs, f"{leaf}-{number}", leaf, cpus, long))
    return found


def live(
    q: Quotree, tree: Mapping[str, Spec], jobs: Sequence[Arrival], seconds: float, edits: Sequence[Edit] = ()
) -> None:
    """Live through the arrivals and edits in the cluster, to the end of the last Job."""
    q.lead()
    for name, spec in tree.items():
        q.group(name, **spec)
    for name in tree:
        q.known(name)
    wait_for(lambda: q.metric("quotree_recording_lines_total") > len(tree), "it records", PATIENCE)
    coming = sorted(
        [(each.at, each) for each in jobs] + [(part * seconds, (name, spec)) for part, name, spec in edits],
        key=lambda each: each[0],
    )
    begin = time.monotonic()
    for at, what in coming:
        time.sleep(max(0.0, begin + at - time.monotonic()))
        if isinstance(what, Arrival):
            q.job(what.name, what.leaf, str(what.cpus), run_for=f"{what.seconds}s")
        else:
            q.group(what[0], **what[1])
    wait_for(lambda: all(map(finished, q.jobs().values())), "all have finished", PATIENCE, every=1)
    time.sleep(1)
    q.stop()


@contextmanager
def control_plane(folder: Path) -> Iterator[Quotree]:
    """Start one, with Quotree's kinds."""
    folder.mkdir()
    with cluster.start(binaries.ensure(), nodes=NODES) as running:
        q = Quotree(running, folder, recording=folder / "logs")
        q.install()
        try:
            yield q
        finally:
            q.kill()


def replayed(logs: Path, *options: str) -> list[dict[str, Any]]:
    """Return the workloads of a replay."""
    words = [sys.executable, "-m", "cli", "replay", str(logs), "-o", "json", *options]
    found: list[dict[str, Any]] = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)["workloads"]
    return found


def events(workloads: Sequence[Mapping[str, Any]], source: str) -> dict[tuple[str, str, int], Event]:
    """Return all starts and evictions."""
    found = {}
    for each in workloads:
        for what in ("starts", "evictions"):
            for number, text in enumerate(each[source][what]):
                event = Event(each["workload"], what, number, datetime.fromisoformat(text))
                found[event.workload, what, number] = event
    return found


def inverted(first: Sequence[Event], second: Mapping[tuple[str, str, int], Event], apart: float) -> int:
    """Return how many pairs come in another order, of events so many seconds `apart` in the first at least."""
    times = [(each.time.timestamp(), second[each.workload, each.what, each.number].time.timestamp()) for each in first]
    times.sort()
    return sum(1 for place, (a, x) in enumerate(times) for b, y in times[place + 1 :] if b - a >= apart and y < x)


def compare(
    lived: dict[tuple[str, str, int], Event], again: dict[tuple[str, str, int], Event], place: str
) -> list[Figure]:
    """Print how the two differ, and return it. Times are counted from the first start of each."""
    zero, other = (min(each.time for each in side.values()) for side in (lived, again))
    both = lived.keys() & again.keys()
    late = sorted(((again[key].time - other) - (lived[key].time - zero)).total_seconds() for key in both)
    count = {side: Counter(what for _, what, _ in keys) for side, keys in (("live", lived), ("replay", again))}
    print(f"live {dict(count['live'])}, replayed {dict(count['replay'])}; {len(both)} are the same")
    for what in ("starts", "evictions"):
        only = sorted({name for name, each, _ in lived.keys() ^ again.keys() if each == what})
        print(f"  {what} of one alone: {len(only)} {', '.join(only[:8])}")
    cuts, longest = quantiles(late, n=20), max(abs(late[0]), abs(late[-1]))
    print(f"  replayed later by: median {median(late):.2f} s, 5 % {cuts[0]:.2f}, 95 % {cuts[-1]:.2f}, all within "
          f"{late[0]:.2f} and {late[-1]:.2f} s; mean {mean(late):.2f}")  # fmt: skip
    shared = [lived[key] for key in both]
    pairs = len(shared) * (len(shared) - 1) // 2
    apart = ", ".join(f"{inverted(shared, again, each)} {each} s apart or more" for each in (1, 3))
    exchanged = inverted(shared, again, 0)
    print(f"  in another order: {exchanged} of {pairs} pairs; {apart}")
    return [
        *(Figure(f"{place}.{side}.{what}", number) for side, of in count.items() for what, number in of.items()),
        Figure(f"{place}.both", len(both)),
        Figure(f"{place}.later", median(late), "s"),
        Figure(f"{place}.later.5", cuts[0], "s"),
        Figure(f"{place}.later.95", cuts[-1], "s"),
        Figure(f"{place}.later.longest", longest, "s"),
        Figure(f"{place}.exchanged", 100 * exchanged / pairs, "%"),
    ]


def waits(workloads: Sequence[Mapping[str, Any]], source: str) -> dict[str, tuple[str, float]]:
    """Return each workload that started, with its leaf and for how many seconds it waited."""
    return {
        each["workload"]: (
            each["group"],
            (
                datetime.fromisoformat(each[source]["starts"][0]) - datetime.fromisoformat(each["created"])
            ).total_seconds(),
        )
        for each in workloads
        if each[source]["starts"]
    }


def means(found: Mapping[str, tuple[str, float]], among: Collection[str]) -> dict[str, float]:
    """Return by leaf how long these of its workloads waited on average."""
    by_leaf: dict[str, list[float]] = {}
    for name in among:
        leaf, seconds = found[name]
        by_leaf.setdefault(leaf, []).append(seconds)
    return {leaf: mean(times) for leaf, times in sorted(by_leaf.items())}


def compare_waits(
    live: Mapping[str, tuple[str, float]], replay: Mapping[str, tuple[str, float]], place: str
) -> list[Figure]:
    """Print how long each leaf waited, live and in the replay, and return it: of the workloads that started in both."""
    both = live.keys() & replay.keys()
    lived, again = means(live, both), means(replay, both)
    print(f"  {len(live.keys() - both)} started live alone, {len(replay.keys() - both)} in the replay alone")
    for leaf, seconds in lived.items():
        print(f"  {leaf} waited {seconds:.2f} s, in the replay {again.get(leaf, 0):.2f} s")
    return [
        Figure(f"{place}.{side}.wait.{leaf}", seconds, "s")
        for side, found in (("live", lived), ("replay", again))
        for leaf, seconds in found.items()
    ]


def main() -> None:
    """Live through it, replay, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recorded_run")
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=100.0)
    parser.add_argument("--keep", type=Path, help="A new folder for the recordings.")
    options = parser.parse_args()
    jobs = arrivals(options.jobs, options.seconds)
    with tempfile.TemporaryDirectory() as name:
        folder = options.keep or Path(name) / "runs"
        folder.mkdir()
        with control_plane(folder / "own") as q:
            live(q, TREE, jobs, options.seconds, EDITS)
        with control_plane(folder / "other") as q:
            live(q, OTHER, jobs, options.seconds)
        record(*judge(folder))


def judge(folder: Path) -> list[Figure]:
    """Compare the recordings in the folder with replays of the first one."""
    tree = folder / "tree.yaml"
    tree.write_text(yaml.safe_dump_all([group(name, dict(spec)) for name, spec in OTHER.items()]))
    own, lived = replayed(folder / "own" / "logs"), replayed(folder / "other" / "logs")
    under = replayed(folder / "own" / "logs", "-f", str(tree))
    print("under its own tree:")
    figures = compare(events(own, "recorded"), events(own, "replayed"), "recorded_run")
    figures += compare_waits(waits(own, "recorded"), waits(own, "replayed"), "recorded_run")
    print("under another tree, beside a live run of it:")
    figures += compare(events(lived, "recorded"), events(under, "replayed"), "recorded_run.other")
    return figures + compare_waits(waits(lived, "recorded"), waits(under, "replayed"), "recorded_run.other")


if __name__ == "__main__":
    main()
