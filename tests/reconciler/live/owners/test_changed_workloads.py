"""What changes while work runs or waits: Jobs grown, relabelled and deleted at each step, namespaces, trees."""

import pytest

from dev.controlplane import cluster
from shared.api.names import GROUP_LABEL, HOLD_LABEL
from tests.reconciler.job_history import recording
from tests.reconciler.reconciler_process import (
    JSON,
    Quotree,
    admission_of,
    eviction_of,
    finished,
    job_manifest,
    quota,
    wait_for,
)

pytestmark = pytest.mark.timeout(900)
LONG = 240.0
JOBS = "/apis/batch/v1/namespaces/default/jobs"
SLOW = {"demo.quotree.dev/stop-takes": "1s"}


def used(q: Quotree, group: str) -> str | None:
    entries = q.group_status(group).get("quotas", [])
    return next((each.get("used", {}).get("cpu") for each in entries if each["flavor"] == "default"), None)


NOTHING = {"pending": 0, "admitted": 0, "ready": 0}


def test_running_job_that_grows_without_the_webhook_counts_with_its_new_size(q: Quotree) -> None:
    """The webhook refuses the edit; an edit that bypasses it is counted, and the ordinary rules apply."""
    q.lead()
    q.group("vision", quotas=[quota(min="2", max="3")])
    manifest = job_manifest("grows", "vision", pods=9)
    manifest["spec"]["parallelism"] = 2
    q.create(JOBS, manifest)
    wait_for(lambda: used(q, "vision") == "2", "it runs", LONG)
    q.merge(f"{JOBS}/grows", {"spec": {"parallelism": 3}})
    wait_for(lambda: used(q, "vision") == "3", "its new size counts", LONG)
    assert q.running() == {"grows"}
    q.merge(f"{JOBS}/grows", {"spec": {"parallelism": 4}})
    wait_for(lambda: eviction_of(q.get_job("grows")), "beyond the ceiling it is stopped", LONG)
    assert (eviction_of(q.get_job("grows")) or {})["reason"] == "OverCeiling"


def test_job_that_shrinks_frees_the_quota_of_its_ended_pods(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="3", max="3")])
    q.job("elastic", "vision", pods=3)
    q.job("waits", "vision", "2")
    wait_for(lambda: len(q.pods_on_nodes("elastic")) == 3, "it runs with three pods", LONG)
    q.merge(f"{JOBS}/elastic", {"spec": {"parallelism": 1}})
    wait_for(lambda: q.running() == {"elastic", "waits"}, "the other one takes the rest", LONG)
    wait_for(lambda: used(q, "vision") == "3", "both count", LONG)


def test_relabelled_workload_moves_to_its_new_group(q: Quotree) -> None:
    q.lead()
    for name in ("vision", "nlp"):
        q.group(name, quotas=[quota(min="1", max="1")])
    q.job("runs", "vision")
    q.job("waits", "vision")
    wait_for(lambda: q.workload_counts("vision") == {"pending": 1, "admitted": 1, "ready": 1}, "one waits", LONG)
    waits = min(set(q.jobs()) - q.running())
    q.merge(f"{JOBS}/{waits}", {"metadata": {"labels": {GROUP_LABEL: "nlp"}}})
    wait_for(lambda: len(q.running()) == 2, "it starts in its new group", LONG)
    wait_for(lambda: q.workload_counts("vision").get("pending") == 0, "vision has only what runs there", LONG)
    wait_for(lambda: used(q, "nlp") == "1", "it counts there", LONG)
    # The webhook refuses this while it runs; an edit that bypasses it moves it, and the ordinary rules apply.
    runs = next(iter(q.running() - {waits}))
    q.merge(f"{JOBS}/{runs}", {"metadata": {"labels": {GROUP_LABEL: "nlp"}}})
    wait_for(lambda: len(q.running()) == 1, "nlp has room for one of them", LONG)
    wait_for(lambda: (used(q, "vision"), used(q, "nlp")) == ("0", "1"), "both numbers say so", LONG)
    (stopped,) = (job for job in q.jobs().values() if eviction_of(job) is not None)
    assert (eviction_of(stopped) or {})["reason"] == "OverCeiling"


def test_jobs_deleted_at_any_step_leave_no_use_and_no_claim(q: Quotree) -> None:
    q.lead()
    q.group("root", quotas=[quota(max="6")])
    q.group("vision", quotas=[quota(min="2")])
    q.group("nlp", quotas=[quota(min="2")])
    with recording(q.control_plane) as history:
        for number in range(12):
            q.job(f"at-once-{number}", "vision")
            q.delete(f"{JOBS}/at-once-{number}")
        q.job("unscheduled", "vision", pod={"nodeSelector": {"there": "is-none"}})
        for number in range(5):
            q.job(f"runs-{number}", "vision", annotations=SLOW)
        wait_for(lambda: len(q.running()) == 6, "the cluster is full", LONG)
        wait_for(lambda: used(q, "vision") == "6", "all of it is counted", LONG)
        q.job("pending", "vision")
        wait_for(lambda: q.workload_counts("vision").get("pending") == 1, "one waits", LONG)
        q.delete(f"{JOBS}/pending")
        q.delete(f"{JOBS}/unscheduled")
        wait_for(lambda: used(q, "vision") == "5", "one cpu is free", LONG)
        q.job("preemptor", "nlp", "2")
        wait_for(lambda: any(eviction_of(job) for job in q.jobs().values()), "one is evicted for it", LONG)
        (victim,) = (name for name, job in q.jobs().items() if eviction_of(job))
        q.delete(f"{JOBS}/{victim}")
        q.delete(f"{JOBS}/preemptor")
        q.job("next", "nlp", "2")
        wait_for(lambda: "next" in q.running(), "the next one has its turn", LONG)
        for name in q.jobs():
            q.delete(f"{JOBS}/{name}")
        wait_for(lambda: q.workload_counts("root") == NOTHING, "nothing is left", LONG)
        wait_for(lambda: used(q, "root") == "0", "and no pod", LONG)
        assert history.most_used() <= 6000
        assert list(history.wrongs()) == []


