"""The checker on JobSets: what operators make is part of the object, and counts with it until it can run no more."""

from typing import Any

import msgspec
import pytest

from shared.api.core.job import Job, read_job
from shared.api.core.pod import Pod, read_pod
from shared.api.names import ADMISSION, EVICTION, GROUP_LABEL, POD_SET_LABEL, UNIT_LABEL
from shared.kinds.kind_object import KindObject
from shared.kinds.reading import read_kind_object
from tests.chaos.judging.history.records import JOBSET
from tests.chaos.judging.history.written_histories import WrittenHistory

CONTAINER = {"name": "main", "resources": {"requests": {"cpu": "2"}}}
TEMPLATE = {"spec": {"containers": [CONTAINER]}}
ADMITTED = {ADMISSION: msgspec.json.encode({"flavors": {"cpu": "default"}, "time": "2026-01-01T00:00:00Z"}).decode()}


def jobset(*, suspend: bool, annotations: dict[str, str] | None = None, **status: Any) -> KindObject:
    """Two pods of two cpus each, in the group `left`."""
    job = {"spec": {"parallelism": 2, "completions": 2, "template": TEMPLATE}}
    labels = {GROUP_LABEL: "left"}
    metadata = {"name": "set", "namespace": "ns", "uid": "set", "labels": labels, "annotations": annotations or {}}
    spec = {"suspend": suspend, "replicatedJobs": [{"name": "workers", "replicas": 1, "template": job}]}
    return read_kind_object(JOBSET, {"metadata": metadata, "spec": spec, "status": status})


def child(*, suspend: bool, unit: str = "set", group: str = "", **annotations: str) -> Job:
    """The Job that the operator makes for it."""
    owner = {"kind": "JobSet", "apiVersion": JOBSET.api_version, "name": "set", "uid": "set", "controller": True}
    labels = {UNIT_LABEL: unit} if unit else {}
    labels |= {GROUP_LABEL: group} if group else {}
    written = {f"quotree.dev/{name}": value for name, value in annotations.items()}
    about = {"name": "set-workers-0", "namespace": "ns", "uid": "child", "labels": labels, "annotations": written}
    spec = {"suspend": suspend, "parallelism": 2, "completions": 2, "template": TEMPLATE}
    return read_job({"metadata": {**about, "ownerReferences": [owner]}, "spec": spec})


def pod(number: int, phase: str, *, unit: str = "set") -> Pod:
    """One of that Job's pods."""
    owner = {"kind": "Job", "apiVersion": "batch/v1", "name": "set-workers-0", "uid": "child", "controller": True}
    labels = {UNIT_LABEL: unit, POD_SET_LABEL: "workers", GROUP_LABEL: "left"} if unit else {}
    about = {"name": f"set-{number}", "namespace": "ns", "uid": f"pod-{number}", "labels": labels}
    spec = {**TEMPLATE["spec"], "nodeName": "node"}
    return read_pod({"metadata": {**about, "ownerReferences": [owner]}, "spec": spec, "status": {"phase": phase}})


@pytest.fixture
def history() -> WrittenHistory:
    """It runs, with both of its pods: four of the eight cpus, all that its group is promised."""
    history = WrittenHistory()
    history.observe("set", jobset(suspend=True), "user")
    history.observe("child", child(suspend=True), "operator")
    history.observe("set", jobset(suspend=False, annotations=ADMITTED), "reconciler")
    history.observe("child", child(suspend=False), "operator")
    for number in range(2):
        history.observe(f"pod-{number}", pod(number, "Running"), "controller")
    return history


def stop(history: WrittenHistory) -> None:
    """Its group is drained."""
    history.group("left", min="1", max="1")
    eviction = {"reason": "OverCeiling", "rule": "OverLimit", "time": history.now, "flavors": {"cpu": "default"}}
    eviction["since"] = "2026-01-01T00:00:00Z"
    annotations = {EVICTION: msgspec.json.encode(eviction).decode()}
    history.observe("set", jobset(suspend=True, annotations=annotations), "reconciler")
    history.group("left", min="4")


