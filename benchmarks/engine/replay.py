"""What a replay costs: `python -m benchmarks.engine.replay [--jobs N] [--days N] [--groups N] [--gather DURATION]`.

`quotree replay` reads a table of so many jobs, which come evenly over so many days into a tree of two levels with
little more capacity than they need, and prints its rows. Printed are its CPU and wall time, and the most memory that it
held.
"""

import argparse
import csv
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

import yaml

from benchmarks.results.figures import Figure, record
from shared.api.names import API_VERSION

LEAVES: Final = 19
"""Below each parent."""
MEAN_CPUS: Final = 4
MEAN_HOURS: Final = 4.0
SPARE: Final = 1.05
"""Capacity beside what is needed on average."""
MAPPING: Final = {
    "table": {
        "name": "name",
        "group": "group",
        "submitted": "submitted",
        "started": "started",
        "ended": "ended",
        "requests": {"cpu": {"column": "cpu"}},
    }
}


def groups_of(number: int) -> Iterator[dict[str, Any]]:
    """Yield so many groups: parents with leaves, each leaf with a min of one cpu."""
    for parent in range(number // (LEAVES + 1)):
        yield group(f"p{parent}", {"isParent": True, "quotas": [{"min": {"cpu": LEAVES}}]})
        for leaf in range(LEAVES):
            yield group(f"p{parent}-{leaf}", {"parent": f"p{parent}", "quotas": [{"min": {"cpu": 1}}]})


def group(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Return a QuotaGroup."""
    return {"apiVersion": API_VERSION, "kind": "QuotaGroup", "metadata": {"name": name}, "spec": spec}


def rows_of(jobs: int, days: float, leaves: list[str]) -> Iterator[tuple[object, ...]]:
    """Yield a row for each job: it starts when it comes, as it would without quota."""
    dice = Random(1)
    for number in range(jobs):
        came = round(number * days * 86_400 / jobs)
        ended = came + max(1, round(dice.expovariate(1 / (MEAN_HOURS * 3_600))))
        yield f"j{number}", dice.choice(leaves), came, came, ended, dice.randint(1, 2 * MEAN_CPUS - 1)


def write_inputs(folder: Path, jobs: int, days: float, groups: int) -> list[str]:
    """Write the tree, the mapping and the table; return the words of the command."""
    tree = list(groups_of(groups))
    leaves = [each["metadata"]["name"] for each in tree if "parent" in each["spec"]]
    (folder / "tree.yaml").write_text(yaml.safe_dump_all(tree))
    (folder / "mapping.yaml").write_text(yaml.safe_dump(MAPPING))
    with (folder / "jobs.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(("name", "group", "submitted", "started", "ended", "cpu"))
        table.writerows(rows_of(jobs, days, leaves))
    cpus = round(jobs * MEAN_CPUS * MEAN_HOURS / (days * 24) * SPARE) + len(leaves)
    words = [str(folder / "jobs.csv"), "-f", str(folder / "tree.yaml"), "--mapping", str(folder / "mapping.yaml")]
    return [sys.executable, "-m", "cli", "replay", *words, "--capacity", f"default:cpu={cpus}"]


def main() -> None:
    """Write the table, replay it, and print what it cost."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine.replay", description=__doc__)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--days", type=float, default=30.0)
    parser.add_argument("--groups", type=int, default=2_000)
    parser.add_argument("--gather", default="1s")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = [*write_inputs(Path(folder), options.jobs, options.days, options.groups), "--gather", options.gather]
        began = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
    took = time.monotonic() - began
    words = f"{options.jobs} jobs in {options.days:g} days, {options.groups} groups, --gather {options.gather}"
    print(f"{words}: exit code {status >> 8}")
    place = f"replay.{options.groups}-groups"
    record(
        Figure(f"{place}.cpu", used.ru_utime + used.ru_stime, "s"),
        Figure(f"{place}.cpu.job", (used.ru_utime + used.ru_stime) * 1000 / options.jobs, "ms"),
        Figure(f"{place}.memory", used.ru_maxrss / 1024, "MiB"),
    )
    print(f"  CPU {used.ru_utime + used.ru_stime:.0f} s in {took:.0f} s; {used.ru_maxrss // 1024} MiB")


if __name__ == "__main__":
    main()
