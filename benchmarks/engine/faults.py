"""How long others wait for an object on which a step fails: `python -m benchmarks.engine.faults [--jobs 20000]`.

CPU time from the decision that fails to the plan that starts a small Job of another group: the search for the object
that is at fault, and the next decision. All Jobs wait, and each has another size, so that a plan from scratch costs
much; "first" is such a plan.

"new": planning fails on a Job that has come at the same moment. "measured": measuring does, for its leaf. "older":
measuring fails on a Job that was there, when another one comes to its leaf. "time": planning begins to fail on a Job
that was there, though nothing has come to its leaf.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from random import Random
from typing import Any, Final
from unittest.mock import patch

from shared.api.core.job import Job, read_job
from shared.api.core.namespace import read_namespace
from shared.api.quotagroup import QuotaGroupStatus
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.decider import Decider
from shared.cluster.state.observed.projections import GroupStatusRecord
from shared.kube.watch.cache import Changed
from shared.quota.decide import plan as planning
from shared.quota.decide.state import equivalence
from shared.quota.measure.inputs.workload_set import WorkloadSet
from shared.quota.measure.leaves import leaf_updates
from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.flavor import Flavor
from shared.quota.model.node import ClusterNode
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Entry, Group
from shared.quota.model.workload import Workload
from tests.builders import NOW
from tests.reconciler.reconciler_process import job_manifest

FLAVORS: Final = ("a100", "t4")
GPU: Final = "nvidia.com/gpu"
BAD: Final = "ns/bad"
STEPS: Final[Mapping[str, tuple[Any, str]]] = {
    "new": (equivalence, "assignments_of"),
    "measured": (leaf_updates, "build_leaf"),
    "older": (leaf_updates, "build_leaf"),
    "time": (planning, "fill_back"),
}
"""case → module and name of the function that fails."""


def group(name: str) -> Group:
    """Return a leaf with both flavors."""
    least, most = {"cpu": 4000, "memory": 4 << 30, GPU: 2}, {"cpu": 400_000, "memory": 400 << 30, GPU: 100}
    return Group(name, quotas=tuple(Entry(each, min=least, max=most) for each in FLAVORS))


def job(name: str, leaf: str, millicores: int, mebibytes: int = 200) -> Job:
    """Return a Job that waits."""
    manifest = job_manifest(name, leaf, f"{millicores}m")
    requests = manifest["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]
    requests |= {"memory": f"{mebibytes}Mi", GPU: "1"}
    manifest["metadata"] |= {"uid": name, "namespace": "ns", "generation": 1}
    manifest["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    return read_job(manifest)


class Cluster:
    """Leaves in which Jobs of distinct sizes wait, and what goes on from cycle to cycle."""

    def __init__(self, jobs: int, leaves: int) -> None:
        self.state = ClusterState(QuotaSettings())
        groups = [Group("root", parent=None, is_parent=True), *(group(f"g{number}") for number in range(leaves))]
        records = (GroupStatusRecord(each.name, 1, each, QuotaGroupStatus()) for each in groups)
        self.state.observe_groups([Changed(None, each) for each in records])
        self.state.observe_flavors([Changed(None, Flavor(each, {"gpu": each})) for each in FLAVORS])
        offer = {"cpu": 500, "memory": 100 << 30, GPU: 64, "pods": 1000}
        nodes = (ClusterNode(each, labels={"gpu": each}, allocatable=offer) for each in FLAVORS)
        self.state.observe_nodes([Changed(None, each) for each in nodes])
        self.state.observe_namespaces([Changed(None, read_namespace({"metadata": {"name": "ns", "uid": "n1"}}))])
        dice = Random(1)
        sizes = ((dice.randint(2000, 4000), dice.randint(200, 4000)) for _ in range(jobs))
        self.come(*(job(f"job-{number}", f"g{number % leaves}", *size) for number, size in enumerate(sizes)))
        self._decider = Decider(self.state)
        self._now = NOW + timedelta(hours=1)

    def come(self, *jobs: Job) -> None:
        """Let these Jobs be created."""
        self.state.observe_jobs([Changed(None, each) for each in jobs])

    def cycle(self) -> set[str]:
        """Decide as the reconciler does, until that does not fail; return what is started."""
        self._now += timedelta(seconds=1)
        _, decided = self._decider.decide(self._now)
        return {each.workload.key for each in decided.starts}


@contextmanager
def failing(module: Any, name: str) -> Iterator[None]:
    """Let this function fail where it concerns the Job `BAD`."""
    original = getattr(module, name)

    def step(*arguments: Any, **named: Any) -> Any:
        if any(map(_is_bad, arguments)):
            raise RuntimeError(BAD)
        return original(*arguments, **named)

    with patch.object(module, name, step):
        yield


def _is_bad(value: object) -> bool:
    if isinstance(value, Workload):
        return value.key == BAD and not value.hold
    if isinstance(value, WorkloadSet):
        return any(map(_is_bad, value.by_id.values()))
    snapshot = getattr(value, "snapshot", None)
    return isinstance(snapshot, Snapshot) and any(
        _is_bad(each) for leaf in snapshot.leaves.values() for each in leaf.pending
    )


def seconds(work: Callable[[], object]) -> float:
    """Return its CPU time."""
    began = time.thread_time()
    work()
    return time.thread_time() - began


def main() -> None:
    """Print a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument("--leaves", type=int, nargs="+", default=[1, 20, 400])
    asked = parser.parse_args()
    for leaves in asked.leaves:
        for case, step in STEPS.items():
            cluster = Cluster(asked.jobs, leaves)
            bad, was_there = job("bad", "g0", 4500), case in ("older", "time")
            cluster.come(*[bad] * was_there)
            first = seconds(cluster.cycle)
            cluster.cycle()
            cluster.come(job("good", f"g{leaves - 1}", 100))
            cluster.come(*{"older": [job("beside", "g0", 4400)], "time": []}.get(case, [bad]))
            with failing(*step):
                spent = seconds(cluster.cycle)
            aside = [each.subject.name for each in cluster.state.faults.aside]
            print(
                f"{leaves:>5} leaves  {case:<9} first {first:6.2f} s  after a fault {spent:6.2f} s  aside {aside}",
                flush=True,
            )


if __name__ == "__main__":
    main()
