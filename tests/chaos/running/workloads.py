"""The organisation and its work: a three-level tree in which much is borrowed, and Jobs and pods drawn from a seed."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final

from dev.controlplane.cluster import NodeSpec
from shared.api.names import (
    API_VERSION,
    GATE,
    GROUP_LABEL,
    POD_GROUP_LABEL,
    POD_GROUP_SIZE_LABEL,
    PREEMPTIBLE_LABEL,
)
from tests.chaos.judging.history.records import JOBSET

NAMESPACE: Final = "default"
NODES: Final = tuple(
    NodeSpec(f"node-{number}", allocatable={"cpu": "16", "memory": "64Gi", "pods": "500"}) for number in range(2)
)
CPUS: Final = 32
PRIORITIES: Final = {"low": 100, "middle": 500, "high": 1000}
BUDGET_LABEL: Final = "chaos/budget"
LEAVES: Final = ("vision", "nlp", "ads", "search", "lab")
COUNTED: Final = "counted"
"""A leaf whose Jobs nobody stops, for what they used is counted exactly; its own, beside the others."""


@dataclass(frozen=True, slots=True)
class Submission:
    """An object to be in the cluster."""

    path: str
    body: dict[str, Any]
    goes_on: bool = False
    """It is of no use without the next one."""

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.body["metadata"]["name"])


def organisation() -> Iterator[Submission]:
    """Two departments of two teams each, and a lab that is promised nothing and lives on what others leave idle.

    Some pods are under a disruption budget: of those that run, one must stay.
    """
    yield _group("research", is_parent=True, min=16, max=30)
    yield _group("product", is_parent=True, min=14)
    yield _group("vision", "research", min=8, lending=5)
    yield _group("nlp", "research", min=6)
    yield _group("ads", "product", min=6)
    yield _group("search", "product", min=6, borrowing=8)
    yield _group("lab", weight=2)
    for name, value in PRIORITIES.items():
        # What the scheduler itself takes from pods for others is no business of Quotree's.
        body = {"metadata": {"name": name}, "value": value, "preemptionPolicy": "Never"}
        yield Submission("/apis/scheduling.k8s.io/v1/priorityclasses", body)
    budget = {"minAvailable": 1, "selector": {"matchLabels": {BUDGET_LABEL: "true"}}}
    body = {"metadata": {"name": "budget"}, "spec": budget}
    yield Submission(f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets", body)


def _group(name: str, parent: str = "root", *, is_parent: bool = False, **limits: int) -> Submission:
    words = {"min": "min", "max": "max", "lending": "lendingLimit", "borrowing": "borrowingLimit", "weight": "weight"}
    entry = {words[word]: {"cpu": str(cpu)} for word, cpu in limits.items()}
    entry.setdefault("min", {"cpu": "0"})
    spec = {"parent": parent, "isParent": is_parent, "quotas": [entry]}
    body = {"apiVersion": API_VERSION, "kind": "QuotaGroup", "metadata": {"name": name}, "spec": spec}
    return Submission(f"/apis/{API_VERSION}/quotagroups", body)


def counted_group() -> Submission:
    """The leaf of what is counted: within its min, so that nothing else stops it either."""
    return _group(COUNTED, min=2)


def submissions(random: Random, *, jobsets: bool = False, counted: bool = False) -> Iterator[Submission]:
    """Work without end: mostly Jobs of one to three pods, some plain pods and groups of them, some not preemptible.

    With `jobsets`, some JobSets of two or three Jobs as well; with `counted`, some Jobs of that leaf.
    """
    number = 0
    while True:
        number += 1
        if counted and random.random() < 0.2:
            yield _counted_job(random, number)
            continue
        labels = {GROUP_LABEL: random.choice(LEAVES)}
        cpu, pods = random.randint(1, 2), random.randint(1, 3)
        if labels[GROUP_LABEL] != "lab" and random.random() < 0.15:
            labels[PREEMPTIBLE_LABEL] = "false"
        pod = _pod(random, cpu)
        kind = random.random()
        if kind < 0.08:
            yield _plain_pod(f"pod-{number:04}", {**labels, PREEMPTIBLE_LABEL: "false"}, pod)
        elif kind < 0.14:
            yield _plain_pod(f"pod-{number:04}", {**labels, BUDGET_LABEL: "true"}, pod)
        elif kind < 0.2:
            members = {**labels, POD_GROUP_LABEL: f"gang-{number:04}", POD_GROUP_SIZE_LABEL: str(pods)}
            for member in range(pods):
                one = _plain_pod(f"gang-{number:04}-{member}", members, pod)
                yield replace(one, goes_on=member + 1 < pods)
        elif jobsets and kind < 0.45:
            yield _jobset(f"set-{number:04}", labels, pod, random.choice(((1, 1), (1, 2), (2, 1))))
        else:
            yield _job(f"job-{number:04}", labels, pod, pods)


def _counted_job(random: Random, number: int) -> Submission:
    """One pod, not preemptible: it is started once, and runs to its end."""
    labels = {GROUP_LABEL: COUNTED, PREEMPTIBLE_LABEL: "false"}
    return _job(f"counted-{number:04}", labels, _pod(random, 1), 1)


def _pod(random: Random, cpu: int) -> dict[str, Any]:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": str(cpu)}}}
    simulated = {"demo.quotree.dev/run-for": f"{random.choice((1, 2, 4, 8))}s"}
    if random.random() < 0.4:
        simulated["demo.quotree.dev/stop-takes"] = f"{random.choice((1, 2, 3))}s"
    return {
        "metadata": {"annotations": simulated},
        "spec": {
            "restartPolicy": "Never",
            "priorityClassName": random.choice(tuple(PRIORITIES)),
            "containers": [container],
        },
    }


def _job(name: str, labels: dict[str, str], pod: dict[str, Any], pods: int) -> Submission:
    body = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": labels},
        "spec": _job_spec(pod, pods),
    }
    return Submission(f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs", body)


def _job_spec(pod: dict[str, Any], pods: int) -> dict[str, Any]:
    return {"parallelism": pods, "completions": pods, "backoffLimit": 1000, "template": pod}


def _jobset(name: str, labels: dict[str, str], pod: dict[str, Any], workers: tuple[int, int]) -> Submission:
    """A driver of one pod, and a number of Jobs with a number of workers each."""
    replicas, pods = workers
    jobs = [
        {"name": "driver", "replicas": 1, "template": {"spec": _job_spec(pod, 1)}},
        {"name": "workers", "replicas": replicas, "template": {"spec": _job_spec(pod, pods)}},
    ]
    body = {
        "apiVersion": JOBSET.api_version,
        "kind": JOBSET.kind,
        "metadata": {"name": name, "labels": labels},
        "spec": {"replicatedJobs": jobs},
    }
    return Submission(f"/apis/{JOBSET.api_version}/namespaces/{NAMESPACE}/{JOBSET.resource}", body)


def _plain_pod(name: str, labels: dict[str, str], pod: dict[str, Any]) -> Submission:
    labels = {**labels, GROUP_LABEL: "nlp" if labels[GROUP_LABEL] == "lab" else labels[GROUP_LABEL]}
    metadata = {"name": name, "labels": labels, **pod["metadata"]}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod["spec"]}
    return Submission(f"/api/v1/namespaces/{NAMESPACE}/pods", body)


def is_held(body: dict[str, Any]) -> bool:
    """Whether a pod still has Quotree's gate."""
    return any(gate["name"] == GATE for gate in body["spec"].get("schedulingGates", ()))
