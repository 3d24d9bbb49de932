"""What questions to the visibility API cost decisions.

    python -m benchmarks.visibility_queries [--blocks 6] [--rate 50]

One control plane with 20 groups; in each one Job runs and 20 wait. Ten times a second a running Job is deleted and a
new one created. Blocks of three kinds take turns: without questions; with so many a second that the API server answers
by itself, which load the machine alike; and with so many that Quotree answers, a quarter each: what waits in a
namespace, what waits for a group, all groups, the explanations of a namespace. The reconciler's metrics tell the time
from a change to the end of the decision about it, and of the decision itself. The CPU by decision is that of the
process that decides; the process that serves and the copies that answer it are measured apart.
"""

import argparse
import itertools
import os
import re
import statistics
import threading
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from benchmarks.jobs import job
from benchmarks.results.figures import Figure, record
from dev.controlplane import cluster
from dev.controlplane.cluster import ControlPlane
from dev.controlplane.programs import binaries
from dev.controlplane.quotree import Quotree, installed
from dev.controlplane.rest import Rest

GROUPS: Final = 20
WAITING: Final = 20
API: Final = "/apis/visibility.quotree.dev/v1alpha1"
JOBS: Final = "/apis/batch/v1/namespaces/{}/jobs"
NODES: Final = [cluster.NodeSpec("node-0", allocatable={"cpu": str(GROUPS), "memory": "4000Gi", "pods": "5000"})]


@dataclass(frozen=True, slots=True)
class Block:
    """Milliseconds of one decision: from the change to its end, the decision alone, and the CPU of its process."""

    latency: float
    cycle: float
    cpu: float
    beside: float
    """CPU of the process that serves and of copies, milliseconds in each second."""
    decisions: int