def test_deleted_namespace_frees_the_quota_of_its_workloads(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="2", max="2")])
    q.create("/api/v1/namespaces", {"metadata": {"name": "doomed"}})
    for number in range(3):
        q.job(f"theirs-{number}", "vision", namespace="doomed", pod={"terminationGracePeriodSeconds": 0})
    wait_for(lambda: len(q.running("doomed")) == 2, "two run", LONG)
    wait_for(lambda: sum(len(q.pods_on_nodes(name, "doomed")) for name in q.running("doomed")) == 2, "on nodes", LONG)
    q.job("mine", "vision")
    q.delete("/api/v1/namespaces/doomed")
    wait_for(lambda: q.running() == {"mine"}, "the quota of its pods goes to another", LONG)
    wait_for(
        lambda: q.workload_counts("vision") == {"pending": 0, "admitted": 1, "ready": 1}, "nothing of it is left", LONG
    )


def test_moved_group_keeps_its_workloads_and_follows_the_limits_of_its_new_parent(q: Quotree) -> None:
    q.lead()
    q.group("east", isParent=True, quotas=[quota(min="4", max="4")])
    q.group("west", isParent=True, quotas=[quota(min="3", max="3")])
    q.group("vision", parent="east", quotas=[quota(min="1", max="4")])
    q.group("nlp", parent="west", quotas=[quota(min="2")])
    with recording(q.control_plane) as history:
        for number in range(4):
            q.job(f"moved-{number}", "vision")
        q.job("waits", "vision")
        q.job("settled", "nlp", "2")
        wait_for(lambda: len(q.running()) == 5, "both parents are busy", LONG)
        q.group("vision", parent="west")
        wait_for(lambda: len(q.running()) == 2, "what the new parent has no room for is stopped", LONG)
        assert "settled" in q.running()
        reasons = {(eviction_of(job) or {}).get("reason") for job in q.jobs().values()} - {None}
        assert reasons == {"OverCeiling"}
        wait_for(lambda: (used(q, "east"), used(q, "west")) == ("0", "3"), "it counts there", LONG)
        q.group("vision", parent="east")
        wait_for(lambda: len(q.running()) == 5, "the move back starts it again", LONG)
        assert list(history.wrongs()) == []


def test_held_pending_job_is_passed_by_others(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="1", max="1")], queueing={"strategy": "StrictFIFO"})
    q.job("first", "vision", run_for="500ms")
    q.job("second", "vision", labels={HOLD_LABEL: "true"})
    q.job("third", "vision", run_for="500ms")
    wait_for(lambda: finished(q.get_job("third")), "the third has passed the second", LONG)
    assert admission_of(q.get_job("second")) is None


@pytest.mark.parametrize("policy", ["Foreground", "Orphan"])
def test_orphaned_pods_of_a_deleted_job_count_until_they_end(q: Quotree, policy: str) -> None:
    labels = {"model": "small"}
    q.control_plane.add_nodes([cluster.NodeSpec("small-0", labels=labels, allocatable={"cpu": "3", "pods": "9"})])
    q.lead()
    q.flavor("small", nodeLabels=labels)
    q.group("vision", quotas=[quota("small", min="3")])
    for name in ("gone", "next"):
        q.job(name, "vision", "2", pod={"nodeSelector": labels}, annotations=SLOW)
        wait_for(lambda: q.pods_on_nodes("gone"), "the first has its pod", LONG)
    (pod,) = q.pods_on_nodes("gone")
    body = {"propagationPolicy": policy}
    assert q.control_plane.rest.request("DELETE", f"{JOBS}/gone", body=body, content_type=JSON)[0] == 200
    if policy == "Orphan":
        q.job("small", "vision", "1", pod={"nodeSelector": labels})
        wait_for(lambda: q.running() == {"small"}, "what the pod left behind does not occupy is given out", LONG)
        q.delete(f"{JOBS}/small")
        q.delete(f"/api/v1/namespaces/default/pods/{pod}")
    wait_for(lambda: q.running() == {"next"}, "the next one has the room when the pod has ended", LONG)
    found = q.get("/api/v1/namespaces/default/pods")["items"]
    assert pod not in {each["metadata"]["name"] for each in found if each["status"]["phase"] == "Running"}
