"""`python -m tests.e2e.visibility.tries`: what `quotree try` says to a tenant happens when the Job is submitted then.

Jobs of two namespaces come and end, groups are edited and a node grows and shrinks; nobody waits until that is over.
Then a tenant tries a random Job of one of two flavors, and submits it: whether it starts, at once or when others have
been stopped for it, and how many are, must be what was said, and what is refused must be refused. An answer that
differs is only excused by what else changed between the question and the event. Nothing of another namespace may be
named. Exit code 1 when one is wrong. `test_previews.py` makes a few in a cluster at rest.
"""

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

import yaml
from click.testing import CliRunner, Result

from cli.commands.ahead import preview
from cli.read.cluster.live import Refused
from dev.controlplane import cluster
from dev.controlplane.nodes import NodeSpec
from dev.controlplane.programs import binaries
from dev.controlplane.quotree import Quotree, installed
from tests.e2e.visibility.steps import available
from tests.reconciler.reconciler_process import wait_for

OWN: Final = "team-a"
OTHERS: Final = "team-b"
SECRET: Final = "hidden"
"""Each workload of others has this in its name."""
LEAVES: Final = {"a": "p", "b": "p", "c": "root", "d": "root"}
FLAVORS: Final = {"std": 14, "big": 10}
"""Flavor → the cpus of its node."""
PRIORITIES: Final = {"low": -10, "high": 10}
GROUPS: Final = "/apis/quotree.dev/v1alpha1/quotagroups"
MERGE: Final = "application/merge-patch+json"
_MOST: Final = 18
"""So many Jobs at most, so that it is not always full."""
_AT_ONCE: Final = 2.0
"""Seconds in which a Job that starts in the next cycle has started, and others have been stopped for one."""
_FOR_ROOM: Final = 30.0
"""Seconds in which the pods of what is stopped for it end."""

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Happened:
    """What became of a submitted Job: Now, Soon, Never or Refused; how many were stopped for it."""

    starts: str
    stopped: int = 0


@dataclass(frozen=True, slots=True)
class Try:
    """What was said of one Job and what happened; `changed`: what else did in between."""

    job: Json
    predicted: Happened
    happened: Happened
    changed: Sequence[str]
    names_others: bool
    seconds: float
    """Between the answer and the submission."""

    @property
    def is_true(self) -> bool:
        """Whether what was said happened.

        Soon without anyone stopped may be at once; of Later, which is minutes away, only that it has not started yet.
        """
        soon = self.predicted == Happened("Soon") and self.happened.starts in ("Now", "Soon")
        later = self.predicted == Happened("Later") and self.happened == Happened("Never")
        return self.predicted == self.happened or soon or later

    @property
    def is_wrong(self) -> bool:
        """Whether nothing excuses it."""
        return self.names_others or not (self.is_true or self.changed)


