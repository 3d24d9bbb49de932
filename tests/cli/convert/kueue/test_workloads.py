"""Workloads that name a queue: the label goes where Quotree reads it, and what cannot be carried over is told."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.convert.converting import Converted
from tests.cli.convert.kueue.manifests import kueue, local_queue, queue

LABEL = {"kueue.x-k8s.io/queue-name": "main"}
OURS = {"quotree.dev/group": "vision"}
PODS = {"containers": [{"name": "main", "image": "none"}]}
QUEUES = queue("vision") + local_queue("one", "vision")


def workload(kind: str, api: str, spec: dict[str, Any], **metadata: Any) -> str:
    named = {"name": "it", "namespace": "one", "labels": LABEL, **metadata}
    return f"---\n{yaml.safe_dump({'apiVersion': api, 'kind': kind, 'metadata': named, 'spec': spec})}"


def converted(folder: Path, text: str, kind: str) -> tuple[dict[str, Any], list[str]]:
    made = Converted(folder, QUEUES + text)
    (written,) = made.of_kind(kind)
    return written, [each.partition(": ")[2] for each in made.notes]


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "ReplicaSet", "DaemonSet"])
def test_label_of_serving_goes_into_its_pod_template(tmp_path: Path, kind: str) -> None:
    spec = {"template": {"metadata": {"labels": {"app": "web"}}, "spec": PODS}}
    written, notes = converted(tmp_path, workload(kind, "apps/v1", spec), kind)
    assert written["spec"]["template"]["metadata"]["labels"] == {"app": "web", **OURS}
    assert ("labels" in written["metadata"], notes) == (False, [])


def test_label_of_a_leader_worker_set_goes_into_both_templates(tmp_path: Path) -> None:
    both = {"leaderTemplate": {"spec": PODS}, "workerTemplate": {"spec": PODS}, "size": 2}
    text = workload("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", {"leaderWorkerTemplate": both})
    written, notes = converted(tmp_path, text, "LeaderWorkerSet")
    templates = written["spec"]["leaderWorkerTemplate"]
    assert [templates[each]["metadata"]["labels"] for each in ("leaderTemplate", "workerTemplate")] == [OURS, OURS]
    assert notes == [
        (
            "LeaderWorkerSet/one/it: nothing holds a LeaderWorkerSet unless `integrations` of the chart's values "
            "name leaderworkerset"
        )
    ]


@pytest.mark.parametrize("place", ["above", "below"])
def test_label_of_a_cron_job_goes_to_its_jobs(tmp_path: Path, place: str) -> None:
    jobs = {"metadata": {"labels": LABEL if place == "below" else {}}, "spec": {"suspend": True, "template": {}}}
    spec = {"schedule": "* * * * *", "suspend": True, "jobTemplate": jobs}
    text = workload("CronJob", "batch/v1", spec, labels=LABEL if place == "above" else {})
    written, _ = converted(tmp_path, text, "CronJob")
    assert written["spec"]["jobTemplate"] == {"metadata": {"labels": OURS}, "spec": {"template": {}}}
    assert written["spec"]["suspend"] is True


def test_label_in_a_template_of_an_unknown_kind_stays_there(tmp_path: Path) -> None:
    spec = {"podTemplate": {"metadata": {"labels": LABEL}, "spec": PODS}}
    written, _ = converted(tmp_path, workload("Sandbox", "agents.example.com/v1", spec, labels={}), "Sandbox")
    assert written["spec"]["podTemplate"]["metadata"]["labels"] == OURS


def test_pods_of_a_kind_without_a_descriptor_get_the_label(tmp_path: Path) -> None:
    spec = {"replicaSpecs": {"Worker": {"replicas": 2, "template": {"spec": PODS}}}}
    written, notes = converted(tmp_path, workload("PaddleJob", "kubeflow.org/v1", spec), "PaddleJob")
    assert written["spec"]["replicaSpecs"]["Worker"]["template"]["metadata"]["labels"] == OURS
    assert notes == [
        (
            "PaddleJob/one/it: no descriptor of PaddleJob is shipped: those of its pods that have the label "
            "quotree.dev/group wait one by one; write a descriptor to start them together"
        )
    ]


@pytest.mark.parametrize(
    ("kind", "api", "spec"),
    [
        ("Job", "batch/v1", {"suspend": True, "template": {"spec": PODS}}),
        ("JobSet", "jobset.x-k8s.io/v1alpha2", {"suspend": True, "replicatedJobs": []}),
        ("PyTorchJob", "kubeflow.org/v1", {"runPolicy": {"suspend": True}, "pytorchReplicaSpecs": {}}),
    ],
)
def test_suspension_is_left_to_quotree(tmp_path: Path, kind: str, api: str, spec: dict[str, Any]) -> None:
    written, _ = converted(tmp_path, workload(kind, api, spec), kind)
    assert "suspend" not in written["spec"]
    assert "suspend" not in written["spec"].get("runPolicy", {})


def test_annotations_without_counterpart_are_named_and_taken_out(tmp_path: Path) -> None:
    annotations = {"kueue.x-k8s.io/job-min-parallelism": "5", "other": "kept"}
    topology = {"kueue.x-k8s.io/podset-required-topology": "rack"}
    spec = {"parallelism": 20, "template": {"metadata": {"annotations": topology}, "spec": PODS}}
    written, notes = converted(tmp_path, workload("Job", "batch/v1", spec, annotations=annotations), "Job")
    assert written["metadata"]["annotations"] == {"other": "kept"}
    assert written["spec"]["template"]["metadata"] == {}
    assert notes == [
        (
            "Job/one/it metadata.annotations[kueue.x-k8s.io/job-min-parallelism]: "
            "is left out: all pods start together, or none does"
        ),
        (
            "Job/one/it spec.template.metadata.annotations[kueue.x-k8s.io/podset-required-topology]: "
            "has no counterpart and is left out"
        ),
    ]


def test_what_kueue_wrote_on_a_pod_is_taken_out(tmp_path: Path) -> None:
    spec = {**PODS, "schedulingGates": [{"name": "kueue.x-k8s.io/admission"}, {"name": "other"}]}
    labels = {**LABEL, "kueue.x-k8s.io/managed": "true"}
    text = workload("Pod", "v1", spec, labels=labels, finalizers=["kueue.x-k8s.io/managed"])
    written, notes = converted(tmp_path, text, "Pod")
    assert (written["metadata"]["labels"], written["metadata"]["finalizers"]) == (OURS, [])
    assert (written["spec"]["schedulingGates"], notes) == ([{"name": "other"}], [])


RUN_TIME = "kueue.x-k8s.io/max-exec-time-seconds"


def test_longest_run_time_becomes_the_annotation(tmp_path: Path) -> None:
    text = workload("Job", "batch/v1", {"template": {"spec": PODS}}, labels={**LABEL, RUN_TIME: "5400"})
    written, notes = converted(tmp_path, text, "Job")
    assert written["metadata"]["labels"] == OURS
    assert (written["metadata"]["annotations"], notes) == ({"quotree.dev/max-run-time": "1h30m"}, [])


def test_longest_run_time_of_a_deployment_goes_where_its_label_goes(tmp_path: Path) -> None:
    spec = {"template": {"metadata": {"labels": {"app": "web"}}, "spec": PODS}}
    text = workload("Deployment", "apps/v1", spec, labels={**LABEL, RUN_TIME: "60"})
    written, _ = converted(tmp_path, text, "Deployment")
    assert written["spec"]["template"]["metadata"]["annotations"] == {"quotree.dev/max-run-time": "1m"}
    assert "annotations" not in written["metadata"]


def test_longest_run_time_that_is_no_number_is_named(tmp_path: Path) -> None:
    text = workload("Job", "batch/v1", {"template": {"spec": PODS}}, labels={**LABEL, RUN_TIME: "1h"})
    written, notes = converted(tmp_path, text, "Job")
    assert "annotations" not in written["metadata"]
    assert notes == [f"Job/one/it metadata.labels[{RUN_TIME}]: 1h is no number of seconds; left out"]


PRIORITY = "kueue.x-k8s.io/priority-class"


def test_priority_goes_where_the_label_of_the_group_goes(tmp_path: Path) -> None:
    classes = "".join(
        kueue("WorkloadPriorityClass", name, {}).replace("spec: {}", f"value: {value}")
        for name, value in (("urgent", 7), ("batch", -1))
    )
    jobs = {"metadata": {"labels": {PRIORITY: "batch"}}, "spec": {"template": {"spec": PODS}}}
    spec = {"schedule": "* * * * *", "jobTemplate": jobs}
    text = classes + workload("CronJob", "batch/v1", spec)
    written, notes = converted(tmp_path, text, "CronJob")
    assert written["spec"]["jobTemplate"]["metadata"]["labels"] == {**OURS, "quotree.dev/priority": "batch"}
    assert notes == [
        (
            "WorkloadPriorityClass/urgent value: set workloadPriorities: [{name: urgent, value: 7}, {name: batch, "
            "value: -1}] below `quota` in the chart's values; until then the label quotree.dev/priority is refused"
        )
    ]


def test_priority_class_that_is_not_in_the_files_is_named(tmp_path: Path) -> None:
    text = workload("Job", "batch/v1", {"template": {"spec": PODS}}, labels={**LABEL, PRIORITY: "lost"})
    written, notes = converted(tmp_path, text, "Job")
    assert written["metadata"]["labels"] == OURS
    assert notes == [
        f"Job/one/it metadata.labels[{PRIORITY}]: WorkloadPriorityClass lost is not in the files; left out"
    ]


def test_jobs_with_a_generated_name_are_each_converted(tmp_path: Path) -> None:
    job = workload("Job", "batch/v1", {"template": {"spec": PODS}}).replace("name: it", "generateName: train-")
    made = Converted(tmp_path, QUEUES + job + job)
    assert [each["metadata"] for each in made.of_kind("Job")] == [
        {"generateName": "train-", "namespace": "one", "labels": OURS}
    ] * 2
