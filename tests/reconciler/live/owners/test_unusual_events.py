"""What happens around the decisions: work found running, deleted, moved; trees and namespaces that change."""

import pytest

from dev.controlplane import cluster
from shared.api.names import API_VERSION, GROUP_LABEL, MANAGED_LABEL
from tests.reconciler.reconciler_process import Quotree, admission_of, job_manifest, quota, wait_for

pytestmark = pytest.mark.timeout(900)
LONG = 240.0
JOBS = "/apis/batch/v1/namespaces/default/jobs"


def used(q: Quotree, group: str) -> str | None:
    quotas = q.group_status(group).get("quotas", [])
    return next((each.get("used", {}).get("cpu") for each in quotas if each["flavor"] == "default"), None)


def test_unadmitted_running_jobs_are_adopted_and_counted(q: Quotree) -> None:
    q.create(JOBS, job_manifest("old", "vision", "3", suspend=False))
    q.start()
    wait_for(lambda: q.condition("root", "Active"), "the reconciler leads", LONG)
    q.group("vision", quotas=[quota(min="4", max="4")])
    wait_for(lambda: used(q, "vision") == "3", "its use is counted", LONG)
    admission = wait_for(lambda: admission_of(q.get_job("old")), "it is adopted", LONG)
    assert admission is not None
    assert admission["flavors"] == {"cpu": "default"}
    assert q.running() == {"old"}
    q.job("new", "vision", "2")
    q.job("fits", "vision", "1")
    wait_for(lambda: q.running() == {"old", "fits"}, "the rest is given out", LONG)


def test_quota_of_a_deleted_job_is_used_until_its_pods_have_ended(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="1", max="1")])
    q.job("first", "vision", "1", annotations={"demo.quotree.dev/stop-takes": "1h"})
    pods = "/api/v1/namespaces/default/pods"
    wait_for(lambda: any(each["spec"].get("nodeName") for each in q.get(pods)["items"]), "its pod runs", LONG)
    q.delete(f"{JOBS}/first")
    q.job("second", "vision", "1")
    wait_for(lambda: q.group_status("vision").get("workloads", {}).get("pending") == 1, "the second waits", LONG)
    wait_for(q.stopping_pods, "its pod is to end", LONG)
    assert used(q, "vision") == "1"
    assert q.running() == set()
    q.end_pods()
    wait_for(lambda: "second" in q.running(), "it starts when the pod has ended", LONG)


def test_illegal_subtree_becomes_inactive_and_others_continue(q: Quotree) -> None:
    q.lead()
    q.group("research", isParent=True, quotas=[quota(min="2")])
    q.group("vision", parent="research", quotas=[quota(min="2")])
    q.group("nlp", quotas=[quota(min="2")])
    q.job("before", "vision", "1")
    wait_for(lambda: q.running() == {"before"}, "all is well", LONG)
    q.group("research", parent="lost")
    wait_for(lambda: q.condition("vision", "Active").get("status") == "False", "the subtree is frozen", LONG)
    wait_for(lambda: q.condition("research", "Active").get("reason") == "ParentAbsent", "it says why", LONG)
    q.job("frozen", "vision", "1")
    q.job("elsewhere", "nlp", "1")
    wait_for(lambda: "elsewhere" in q.running(), "another subtree goes on", LONG)
    assert q.running() == {"before", "elsewhere"}
    wait_for(lambda: q.events("research"), "an event says so", LONG)
    assert q.events("research")[0][0] == "ParentAbsent"
    q.group("research", parent="root")
    wait_for(lambda: "frozen" in q.running(), "the fix un-freezes it", LONG)
    wait_for(lambda: q.condition("vision", "Active")["status"] == "True", "the status says so", LONG)


def test_workload_in_a_namespace_that_its_group_does_not_admit_waits(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="2")], namespaceSelector={"matchLabels": {"team": "vision"}})
    q.known("vision")
    q.job("stranger", "vision", "1")
    wait_for(lambda: q.events("stranger"), "it is told why it waits", LONG)
    message = "group vision does not admit namespace default; it waits"
    assert q.events("stranger") == [("NotAsWritten", message)]
    q.merge("/api/v1/namespaces/default", {"metadata": {"labels": {"team": "vision"}}})
    wait_for(lambda: q.running() == {"stranger"}, "the namespace's label lets it in", LONG)
    q.merge("/api/v1/namespaces/default", {"metadata": {"labels": {"team": None}}})


