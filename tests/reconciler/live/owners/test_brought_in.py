"""What ran before its namespace was brought in is counted in its leaf, and recycled, whatever it carries."""

import json
from typing import Any

import pytest

from shared.api.names import ADMISSION, GROUP_LABEL, PREEMPTIBLE_LABEL, UNIT_LABEL
from tests.reconciler.live.pods.test_pods import pod
from tests.reconciler.reconciler_process import Quotree, job_manifest, quota, wait_for

pytestmark = pytest.mark.timeout(900)
LONG = 240.0
NAMESPACES = "/api/v1/namespaces"


def admission(**flavors: str) -> dict[str, str]:
    return {ADMISSION: json.dumps({"flavors": flavors, "time": "2026-01-01T00:00:00Z"})}


def used_of(q: Quotree, group: str) -> str:
    return str(q.group_status(group).get("quotas", [{}])[0].get("used", {}).get("cpu", "0"))


def running_job(name: str, annotations: dict[str, str], cpu: str = "1", run_for: str | None = None) -> dict[str, Any]:
    body = job_manifest(name, "x", cpu, suspend=False, run_for=run_for)
    body["metadata"] = {"name": name, "annotations": annotations}
    return body


def running_pod(name: str, owner: str) -> dict[str, Any]:
    """It says that it was made for an object of a governed kind, of which there is none."""
    body = pod(name, "x", "1")
    del body["spec"]["schedulingGates"]
    controller = {"apiVersion": "v1", "kind": "ConfigMap", "name": "mine", "uid": owner, "controller": True}
    body["metadata"] = {"name": name, "labels": {UNIT_LABEL: "invented"}, "ownerReferences": [controller]}
    return body


def test_whatever_runs_in_a_namespace_that_is_brought_in_is_counted_and_recycled(q: Quotree) -> None:
    q.create(NAMESPACES, {"metadata": {"name": "later"}})
    jobs, pods = "/apis/batch/v1/namespaces/later/jobs", f"{NAMESPACES}/later/pods"
    owner = q.create(f"{NAMESPACES}/later/configmaps", {"metadata": {"name": "mine"}})["metadata"]["uid"]
    q.create(jobs, running_job("none", admission()))
    q.create(jobs, running_job("invented", admission(cpu="no-such-flavor")))
    q.create(jobs, running_job("plain", {}))
    q.create(pods, running_pod("made", owner))
    q.lead()
    q.group("vision", quotas=[quota(min="0", max="8")])
    q.merge(f"{NAMESPACES}/later", {"metadata": {"labels": {GROUP_LABEL: "vision"}}})
    wait_for(lambda: used_of(q, "vision") == "4", "all four are counted", LONG)
    q.group("vision", quotas=[quota(min="0", max="1")])

    def still_run() -> list[str]:
        found = [each["metadata"]["name"] for each in q.get(jobs)["items"] if not each["spec"]["suspend"]]
        return [
            *found,
            *(each["metadata"]["name"] for each in q.get(pods)["items"] if each["metadata"]["name"] == "made"),
        ]

    wait_for(lambda: len(still_run()) == 1, "all but one are recycled", LONG)


def test_label_that_nobody_judged_keeps_nothing_from_being_recycled(q: Quotree) -> None:
    """In a namespace that is not managed, an owner can write any label on what runs: it was not admitted within min."""
    q.create(NAMESPACES, {"metadata": {"name": "kept"}})
    jobs = "/apis/batch/v1/namespaces/kept/jobs"
    q.create(jobs, running_job("keeps", {}, "8"))
    q.merge(f"{jobs}/keeps", {"metadata": {"labels": {PREEMPTIBLE_LABEL: "false"}}})
    q.lead()
    q.group("vision", quotas=[quota(min="0", max="4")])
    q.merge(f"{NAMESPACES}/kept", {"metadata": {"labels": {GROUP_LABEL: "vision"}}})
    wait_for(lambda: q.get(f"{jobs}/keeps")["spec"]["suspend"], "what is over the max is recycled", LONG)


def test_pod_that_names_a_finished_job_is_reported_by_name(q: Quotree) -> None:
    """What runs in the namespace is counted in its leaf, or named: one pod for each thing that it can name."""
    q.create(NAMESPACES, {"metadata": {"name": "strays"}})
    jobs, pods = "/apis/batch/v1/namespaces/strays/jobs", f"{NAMESPACES}/strays/pods"
    sizes: dict[str, tuple[str, str | None]] = {"finished": ("1", "1s"), "waits": ("9", None), "runs": ("1", None)}
    owners = {name: q.create(jobs, running_job(name, {}, cpu, end)) for name, (cpu, end) in sizes.items()}
    wait_for(lambda: len(q.get(pods)["items"]) == 3, "their pods are made", LONG)
    q.merge(f"{jobs}/waits", {"spec": {"suspend": True}})
    wait_for(lambda: q.get(f"{jobs}/finished")["status"].get("succeeded"), "it has finished", LONG)
    for name, owner in owners.items():
        q.create(pods, pod_of_a_job(f"of-{name}", owner["metadata"]["uid"], name))
    q.create(pods, running_pod_alone("alone"))
    q.lead()
    q.group("vision", quotas=[quota(min="0", max="8")])
    q.merge(f"{NAMESPACES}/strays", {"metadata": {"labels": {GROUP_LABEL: "vision"}}})

    def reported() -> set[str]:
        found = q.get("/apis/events.k8s.io/v1/namespaces/strays/events")["items"]
        return {each["regarding"]["name"] for each in found if each["reason"] == "StrayPod"}

    wait_for(lambda: reported() == {"of-finished"}, "it is reported", LONG)
    # The Job that runs, and three pods: the Job controller releases those that only name a Job which has not finished.
    wait_for(lambda: used_of(q, "vision") == "4", "all but that one are counted", LONG)


def pod_of_a_job(name: str, uid: str, job: str) -> dict[str, Any]:
    """It has no labels of the Job, so that the Job controller does not see it."""
    body = running_pod_alone(name)
    controller = {"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": uid, "controller": True}
    body["metadata"]["ownerReferences"] = [controller]
    return body


def running_pod_alone(name: str) -> dict[str, Any]:
    body = pod(name, "x", "1")
    del body["spec"]["schedulingGates"]
    body["metadata"] = {"name": name}
    return body