class Load:
    """Replaces running Jobs at a steady rate, and asks at another one."""

    def __init__(self, control_plane: ControlPlane) -> None:
        self._control_plane = control_plane
        self._number = 0
        self._failed = 0

    def fill(self) -> None:
        """Create the groups, their namespaces and Jobs."""
        for group in range(GROUPS):
            spec = {"quotas": [{"min": {"cpu": 1}, "max": {"cpu": 1}}]}
            metadata = {"name": f"team-{group}"}
            body = {"apiVersion": "quotree.dev/v1alpha1", "kind": "QuotaGroup", "metadata": metadata, "spec": spec}
            self._control_plane.apply(yaml.safe_dump(body))
            self._control_plane.kubectl("create", "namespace", f"team-{group}")
            for _ in range(WAITING + 1):
                self._create(group)

    def _create(self, group: int) -> None:
        self._number += 1
        body = job(f"job-{self._number}", {"quotree.dev/group": f"team-{group}"}, {"cpu": "1"})
        self._send(self._control_plane.rest, "POST", JOBS.format(f"team-{group}"), body)

    def _send(self, rest: Rest, method: str, path: str, body: object = None) -> Any:
        status, answer = rest.request(method, path, body)
        self._failed += status >= 400
        return answer

    def replace_one(self, group: int) -> None:
        """Delete the Job that runs in a group, and create one that waits."""
        items = self._send(self._control_plane.rest, "GET", JOBS.format(f"team-{group}"))["items"]
        running = [each["metadata"]["name"] for each in items if not each["spec"].get("suspend")]
        for name in running[:1]:
            options = {"propagationPolicy": "Background", "gracePeriodSeconds": 0}
            self._send(self._control_plane.rest, "DELETE", f"{JOBS.format(f'team-{group}')}/{name}", options)
            self._create(group)

    def ask(self, paths: Sequence[str], rate: float, stop: threading.Event) -> None:
        """Send questions at that rate until signalled to stop, over four connections."""
        threads = [threading.Thread(target=self._ask, args=(paths[each::4], rate / 4, stop)) for each in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    def _ask(self, paths: Sequence[str], rate: float, stop: threading.Event) -> None:
        rest, due = self._control_plane.rest.another(), time.monotonic()
        for path in itertools.cycle(paths):
            if stop.is_set():
                return
            self._send(rest, "GET", path)
            due += 1 / rate
            stop.wait(max(0.0, due - time.monotonic()))

    @property
    def failed(self) -> int:
        """How many requests were refused; 429 is one of them."""
        return self._failed


def numbers(quotree: Quotree) -> dict[str, float]:
    """Return the sums and counts of the reconciler's metrics, and its CPU seconds."""
    (url,) = (each for name, each in quotree.health.items() if name.startswith("reconciler"))
    with urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    found = {
        name: float(value) for name, value in re.findall(r"^(quotree_\w+_(?:sum|count)) (\S+)$", text, re.MULTILINE)
    }
    own, of_copies = cpu_seconds(quotree.reconcilers[0].pid)
    return found | {"cpu": own, "beside": of_copies + sum(cpu_seconds(each)[0] for each in children(quotree))}


def children(quotree: Quotree) -> list[int]:
    """Return the processes that the reconciler has started, and that have not ended."""
    tasks = Path(f"/proc/{quotree.reconcilers[0].pid}/task").glob("*/children")
    return [int(word) for each in tasks for word in each.read_text().split()]


def cpu_seconds(pid: int | None) -> tuple[float, float]:
    """Return what a process has used, and what its children that have ended have; nothing of one that is gone."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0, 0.0
    own, ended = int(words[11]) + int(words[12]), int(words[13]) + int(words[14])
    return own / os.sysconf("SC_CLK_TCK"), ended / os.sysconf("SC_CLK_TCK")


def questions() -> dict[str, list[str]]:
    """Return the paths of each kind of block."""
    teams = [f"team-{number}" for number in range(GROUPS)]
    of_quotree = [
        path
        for team in teams
        for path in (
            f"{API}/namespaces/{team}/pendingworkloads",
            f"{API}/pendingworkloads?labelSelector=quotree.dev%2Fgroup%3D{team}",
            f"{API}/groupexplanations",
            f"{API}/namespaces/{team}/explanations",
        )
    ]
    return {
        "none": [],
        "of the API server": [f"/api/v1/namespaces/{team}/pods" for team in teams],
        "of Quotree": of_quotree,
    }


def measure(quotree: Quotree, load: Load, seconds: float, rate: float, paths: Sequence[str]) -> Block:
    """Run one block; without `paths`, ask nothing."""
    stop = threading.Event()
    asking = threading.Thread(target=load.ask, args=(paths, rate, stop))
    if paths:
        asking.start()
    time.sleep(1)
    before, began, number = numbers(quotree), time.monotonic(), 0
    while time.monotonic() - began < seconds:
        load.replace_one(number % GROUPS)
        number += 1
        time.sleep(max(0.0, began + number / 10 - time.monotonic()))
    after = numbers(quotree)
    stop.set()
    if paths:
        asking.join()
    change = {name: after[name] - before.get(name, 0) for name in after}
    count = change["quotree_cycle_seconds_count"]
    return Block(
        1000 * change["quotree_decision_seconds_sum"] / change["quotree_decision_seconds_count"],
        1000 * change["quotree_cycle_seconds_sum"] / count,
        1000 * change["cpu"] / count,
        1000 * change["beside"] / seconds,
        int(count),
    )


def summary(name: str, found: Sequence[Sequence[float]]) -> str:
    """Return one line: the median of each kind of block, and the difference of the last two."""
    medians = [statistics.median(each) for each in found]
    more = 100 * (medians[2] / medians[1] - 1)
    place = f"visibility_queries.{name.replace(' ', '-')}"
    for kind, value in zip(("none", "api-server", "quotree"), medians, strict=True):
        record(Figure(f"{place}.{kind}", value, "ms"))
    record(Figure(f"{place}.more", more, "% more", at_most=None if "CPU" in name else 5.0))
    return f"{name:<32}{''.join(f'{each:14.2f} ms' for each in medians)}{more:+8.1f} %"


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=6, help="of each kind")
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--rate", type=float, default=50)
    options = parser.parse_args()
    programs = binaries.ensure(progress=print)
    with (
        cluster.start(programs, nodes=NODES) as control_plane,
        installed(control_plane, visibility=True, reconcilers=0) as quotree,
    ):
        quotree.add_reconciler(metrics={"authorization": "None"})
        load = Load(control_plane)
        load.fill()
        time.sleep(15)
        kinds = questions()
        blocks: dict[str, list[Block]] = {kind: [] for kind in kinds}
        for _ in range(options.blocks):
            for kind, paths in kinds.items():
                blocks[kind].append(measure(quotree, load, options.seconds, options.rate, paths))
    print(f"{f'{options.rate:.0f} questions a second':<32}{''.join(f'{kind:>17}' for kind in blocks)}")
    print(summary("from a change to its decision", [[each.latency for each in found] for found in blocks.values()]))
    print(summary("a decision", [[each.cycle for each in found] for found in blocks.values()]))
    print(summary("CPU by decision", [[each.cpu for each in found] for found in blocks.values()]))
    beside = [statistics.median(each.beside for each in found) for found in blocks.values()]
    record(Figure("visibility_queries.serving", beside[-1], "ms of CPU in a second"))
    print(f"{'CPU of the others in a second':<32}{''.join(f'{each:14.2f} ms' for each in beside)}")
    count = sum(each.decisions for found in blocks.values() for each in found)
    print(f"{count} decisions, {load.failed} requests refused")


if __name__ == "__main__":
    main()