@dataclass(slots=True)
class Tenancy:
    """A cluster with changing load, and one of its tenants."""

    quotree: Quotree
    kubeconfig: Path
    dice: Random
    made: int = 0
    small: bool = False
    """Whether the big node has lost half of its cpus."""
    jobs: dict[str, str] = field(default_factory=dict)
    """Name → namespace of the Jobs that were made and not deleted."""

    def tries(self) -> Iterator[Try]:
        """Change the load, try a Job and submit it; indefinitely."""
        while True:
            for _ in range(self.dice.randint(1, 3)):
                self._disturb()
            time.sleep(self.dice.random() * 0.4)
            yield self.tried(self._drawn(f"tried-{self.made}", OWN))
            self.made += 1

    def tried(self, job: Json) -> Try:
        """Ask as the tenant, submit at once, and see."""
        before, file = self._others(), self.quotree.cluster.workdir / "tried.yaml"
        file.write_text(yaml.safe_dump(job))
        words = ["-f", str(file), "-n", OWN, "-o", "json", "--kubeconfig", str(self.kubeconfig)]
        path = f"{self.quotree.cluster.binaries.kubectl.parent}:{os.environ['PATH']}"
        answer = CliRunner(env={"PATH": path}).invoke(preview.command, words)
        asked = time.monotonic()
        status, created = self._request("POST", _jobs(OWN), job)
        seconds, predicted = time.monotonic() - asked, _predicted(answer)
        happened, victims = Happened("Refused"), set[str]()
        if status < 300:
            self.jobs[job["metadata"]["name"]] = OWN
            happened, victims = self._outcome(created, predicted)
        own = {f"{OWN}/{job['metadata']['name']}", *victims}
        after = self._others()
        changed = sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
        text = answer.output + str(answer.exception)
        return Try(job, predicted, happened, [each for each in changed if each not in own], SECRET in text, seconds)

    def _outcome(self, created: Json, predicted: Happened) -> tuple[Happened, set[str]]:
        """Return what happens, and who is stopped for it."""
        began, victims = time.monotonic(), set[str]()
        while True:
            jobs = self._all_jobs()
            victims |= {key for key, each in jobs.items() if _preemptor(each) == created["metadata"]["uid"]}
            starts = not jobs[f"{OWN}/{created['metadata']['name']}"]["spec"]["suspend"]
            passed = time.monotonic() - began
            if starts:
                return Happened("Soon" if victims else "Now", len(victims)), victims
            if passed > (_FOR_ROOM if victims or predicted.starts in ("Now", "Soon") else _AT_ONCE):
                return Happened("Never", len(victims)), victims
            time.sleep(0.05)

    def _others(self) -> Mapping[str, str]:
        """Return what can decide about a Job, by name: other Jobs, groups and nodes."""
        jobs = {key: _state_of_job(each) for key, each in self._all_jobs().items()}
        groups = {f"group {_name(each)}": str(each["spec"]) for each in self._items(GROUPS)}
        nodes = {
            f"node {_name(each)}": str((each["status"]["allocatable"], each["spec"].get("unschedulable")))
            for each in self._items("/api/v1/nodes")
        }
        return {**jobs, **groups, **nodes}

    def _all_jobs(self) -> dict[str, Json]:
        return {f"{each['metadata']['namespace']}/{_name(each)}": each for each in self._items("/apis/batch/v1/jobs")}

    def _disturb(self) -> None:
        if len(self.jobs) >= _MOST:
            self._end_job()
            return
        changes = (self._add_job, self._end_job, self._edit, self._resize)
        self.dice.choices(changes, (4, 4, 2, 1))[0]()

    def _add_job(self) -> None:
        self.made += 1
        namespace = self.dice.choice((OWN, OTHERS, OTHERS))
        name = f"{SECRET if namespace == OTHERS else 'own'}-{self.made}"
        run_for = f"{self.dice.randint(5, 40)}s" if self.dice.random() < 0.3 else ""
        status, answer = self._request("POST", _jobs(namespace), self._drawn(name, namespace, run_for))
        assert status in (201, 403, 422), answer
        if status == 201:
            self.jobs[name] = namespace

    def _end_job(self) -> None:
        if self.jobs:
            name = self.dice.choice(sorted(self.jobs))
            path = f"{_jobs(self.jobs.pop(name))}/{name}?propagationPolicy=Background"
            self._request("DELETE", path)

    def _edit(self) -> None:
        """Give a leaf other numbers; what a rule refuses changes nothing."""
        quotas = []
        for flavor in self.dice.sample(sorted(FLAVORS), k=self.dice.choice((1, 2, 2))):
            quota: Json = {"flavor": flavor, "min": {"cpu": self.dice.randint(0, 5)}}
            if self.dice.random() < 0.4:
                quota["max"] = {"cpu": quota["min"]["cpu"] + self.dice.randint(1, 6)}
            quotas.append(quota)
        self._request("PATCH", f"{GROUPS}/{self.dice.choice(sorted(LEAVES))}", {"spec": {"quotas": quotas}}, MERGE)

    def _resize(self) -> None:
        self.small = not self.small
        offer = {"cpu": str(FLAVORS["big"] // 2 if self.small else FLAVORS["big"])}
        self._request("PATCH", "/api/v1/nodes/big/status", {"status": {"allocatable": offer, "capacity": offer}}, MERGE)

    def _drawn(self, name: str, namespace: str, run_for: str = "") -> Json:
        """A random Job; now and then one that is refused."""
        dice = self.dice
        group = dice.choice(("no-such-group", "p")) if dice.random() < 0.03 else dice.choice(sorted(LEAVES))
        labels = {"quotree.dev/group": group}
        if dice.random() < 0.25:
            labels["quotree.dev/flavor"] = dice.choice(sorted(FLAVORS))
        if dice.random() < 0.15:
            labels["quotree.dev/preemptible"] = "false"
        pods = dice.choice((1, 1, 2, 3))
        container = {"name": "a", "image": "a", "resources": {"requests": {"cpu": str(dice.randint(1, 5))}}}
        pod: Json = {"restartPolicy": "Never", "containers": [container]}
        if dice.random() < 0.3:
            pod["priorityClassName"] = dice.choice(sorted(PRIORITIES))
        annotations = {"demo.quotree.dev/run-for": run_for} if run_for else {}
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name, "namespace": namespace, "labels": labels},
            "spec": {
                "parallelism": pods,
                "completions": pods,
                "template": {"metadata": {"annotations": annotations}, "spec": pod},
            },
        }

    def _items(self, path: str) -> list[Json]:
        status, body = self._request("GET", path)
        assert status == 200, body
        return list(body["items"])

    def _request(self, method: str, path: str, body: object = None, kind: str = "application/json") -> tuple[int, Any]:
        return self.quotree.cluster.rest.request(method, path, body, kind)