def test_group_of_a_namespace_admits_its_jobs(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="1", max="1")])
    q.merge("/api/v1/namespaces/default", {"metadata": {"labels": {GROUP_LABEL: "vision"}}})
    try:
        for name in ("first", "second"):
            q.create(JOBS, job_manifest(name, None, "1"))
        wait_for(lambda: len(q.running()) == 1, "one starts", LONG)
        (started,) = q.running()
        assert q.get_job(started)["metadata"]["labels"][GROUP_LABEL] == "vision"
    finally:
        q.merge("/api/v1/namespaces/default", {"metadata": {"labels": {GROUP_LABEL: None}}})


def test_moved_group_counts_in_its_new_parent(q: Quotree) -> None:
    q.lead()
    for parent in ("east", "west"):
        q.group(parent, isParent=True, quotas=[quota(min="2", max="2")])
    q.group("vision", parent="east", quotas=[quota(min="1", max="2")])
    q.job("one", "vision", "1")
    wait_for(lambda: used(q, "east") == "1", "it counts in the east", LONG)
    q.group("vision", parent="west")
    wait_for(lambda: (used(q, "east"), used(q, "west")) == ("0", "1"), "it counts in the west", LONG)
    assert q.running() == {"one"}


def test_job_without_a_valid_group_is_reported(q: Quotree) -> None:
    q.lead()
    q.group("research", isParent=True, quotas=[quota(min="2")])
    q.known("research")
    q.job("inner", "research", "1")
    wait_for(lambda: q.events("inner"), "it is told", LONG)
    assert q.events("inner")[0][0] == "NoLeaf"
    assert q.running() == set()


def test_a_deleted_group_stops_nothing_and_starts_nothing(q: Quotree) -> None:
    known = 'quotree_group_min{flavor="default",group="vision"'
    q.lead()
    q.group("vision", quotas=[quota(min="2")])
    q.job("runs", "vision", "1")
    wait_for(lambda: q.running() == {"runs"}, "it runs", LONG)
    wait_for(lambda: any(line.startswith(known) for line in q.metrics()), "its metrics are there", LONG)
    q.delete(f"/apis/{API_VERSION}/quotagroups/vision")
    wait_for(lambda: not any(line.startswith(known) for line in q.metrics()), "the group is gone", LONG)
    q.job("waits", "vision", "1")
    wait_for(lambda: q.events("waits"), "it is told", LONG)
    assert q.running() == {"runs"}


def test_workload_without_a_group_uses_default_where_enabled(q: Quotree) -> None:
    q.lead(defaultGroup=True)
    q.group("default", quotas=[quota(min="1", max="1")])
    q.merge("/api/v1/namespaces/default", {"metadata": {"labels": {MANAGED_LABEL: "true"}}})
    try:
        q.create(JOBS, job_manifest("nameless", None, "1"))
        wait_for(lambda: q.running() == {"nameless"}, "it starts", LONG)
        assert q.get_job("nameless")["metadata"]["labels"][GROUP_LABEL] == "default"
        wait_for(lambda: used(q, "default") == "1", "it counts there", LONG)
    finally:
        q.merge("/api/v1/namespaces/default", {"metadata": {"labels": {MANAGED_LABEL: None}}})


def test_capacity_used_by_unmanaged_pods_is_not_admitted(q: Quotree) -> None:
    labels = {"model": "shared"}
    q.control_plane.add_nodes([cluster.NodeSpec("shared-0", labels=labels, allocatable={"cpu": "4", "pods": "9"})])
    q.lead()
    q.flavor("shared", nodeLabels=labels)
    q.group("vision", quotas=[quota("shared", min="2", max="4")])
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "3"}}}
    stranger = {"metadata": {"name": "stranger"}, "spec": {"containers": [container], "nodeSelector": labels}}
    q.create("/api/v1/namespaces/default/pods", stranger)

    def runtime() -> list[str]:
        return [
            each["runtime"].get("cpu")
            for each in q.group_status("root").get("quotas", [])
            if each["flavor"] == "shared"
        ]

    wait_for(lambda: runtime() == ["1"], "what it occupies is taken off", LONG)
    for name in ("one", "two"):
        q.job(name, "vision", "1", pod={"nodeSelector": labels})
    wait_for(lambda: any(reason == "WaitingForQuota" for reason, _ in q.events("two")), "the second is told", LONG)
    assert q.running() == {"one"}
    q.delete("/api/v1/namespaces/default/pods/stranger")
    wait_for(lambda: q.running() == {"one", "two"}, "its room is given out", LONG)
