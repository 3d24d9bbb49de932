"""The way back to Kueue: what Quotree runs becomes Workloads that Kueue has admitted; and the chart's values."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.convert.converting import Converted
from tests.cli.convert.kueue.manifests import KUEUE, kueue, local_queue, queue, quotas

LABELS = {"kueue.x-k8s.io/queue-name": "main", "quotree.dev/group": "vision"}
ADMITTED = {"flavors": {"cpu": "default"}, "time": "2026-01-01T10:00:00.123456Z"}
QUEUES = (
    kueue("ResourceFlavor", "any", {})
    + kueue("ResourceFlavor", "t4", {"nodeLabels": {"model": "t4"}})
    + queue("vision", resourceGroups=quotas("any", cpu=10, pods=8))
    + queue("nlp", resourceGroups=quotas("t4", cpu=10))
    + local_queue("one", "vision")
    + local_queue("two", "nlp")
)
URGENT = f"""---
apiVersion: {KUEUE}
kind: WorkloadPriorityClass
metadata: {{name: urgent}}
value: 7
"""


def job(name: str = "train", *, admission: dict[str, Any] | None = ADMITTED, **more: Any) -> str:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1500m", "memory": "1Gi"}}}
    written = {} if admission is None else {"quotree.dev/admission": json.dumps(admission)}
    metadata = {"name": name, "namespace": "one", "uid": "abcdef-1", "labels": LABELS, "annotations": written}
    spec = {"suspend": False, "parallelism": 4, "completions": 2, "template": {"spec": {"containers": [container]}}}
    body = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {**metadata, **more.pop("metadata", {})},
        "spec": {**spec, **more.pop("spec", {})},
        **more,
    }
    return f"---\n{yaml.safe_dump(body)}"


def taken(folder: Path, text: str) -> tuple[list[dict[str, Any]], list[str]]:
    made = Converted(folder, QUEUES + text, "-o", "kueue-workloads")
    assert made.exit_code == 0
    return made.documents, [each.partition(": ")[2] for each in made.notes]


def test_running_job_becomes_an_admitted_workload(tmp_path: Path) -> None:
    (workload,), notes = taken(tmp_path, job())
    assert notes == []
    assert workload["metadata"] == {
        "name": "job-train-abcde",
        "namespace": "one",
        "labels": {"kueue.x-k8s.io/job-uid": "abcdef-1"},
        "finalizers": ["kueue.x-k8s.io/resource-in-use"],
        "ownerReferences": [
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "name": "train",
                "uid": "abcdef-1",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    }
    (pods,) = workload["spec"]["podSets"]
    assert (workload["spec"]["queueName"], pods["name"], pods["count"]) == ("main", "main", 2)
    assert pods["template"]["spec"]["containers"][0]["name"] == "main"
    assert workload["status"]["admission"] == {
        "clusterQueue": "vision",
        "podSetAssignments": [
            {
                "name": "main",
                "flavors": {"cpu": "any", "pods": "any"},
                "resourceUsage": {"cpu": "3", "pods": "2"},
                "count": 2,
            }
        ],
    }
    conditions = [
        (each["type"], each["status"], each["lastTransitionTime"]) for each in workload["status"]["conditions"]
    ]
    assert conditions == [(kind, "True", "2026-01-01T10:00:00Z") for kind in ("QuotaReserved", "Admitted")]


@pytest.mark.parametrize(
    "text",
    [
        job(spec={"suspend": True}),
        job(status={"conditions": [{"type": "Complete", "status": "True"}]}),
        job(metadata={"labels": {}}),
    ],
    ids=["waits", "is over", "is not Quotree's"],
)
def test_what_does_not_run_in_a_group_is_left_out(tmp_path: Path, text: str) -> None:
    assert taken(tmp_path, text) == ([], [])


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (
            job(metadata={"labels": {"quotree.dev/group": "vision"}}),
            "Job/one/train metadata.labels: it names no queue of Kueue: Kueue does not count this Job while it runs",
        ),
        (
            job(metadata={"namespace": "three"}),
            (
                "Job/three/train metadata.labels: LocalQueue main is not in the files, or its ClusterQueue: "
                "Kueue does not count this Job while it runs"
            ),
        ),
        (
            job(admission=None),
            "Job/one/train metadata.annotations: Quotree has not admitted this Job, which runs: Kueue suspends it",
        ),
        (
            job(metadata={"namespace": "two"}),
            "Job/two/train metadata.annotations: ClusterQueue nlp has no flavor any for it: Kueue suspends this Job",
        ),
    ],
    ids=["no queue", "unknown queue", "not admitted", "flavor of another queue"],
)
def test_job_that_kueue_cannot_take_over_is_named(tmp_path: Path, text: str, note: str) -> None:
    assert taken(tmp_path, text) == ([], [note])


def test_priority_and_run_time_of_kueue_are_those_of_the_workload(tmp_path: Path) -> None:
    labels = {
        **LABELS,
        "kueue.x-k8s.io/priority-class": "urgent",
        "kueue.x-k8s.io/max-exec-time-seconds": "60",
    }
    (workload,), _ = taken(tmp_path, URGENT + job(metadata={"labels": labels}))
    assert (workload["spec"]["priority"], workload["spec"]["maximumExecutionTimeSeconds"]) == (7, 60)
    assert workload["spec"]["priorityClassRef"] == {
        "group": "kueue.x-k8s.io",
        "kind": "WorkloadPriorityClass",
        "name": "urgent",
    }


def test_values_name_the_group_of_each_queue_and_the_priorities(tmp_path: Path) -> None:
    made = Converted(tmp_path, QUEUES + URGENT, "-o", "values")
    assert made.documents == [
        {
            "dialects": ["kueue"],
            "queueGroups": {"one/main": "vision", "two/main": "nlp"},
            "quota": {"workloadPriorities": [{"name": "urgent", "value": 7}]},
        }
    ]