def _predicted(answer: Result) -> Happened:
    if isinstance(answer.exception, Refused):
        return Happened("Refused")
    assert answer.exit_code in (preview.STARTS, preview.WAITS), answer.exception
    (found,) = json.loads(answer.stdout)["workloads"]
    return Happened(found["starts"], sum(each["workloads"] for each in found["evicts"]))


def _state_of_job(job: Json) -> str:
    """Return what of a Job others depend on."""
    status, metadata = job["status"], job["metadata"]
    counts = [status.get(each, 0) for each in ("active", "terminating", "succeeded")]
    evicted = metadata.get("annotations", {}).get("quotree.dev/eviction")
    return f"{metadata['uid']} {job['spec']['suspend']} {counts} {evicted}"


def _preemptor(job: Json) -> str:
    """Return the uid of the workload for which it was stopped."""
    written = job["metadata"].get("annotations", {}).get("quotree.dev/eviction")
    claim = json.loads(written).get("for") if written else None
    return str(claim["uid"]) if claim else ""


def _jobs(namespace: str) -> str:
    return f"/apis/batch/v1/namespaces/{namespace}/jobs"


def _name(each: Json) -> str:
    return str(each["metadata"]["name"])


def _objects() -> Iterator[Json]:
    """Yield namespaces, the tenant's role, priorities, flavors and the tree."""
    for name in (OWN, OTHERS):
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    yield {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "tenant", "namespace": OWN},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "tenant"}],
    }
    for name, value in PRIORITIES.items():
        yield {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
            "preemptionPolicy": "Never",
        }
    for name in FLAVORS:
        yield {
            "apiVersion": "quotree.dev/v1alpha1",
            "kind": "ResourceFlavor",
            "metadata": {"name": name},
            "spec": {"nodeLabels": {"flavor": name}},
        }
    quotas = [{"flavor": name, "min": {"cpu": 3}} for name in FLAVORS]
    every = [{"flavor": name, "min": {"cpu": 8}} for name in FLAVORS]
    groups = {"p": {"isParent": True, "quotas": every}} | {
        leaf: {"parent": parent, "quotas": quotas, "namespaceSelector": {}} for leaf, parent in LEAVES.items()
    }
    for name, spec in groups.items():
        yield {"apiVersion": "quotree.dev/v1alpha1", "kind": "QuotaGroup", "metadata": {"name": name}, "spec": spec}


@contextmanager
def tenancy(programs: binaries.Binaries, seed: int) -> Iterator[Tenancy]:
    """A cluster of two flavors with the visibility API, in which nothing is delayed."""
    nodes = [
        NodeSpec(name, labels={"flavor": name}, allocatable={"cpu": str(cpus), "memory": "64Gi", "pods": "500"})
        for name, cpus in FLAVORS.items()
    ]
    nothing = {"gracePeriod": "0s", "notice": "0s", "exemptAfterStart": "0s"}
    quota = {"reclaim": nothing, "capacity": {"lossGracePeriod": "0s"}}
    with (
        cluster.start(programs, nodes=nodes) as started,
        installed(started, quota=quota, visibility=True) as running,
    ):
        started.apply(yaml.safe_dump_all(_objects()))
        wait_for(lambda: available(started) == "True", "the visibility API is served", 120)
        yield Tenancy(running, started.kubeconfig_for("tenant"), Random(seed))


def main() -> int:
    """Make that many tries."""
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.visibility.tries", description=__doc__)
    parser.add_argument("--tries", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    done: list[Try] = []
    with tenancy(binaries.ensure(progress=print), options.seed) as tenants:
        for each in tenants.tries():
            done.append(each)
            if not each.is_true or each.names_others:
                print(f"{len(done)}: {each}", flush=True)
            if len(done) % 20 == 0 or len(done) == options.tries:
                print(_summary(done), flush=True)
            if len(done) == options.tries:
                break
    return 1 if any(each.is_wrong for each in done) else 0


def _summary(done: Sequence[Try]) -> str:
    kinds = Counter(each.predicted.starts for each in done)
    true = sum(each.is_true for each in done)
    excused = sum(not each.is_true and not each.is_wrong for each in done)
    wrong = sum(each.is_wrong for each in done)
    slow = sum(each.seconds > 1 for each in done)
    words = ", ".join(f"{name} {number}" for name, number in sorted(kinds.items()))
    return (
        f"{len(done)} tries ({words}), {true} true, {excused} after which something else changed, {wrong} wrong; "
        f"{slow} submitted later than a second after the answer"
    )


if __name__ == "__main__":
    sys.exit(main())
