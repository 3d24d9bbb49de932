"""`python -m tests.e2e.edits`: random edits of a live tree with running work; what was predicted is what happens.

Before each edit, what-if predicts from the API server's objects which Jobs would start and stop, and for which of them
it depends on the order in which evicted Jobs end. Then the edit is made, the cluster comes to rest, and the Jobs say
what did. Exit code 1 when another Job differs than one of the latter. A half-life: past use is asked of the leader.
`tests/e2e/test_edits.py` makes a few.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any, Final

import yaml

from cli.read.cluster.live import ClusterProblem, LiveCluster
from cli.read.cluster.live_objects import live_manifests
from cli.read.cluster.visibility import read_past_use
from cli.read.manifests import Manifest
from cli.read.questions import Leader, read_question
from dev.controlplane import cluster
from dev.controlplane.nodes import NodeSpec
from dev.controlplane.programs import binaries
from dev.controlplane.quotree import Quotree, installed
from dev.controlplane.rest import Rest
from shared.process.cluster_settings import quota_settings
from shared.quota.measure.inputs.world import PastUse, World
from shared.quota.outlook.simulate.run import run
from shared.quota.outlook.simulate.what_if import predict

CPUS: Final = 20
LEAVES: Final = ("a", "b", "c", "d")
PARENTS: Final = {"a": "p", "b": "p", "c": "root", "d": "root"}
RECLAIM: Final = {"gracePeriod": "0s", "notice": "0s", "exemptAfterStart": "0s"}
GROUPS: Final = "/apis/quotree.dev/v1alpha1/quotagroups"
NO_LABELS: Final[Mapping[str, str]] = {}
_PATIENCE: Final = 180.0

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class DirectCluster(LiveCluster):
    """The live cluster, read over one kept connection in place of a kubectl for each list."""

    rest: Rest = field(kw_only=True, compare=False)

    def get(self, path: str) -> bytes:
        """Return the body of GET `path`. Raises ClusterProblem."""
        status, body = self.rest.request("GET", path)
        if status != 200:
            raise ClusterProblem(f"GET {path}: {status}")
        return json.dumps(body).encode()


@dataclass(frozen=True, slots=True)
class Jobs:
    """Which Jobs run, and how often each was evicted."""

    running: frozenset[str]
    evictions: dict[str, int]


@dataclass(frozen=True, slots=True)
class Edit:
    """The text of an edit, the Jobs that it started and stopped, and those that were predicted."""

    words: str
    started: set[str]
    stopped: set[str]
    to_start: set[str]
    to_stop: set[str]
    depends: set[str]
    """Jobs of which the prediction says that the order decides in which evicted Jobs end."""

    @property
    def differs(self) -> set[str]:
        """The Jobs of which something else was predicted than happened."""
        return (self.started ^ self.to_start) | (self.stopped ^ self.to_stop)

    @property
    def is_wrong(self) -> bool:
        """Whether they are others than those of which the prediction leaves it open."""
        return not self.differs <= self.depends

    def __str__(self) -> str:
        """For people."""
        sets = {
            "started": self.started,
            "predicted": self.to_start,
            "stopped": self.stopped,
            "to stop": self.to_stop,
            "open": self.depends,
        }
        return f"{self.words}: {', '.join(f'{name} {sorted(found)}' for name, found in sets.items())}"


class LiveTree:
    """A control plane with Quotree, a tree, and Jobs that never end."""

    def __init__(self, quotree: Quotree, settings_file: Path, seed: int) -> None:
        self.quotree = quotree
        self._control_plane = control_plane = quotree.cluster
        self._settings_file = str(settings_file)
        self._settings = quota_settings(self._settings_file)
        self._dice = Random(seed)
        self._cluster = DirectCluster(rest=control_plane.rest)
        self._past_use: PastUse | None = None

    def fill(self, jobs: Sequence[tuple[str, int]]) -> None:
        """Create the tree and Jobs of these groups and sizes."""
        self.group("p", parent="root", isParent=True, quotas=[{"min": {"cpu": 12}}])
        for leaf in LEAVES:
            self.group(leaf, parent=PARENTS[leaf], quotas=[{"min": {"cpu": 6}}])
        for number, (group, cpu) in enumerate(jobs):
            self.job(f"job-{number}", group, cpu)
        self.rest()

    def group(self, name: str, **spec: Any) -> None:
        """Create a group or change it."""
        metadata = {"name": name}
        self._control_plane.apply(
            yaml.safe_dump(
                {"apiVersion": "quotree.dev/v1alpha1", "kind": "QuotaGroup", "metadata": metadata, "spec": spec}
            )
        )

    def job(self, name: str, group: str, cpu: int, labels: Mapping[str, str] = NO_LABELS) -> None:
        """Create a Job of one pod."""
        container = {"name": "a", "image": "a", "resources": {"requests": {"cpu": cpu}}}
        metadata = {"name": name, "namespace": "default", "labels": {"quotree.dev/group": group, **labels}}
        spec = {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}
        self._control_plane.apply(
            yaml.safe_dump({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec})
        )

    def rest(self) -> None:
        """Return when the engine would change nothing any more, twice in a row. Raises TimeoutError."""
        deadline, still = time.monotonic() + _PATIENCE, 0
        while still < 2:
            if time.monotonic() > deadline:
                raise TimeoutError("the cluster does not come to rest")
            still = still + 1 if self._is_at_rest() else 0
            time.sleep(0.25)

    def _is_at_rest(self) -> bool:
        now = datetime.now(UTC)
        self._read_past_use()
        given = self._world([*live_manifests(self._cluster)], now)
        if any(each.is_evicting for found in given.workload_sets.values() for each in found.by_id.values()):
            return False
        return not run(given, now).plans

    def _world(self, manifests: list[Manifest], now: datetime) -> World:
        leader = Leader(self._past_use)
        return read_question(manifests, self._settings, later_wins=True, leader=leader).world_at(now)

    def _read_past_use(self) -> None:
        """Read the past use of groups from the leader, as `quotree what-if` does; wait until it answers."""
        if not self._settings.fairness_half_life:
            return
        deadline = time.monotonic() + _PATIENCE
        while (found := self._asked_past_use()) is None:
            if time.monotonic() > deadline:
                raise TimeoutError("the leader does not say the past use")
            time.sleep(0.25)
        self._past_use = found

    def _asked_past_use(self) -> PastUse | None:
        try:
            return read_past_use(self._cluster)
        except ClusterProblem:
            return None

    def edit(self, chosen: tuple[str, Json] | None = None) -> Edit:
        """Make one legal edit, random unless chosen."""
        while True:
            name, spec = chosen or self._draw()
            now = datetime.now(UTC)
            self._read_past_use()
            manifests = [*live_manifests(self._cluster)]
            found = predict(
                self._world(manifests, now), self._world([_edited(each, name, spec) for each in manifests], now), now
            )
            before = self.jobs()
            status, _ = self._control_plane.rest.request(
                "PATCH", f"{GROUPS}/{name}", {"spec": spec}, "application/merge-patch+json"
            )
            if status == 200:
                break
        self.rest()
        after = self.jobs()
        predicted = ({each.key for each in found.starts}, {each.evict.workload.key for each in found.stops})
        depends = {each.key for each in found.depends or ()}
        stopped = {key for key in before.running if after.evictions[key] > before.evictions[key]}
        actual = (set(after.running - before.running), stopped)
        return Edit(f"{name} {json.dumps(spec)}", *actual, *predicted, depends)

    def _draw(self) -> tuple[str, Json]:
        dice = self._dice
        name = dice.choice((*LEAVES, *LEAVES, "p"))
        quota: Json = {"min": {"cpu": dice.randint(0, 12)}}
        if dice.random() < 0.3:
            quota["max"] = {"cpu": quota["min"]["cpu"] + dice.randint(0, 8)}
        if dice.random() < 0.2:
            quota["lendingLimit"] = {"cpu": dice.randint(0, 6)}
        if dice.random() < 0.2:
            quota["weight"] = {"cpu": dice.randint(1, 4)}
        policy = dice.choice((None, None, None, None, "Hold", "HoldAndDrain"))
        return name, {"quotas": [quota], "stopPolicy": policy}

    def explain(self, job: str) -> Json:
        """Return what `quotree explain` says of it."""
        words = ("explain", job, "--settings", self._settings_file, "-o", "json")
        found: Json = json.loads(self.quotree.command(*words))
        return found

    def request(self, method: str, path: str, body: Json | None = None, kind: str = "", *, must: bool = True) -> Json:
        """Ask the API server as an administrator; without `must` it may refuse."""
        status, answer = self._control_plane.rest.request(method, path, body, *([kind] if kind else []))
        assert status < 300 or not must, f"{method} {path}: {answer}"
        return dict(answer)

    def jobs(self) -> Jobs:
        """Return all Jobs."""
        _, body = self._control_plane.rest.request("GET", "/apis/batch/v1/namespaces/default/jobs")
        running, evictions = set(), {}
        for each in body["items"]:
            key = f"default/{each['metadata']['name']}"
            written = each["metadata"].get("annotations", {}).get("quotree.dev/eviction")
            evictions[key] = json.loads(written).get("times", 1) if written else 0
            if not each["spec"]["suspend"]:
                running.add(key)
        return Jobs(frozenset(running), evictions)


def _edited(manifest: Manifest, name: str, spec: Json) -> Manifest:
    if (manifest.kind, manifest.name) != ("QuotaGroup", name):
        return manifest
    merged = {**manifest.body["spec"], **spec}
    body = {**manifest.body, "spec": {key: value for key, value in merged.items() if value is not None}}
    return Manifest(
        manifest.kind, manifest.api_version, manifest.name, None, body, manifest.file, manifest.line, manifest.document
    )


@contextmanager
def live_tree(
    programs: binaries.Binaries,
    seed: int,
    jobs: Sequence[tuple[str, int]] | None = None,
    half_life: str = "0s",
    *,
    more_nodes: Sequence[NodeSpec] = (),
    capacity: Mapping[str, str] = NO_LABELS,
) -> Iterator[LiveTree]:
    """A live tree on one node and `more_nodes`, with these Jobs or with 18 random ones.

    `half_life`: of past use. `capacity`: settings of it.
    """
    if jobs is None:
        dice = Random(seed)
        jobs = [(dice.choice(LEAVES), dice.randint(1, 6)) for _ in range(18)]
    nodes = [NodeSpec("node-0", allocatable={"cpu": str(CPUS), "memory": "64Gi", "pods": "500"}), *more_nodes]
    quota = {"reclaim": RECLAIM, "fairness": {"halfLife": half_life}, "capacity": dict(capacity)}
    serves_past_use = half_life != "0s"
    with (
        cluster.start(programs, nodes=nodes) as started,
        installed(started, quota=quota, visibility=serves_past_use) as running,
    ):
        file = started.workdir / "what-if-settings.yaml"
        file.write_text(yaml.safe_dump({"quota": quota}))
        found = LiveTree(running, file, seed)
        found.fill(jobs)
        yield found


def main() -> int:
    """Make that many edits."""
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.edits", description=__doc__)
    parser.add_argument("--edits", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--half-life", default="0s", help="of past use, which is then asked of the leader")
    options = parser.parse_args()
    done: list[Edit] = []
    with live_tree(binaries.ensure(progress=print), options.seed, half_life=options.half_life) as tree:
        for number in range(1, options.edits + 1):
            done.append(tree.edit())
            if done[-1].differs:
                print(f"edit {number}, {done[-1]}", flush=True)
            if number % 20 == 0 or number == options.edits:
                print(_summary(done), flush=True)
    return 1 if any(each.is_wrong for each in done) else 0


def _summary(done: Sequence[Edit]) -> str:
    moved = sum(bool(each.started or each.stopped) for each in done)
    left_open = sum(bool(each.depends) for each in done)
    otherwise = sum(bool(each.differs) for each in done)
    wrong = sum(each.is_wrong for each in done)
    return (
        f"{len(done)} edits, {moved} of which moved Jobs; {left_open} left something open, "
        f"{otherwise} came out otherwise, {wrong} of them wrong"
    )


if __name__ == "__main__":
    sys.exit(main())