def rules(history: WrittenHistory) -> list[tuple[str, str]]:
    return [(flaw.rule, flaw.object) for flaw in history.judged().flaws]


def start_beside(history: WrittenHistory) -> None:
    """Something of six cpus starts in the other group."""
    history.submit("beside", "right", 6)
    history.start("beside")


def test_jobset_is_counted_once_in_a_sound_history(history: WrittenHistory) -> None:
    found = history.judged()
    assert found.flaws == []
    assert (found.counts["starts of a JobSet"], found.counts["versions of what operators made"]) == (1, 4)


def test_pods_and_jobs_of_a_jobset_are_not_counted_again(history: WrittenHistory) -> None:
    history.submit("beside", "right", 4)
    history.start("beside")
    assert rules(history) == []


def test_jobset_counts_with_its_declared_pods(history: WrittenHistory) -> None:
    start_beside(history)
    assert rules(history) == [("OverAdmitted", "ns/beside")]


def test_pods_of_a_stopped_jobset_count_until_they_have_ended(history: WrittenHistory) -> None:
    stop(history)
    history.observe("child", child(suspend=True), "operator")
    start_beside(history)
    assert rules(history) == [("OverAdmitted", "ns/beside")]


def test_pods_that_jobs_of_a_stopped_jobset_can_still_create_count(history: WrittenHistory) -> None:
    stop(history)
    for number in range(2):
        history.observe(f"pod-{number}", pod(number, "Failed"), "controller")
    start_beside(history)
    assert rules(history) == [("OverAdmitted", "ns/beside")]


def test_completed_pods_of_a_stopped_jobset_do_not_count(history: WrittenHistory) -> None:
    stop(history)
    for number in range(2):
        history.observe(f"pod-{number}", pod(number, "Succeeded"), "controller")
    start_beside(history)
    assert rules(history) == []


def test_stopped_jobset_whose_pods_have_ended_counts_nothing(history: WrittenHistory) -> None:
    stop(history)
    history.observe("child", child(suspend=True), "operator")
    for number in range(2):
        history.observe(f"pod-{number}", pod(number, "Failed"), "controller")
    start_beside(history)
    assert rules(history) == []


def test_restart_of_a_jobset_while_a_pod_exists_is_reported(history: WrittenHistory) -> None:
    stop(history)
    history.observe("pod-0", pod(0, "Failed"), "controller")
    history.observe("set", jobset(suspend=False, annotations=ADMITTED), "reconciler")
    assert rules(history) == [("StartedTwice", "ns/set")]


def test_start_of_a_jobset_by_another_user_is_reported() -> None:
    history = WrittenHistory()
    history.observe("set", jobset(suspend=True), "user")
    history.observe("set", jobset(suspend=False, annotations=ADMITTED), "user")
    assert rules(history) == [("ResumedByOther", "ns/set")]


@pytest.mark.parametrize(
    ("made", "user"),
    [
        (child(suspend=True, unit="", group="left"), "operator"),
        (child(suspend=False, admission="{}"), "operator"),
        (child(suspend=False), "reconciler"),
    ],
    ids=["not distinguished", "admitted", "started"],
)
def test_job_of_a_jobset_that_counts_as_a_workload_is_reported(history: WrittenHistory, made: Job, user: str) -> None:
    history.observe("child", made, user)
    assert rules(history) == [("CountedTwice", "ns/set-workers-0")]


def test_unlabelled_job_of_a_jobset_is_accepted_where_only_labelled_objects_are_managed(
    history: WrittenHistory,
) -> None:
    history.observe("child", child(suspend=False, unit=""), "operator")
    assert rules(history) == []


def test_pod_that_does_not_name_its_jobset_is_reported(history: WrittenHistory) -> None:
    history.observe("pod-2", pod(2, "Pending", unit=""), "controller")
    assert rules(history) == [("CountedTwice", "ns/set-2")]
