"""Volcano's hierarchy by annotation, its Jobs, and other workloads that it schedules."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.convert.converting import Converted

QUEUE = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: %s, annotations: %s}\nspec: %s\n---\n"
PODS = {"schedulerName": "volcano", "containers": [{"name": "main", "image": "none"}]}


def step(name: str, path: str, weights: str) -> str:
    return QUEUE % (name, f'{{volcano.sh/hierarchy: {path}, volcano.sh/hierarchy-weights: "{weights}"}}', "{weight: 1}")


def volcano_job(kind: str = "Job", tasks: tuple[str, ...] = ("a",), **spec: Any) -> str:
    pods = [{"name": name, "replicas": 3, "template": {"metadata": {"name": "web"}, "spec": PODS}} for name in tasks]
    whole = {"tasks": pods, "schedulerName": "volcano", **spec}
    if kind == "CronJob":
        whole = {"schedule": "* * * * *", "jobTemplate": {"spec": whole}}
    head = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": kind, "metadata": {"name": "it", "namespace": "one"}}
    return yaml.safe_dump({**head, "spec": whole}) + "---\n"


def test_hierarchy_by_annotation_becomes_the_tree_with_its_weights(tmp_path: Path) -> None:
    steps = [("eng-prod", "root/eng/prod", "1/2/8"), ("eng-dev", "root/eng/dev", "1/2/2"), ("sci", "root/sci", "1/8")]
    made = Converted(tmp_path, "".join(step(*each) for each in steps))
    seen = {each.name: (each.parent, dict(each.quotas[0].weight)) for each in made.groups()}
    assert seen == {
        "eng": ("root", {"cpu": 2000, "memory": 2}),
        "eng-prod": ("eng", {"cpu": 8000, "memory": 8}),
        "eng-dev": ("eng", {"cpu": 2000, "memory": 2}),
        "sci": ("root", {"cpu": 8000, "memory": 8}),
    }
    assert (made.notes, made.check(tmp_path)[0]) == ([], 0)


def test_number_of_weights_must_be_that_of_the_steps(tmp_path: Path) -> None:
    problem = str(Converted(tmp_path, step("a", "root/eng/prod", "1/2")).problem)
    assert problem.endswith("1/2 has 2 weights, volcano.sh/hierarchy has 3 steps; write one for each")


def test_job_of_one_task_becomes_a_batch_job(tmp_path: Path) -> None:
    spec: dict[str, Any] = {
        "queue": "q",
        "minAvailable": 2,
        "plugins": {"svc": []},
        "maxRetry": 5,
        "priorityClassName": "high",
    }
    made = Converted(tmp_path, QUEUE % ("q", "{}", "{}") + volcano_job(**spec))
    (job,) = made.of_kind("Job")
    assert (job["apiVersion"], job["metadata"]["labels"]) == ("batch/v1", {"quotree.dev/group": "q"})
    assert {key: value for key, value in job["spec"].items() if key != "template"} == {
        "parallelism": 3,
        "completions": 3,
        "backoffLimit": 5,
    }
    assert job["spec"]["template"]["spec"] == {
        "containers": PODS["containers"],
        "restartPolicy": "OnFailure",
        "priorityClassName": "high",
    }
    assert [each.partition("it ")[2] for each in made.notes] == [
        "spec.minAvailable: is 2: all 3 pods start together, or none does",
        "spec.plugins: has no counterpart and is left out",
    ]
    assert made.judged[-1].partition("; ")[2].startswith("1 of 1 workloads start")


def test_job_of_several_tasks_becomes_a_job_set(tmp_path: Path) -> None:
    made = Converted(tmp_path, QUEUE % ("q", "{}", "{}") + volcano_job(tasks=("head", "workers"), queue="q"))
    (written,) = made.of_kind("JobSet")
    jobs = written["spec"]["replicatedJobs"]
    assert [(each["name"], each["template"]["spec"]["parallelism"]) for each in jobs] == [("head", 3), ("workers", 3)]
    assert "`integrations` of the chart's values name jobset" in made.notes[0]


def test_cron_job_makes_batch_jobs(tmp_path: Path) -> None:
    made = Converted(tmp_path, QUEUE % ("q", "{}", "{}") + volcano_job("CronJob", queue="q"))
    (written,) = made.of_kind("CronJob")
    assert (written["apiVersion"], written["spec"]["schedule"]) == ("batch/v1", "* * * * *")
    assert written["spec"]["jobTemplate"]["metadata"]["labels"] == {"quotree.dev/group": "q"}


def test_queue_default_is_there_without_an_object(tmp_path: Path) -> None:
    made = Converted(tmp_path, volcano_job())
    assert made.of_kind("Job")[0]["metadata"]["labels"] == {"quotree.dev/group": "default-queue"}
    assert made.spec("default-queue")["quotas"] == [{"min": {"cpu": "0", "memory": "0"}}]


@pytest.mark.parametrize("place", ["template", "object"])
def test_queue_of_a_deployment_becomes_the_label_of_its_pods(tmp_path: Path, place: str) -> None:
    named = {"annotations": {"scheduling.volcano.sh/queue-name": "q"}}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "it", "namespace": "one", **(named if place == "object" else {})},
        "spec": {"template": {"metadata": named if place == "template" else {}, "spec": PODS}},
    }
    made = Converted(tmp_path, QUEUE % ("q", "{}", "{}") + yaml.safe_dump(body))
    (written,) = made.of_kind("Deployment")
    assert written["spec"]["template"] == {
        "metadata": {"labels": {"quotree.dev/group": "q"}},
        "spec": {"containers": PODS["containers"]},
    }
    assert made.notes == []


def test_what_has_no_counterpart_is_named(tmp_path: Path) -> None:
    flow = "apiVersion: flow.volcano.sh/v1alpha1\nkind: JobFlow\nmetadata: {name: f}\nspec: {}\n---\n"
    group = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {name: g}\nspec: {}\n---\n"
    made = Converted(tmp_path, flow + group + volcano_job(queue="absent"))
    assert [each.partition(": ")[2] for each in made.notes] == [
        "Job/one/it spec.queue: queue absent is not in the files; left out",
        "JobFlow/f: has no counterpart and is left out",
        "PodGroup/g: has no counterpart and is left out",
    ]
