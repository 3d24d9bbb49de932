"""How the engine's costs grow with groups and with Jobs that wait.

    python -m benchmarks.engine.growth [--groups 10 100 …] [--waiting 1000 …] [--rounds 20]

Full clusters as in `plan_cost`, with so many leaves and about so many Jobs that wait, each in a process of its own. CPU
of the first decision; memory that world, snapshot and cache hold; and CPU of the decision after one change of each
kind, the median: a Job "finished" and another came, what this lets start has "started", a Job "arrives", the capacity
is "resized", a group is "edited". An exponent says how a cost grows with the number of groups, or of waiting Jobs, from
the first size to the last: 0 not at all, 1 in proportion.
"""

import argparse
import gc
import math
import multiprocessing
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.engine.plan_cost import Cluster, Shape
from benchmarks.results.figures import Figure, record
from shared.kube.watch.memory import freeze_memory, keep_all_made

GROUPS: Final = (10, 100, 1_000, 5_000)
WAITING: Final = (1_000, 10_000, 100_000)
RUNNING: Final = 3
"""In each leaf, on average."""
EDITS: Final = 4
UNITS: Final = {
    "first": "s",
    "memory": "MiB",
    "finished": "ms",
    "started": "ms",
    "arrives": "ms",
    "resized": "ms",
    "edited": "ms",
}
"""what is measured → its unit."""
PROPORTION: Final = 1.15
"""The bar of each exponent: in proportion, and what caches of the processor add."""

Sizes = tuple[int, int]
"""Groups, and Jobs that wait."""


def resident() -> float:
    """Return the MiB that this process holds."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))


def costs_of(sizes: Sizes, rounds: int) -> dict[str, float]:
    """Return what one cluster costs, by name."""
    groups, waiting = sizes
    before = resident()
    cluster = Cluster(Shape(waiting + RUNNING * groups, groups))
    freeze_memory()  # as the reconciler does between its first sync and its first decision
    with keep_all_made():
        first = cluster.decide()[0]
    cluster.rest()
    gc.collect()
    found = {"first": first / 1000, "memory": resident() - before}
    freeze_memory()
    spent: dict[str, list[float]] = {}
    for what, milliseconds in _changes(cluster, rounds):
        spent.setdefault(what, []).append(milliseconds)
    return found | {what: median(each) for what, each in spent.items()}


def _changes(cluster: Cluster, rounds: int) -> Iterator[tuple[str, float]]:
    for _ in range(rounds):
        cluster.finish_one()
        yield "finished", cluster.decide()[0]
        yield "started", cluster.decide()[0]
        cluster.rest()
        cluster.arrive()
        yield "arrives", cluster.decide()[0]
        cluster.rest()
    for number in range(EDITS):
        cluster.resize(number % 2)
        yield "resized", cluster.decide()[0]
        cluster.rest()
        cluster.edit(number)
        yield "edited", cluster.decide()[0]
        cluster.rest()


def exponents(found: Mapping[Sizes, Mapping[str, float]]) -> Iterator[Figure]:
    """Yield how each cost grows: with groups where the most Jobs wait, with Jobs in the most groups."""
    groups, waiting = sorted({each[0] for each in found}), sorted({each[1] for each in found})
    for what in UNITS:
        by_groups = [(size, found[size, waiting[-1]][what]) for size in groups]
        by_waiting = [(size, found[groups[-1], size][what]) for size in waiting]
        for name, points in (("groups", by_groups), ("waiting", by_waiting)):
            if len(points) > 1:
                yield Figure(f"growth.exponent.{what}.{name}", exponent(points), at_most=PROPORTION)


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """Return the slope between the first and the last point on logarithmic axes."""
    (first, low), (last, high) = points[0], points[-1]
    return math.log(high / low) / math.log(last / first)


def main() -> None:
    """Print one line for each cluster."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, nargs="+", default=GROUPS)
    parser.add_argument("--waiting", type=int, nargs="+", default=WAITING)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    found: dict[Sizes, dict[str, float]] = {}
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for sizes in ((groups, waiting) for groups in options.groups for waiting in options.waiting):
            found[sizes] = pool.apply(costs_of, (sizes, options.rounds))
            figures = [
                Figure(f"growth.{sizes[0]}.{sizes[1]}.{what}", found[sizes][what], unit) for what, unit in UNITS.items()
            ]
            record(*figures)
            print(f"{sizes[0]:6} groups {sizes[1]:7} wait:", *(f"{each.text:>10}" for each in figures), flush=True)
    slopes = list(exponents(found))
    record(*slopes)
    for each in slopes:
        print(f"{each.name:40} {each.value:.2f}")


if __name__ == "__main__":
    main()
