"""All or nothing on real Jobs: whom unready work holds back, when it is given up, and how it comes back. KEP-349."""

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from dev.controlplane import cluster
from shared.api.names import ADMISSION, REQUEUE, STARTUP
from tests.reconciler.job_history import History, recording
from tests.reconciler.reconciler_process import (
    Quotree,
    admission_of,
    eviction_of,
    job_manifest,
    note_of,
    quota,
    wait_for,
)

pytestmark = pytest.mark.timeout(900)
LONG = 240.0
PODS = "/api/v1/namespaces/default/pods"
STRATEGIC = "application/strategic-merge-patch+json"
NEVER = {"demo.quotree.dev/never-ready": "true"}


def set_ready(q: Quotree, job: str, ready: str) -> None:
    """Say as a kubelet would that the Job's pods are ready, or are not."""
    for name in q.pods_of(job):
        set_pod_ready(q, name, ready)


def set_pod_ready(q: Quotree, name: str, ready: str) -> None:
    # What simulates the kubelet writes the conditions once, with the phase: what is said before would be lost.
    wait_for(lambda: q.get(f"{PODS}/{name}")["status"]["phase"] == "Running", f"{name} runs", LONG)
    condition = {"type": "Ready", "status": ready, "lastTransitionTime": datetime.now(UTC).isoformat()}
    path = f"{PODS}/{name}/status"
    status, answer = q.control_plane.rest.request("PATCH", path, {"status": {"conditions": [condition]}}, STRATEGIC)
    assert status == 200, answer


def started_at(q: Quotree, name: str) -> datetime:
    note = admission_of(q.get_job(name))
    assert note is not None, f"{name} does not run"
    return datetime.fromisoformat(note["time"])


def has_ready_pods(q: Quotree, name: str) -> bool:
    return bool(q.get_job(name)["status"].get("ready"))


def requeues(history: History, name: str) -> list[dict[str, Any]]:
    """What each eviction of the Job wrote about its place in the queue, in order."""
    found: list[dict[str, Any]] = []
    for states in history.states.values():
        for state in states:
            text = state.metadata.annotations.get(REQUEUE)
            if state.metadata.name == name and text is not None:
                note = note_of({"metadata": {"annotations": state.metadata.annotations}}, REQUEUE) or {}
                if note not in found:
                    found.append(note)
    return found


def test_cluster_wide_blocking_admits_nothing_until_all_admitted_workloads_are_ready(q: Quotree) -> None:
    q.lead(startup={"waitForPodsReady": True, "blockAdmission": "Cluster", "timeout": "1h"})
    q.group("vision", quotas=[quota(min="4")])
    q.group("nlp", quotas=[quota(min="4")])
    q.job("slow", "vision", annotations=NEVER)
    wait_for(lambda: q.pods_on_nodes("slow"), "the slow one has its pod", LONG)
    for name in ("second", "third"):
        q.job(name, "nlp")
    waiting = {"pending": 2, "admitted": 0, "ready": 0}
    wait_for(lambda: q.workload_counts("nlp") == waiting, "the others are seen", LONG)
    before = datetime.now(UTC)
    assert q.running() == {"slow"}
    set_ready(q, "slow", "True")
    wait_for(lambda: q.running() == {"slow", "second", "third"}, "all run when the first is ready", LONG)
    assert before < started_at(q, "second") < started_at(q, "third")


def test_eviction_of_an_unready_workload_unblocks_the_cluster(q: Quotree) -> None:
    settings = {"blockAdmission": "Cluster", "timeout": "2s", "backoffBase": "1h", "backoffMax": "1h"}
    q.lead(startup={"waitForPodsReady": True, **settings})
    q.group("vision", quotas=[quota(min="4")])
    q.group("patient", quotas=[quota(min="4")], startup={"timeout": "1h"})
    q.job("stuck", "vision", annotations=NEVER)
    wait_for(lambda: q.running() == {"stuck"} or eviction_of(q.get_job("stuck")), "it is admitted", LONG)
    q.job("next", "patient")
    wait_for(lambda: q.running() == {"next"}, "it is suspended, and the next one has its turn", LONG)
    note, requeue = eviction_of(q.get_job("stuck")) or {}, note_of(q.get_job("stuck"), REQUEUE) or {}
    assert (note["reason"], note["rule"]) == ("PodsReadyTimeout", "StartupTimeout")
    assert requeue["failedStarts"] == 1
    wait_for(
        lambda: q.group_status("vision").get("workloads", {}).get("pending") == 1, "it is set aside until then", LONG
    )


def test_unready_workload_blocks_none_where_blocking_is_off(q: Quotree) -> None:
    q.lead(startup={"waitForPodsReady": True, "blockAdmission": "None", "timeout": "1h"})
    q.group("vision", quotas=[quota(min="4")])
    for name in ("slow", "slower"):
        q.job(name, "vision", annotations=NEVER)
    wait_for(lambda: q.running() == {"slow", "slower"}, "both run", LONG)
    assert not has_ready_pods(q, "slow")


def test_back_off_grows_with_each_failed_start_until_deactivation(q: Quotree) -> None:
    settings = {"timeout": "1s", "backoffBase": "1s", "backoffMax": "90s", "limit": 3}
    q.lead(startup={"waitForPodsReady": True})
    q.group("vision", quotas=[quota(min="4")], startup=settings)
    q.group("patient", quotas=[quota(min="4")])
    q.job("good", "patient", annotations=NEVER)
    with recording(q.control_plane) as history:
        q.job("bad", "vision", annotations=NEVER)
        wait_for(lambda: (note_of(q.get_job("bad"), REQUEUE) or {}).get("deactivated"), "it is given up", LONG)
        wait_for(lambda: len(requeues(history, "bad")) == 3, "the record has caught up", LONG)
    waits = []
    for note in requeues(history, "bad"):
        until = note.get("notBefore")
        waited = datetime.fromisoformat(until) - datetime.fromisoformat(note["queued"]) if until else None
        waits.append((note["failedStarts"], waited, note.get("deactivated", False)))
    assert waits == [(1, timedelta(seconds=1), False), (2, timedelta(seconds=2), False), (3, None, True)]
    assert q.running() == {"good"}
    event = ("Deactivated", "Job 'default/bad' waits: 3 starts failed; it stays stopped until it is resumed")
    wait_for(lambda: event in q.events("bad"), "its owner is told", LONG)


def test_workload_that_loses_readiness_is_requeued_after_its_timeout(q: Quotree) -> None:
    q.lead(startup={"waitForPodsReady": True, "timeout": "1h", "backoffBase": "1s"})
    for name, recovery in (("back", "1h"), ("gone", "1s")):
        q.group(f"with-{name}", quotas=[quota(min="1")], startup={"recoveryTimeout": recovery})
        q.job(name, f"with-{name}")
    wait_for(lambda: has_ready_pods(q, "back") and has_ready_pods(q, "gone"), "both are ready", LONG)
    since = {name: started_at(q, name) for name in ("back", "gone")}
    for name in ("back", "gone"):
        set_ready(q, name, "False")
    wait_for(lambda: "unreadySince" in (admission_of(q.get_job("back")) or {}), "it is noted", LONG)
    set_ready(q, "back", "True")
    wait_for(lambda: has_ready_pods(q, "back"), "it has recovered", LONG)
    wait_for(lambda: eviction_of(q.get_job("gone")), "the other one is stopped", LONG)
    note = eviction_of(q.get_job("gone")) or {}
    assert (note["reason"], note["rule"]) == ("PodsReadyTimeout", "RecoveryTimeout")
    assert datetime.fromisoformat(note["since"]) == since["gone"]
    assert (note_of(q.get_job("gone"), REQUEUE) or {})["failedStarts"] == 1
    wait_for(lambda: q.running() == {"back", "gone"} and has_ready_pods(q, "gone"), "it comes back", LONG)
    assert started_at(q, "back") == since["back"]
    assert started_at(q, "gone") > since["gone"]


def test_job_on_a_lost_node_restarts_elsewhere(q: Quotree) -> None:
    labels = {"model": "pair"}
    q.control_plane.add_nodes(
        [cluster.NodeSpec(f"pair-{n}", labels=labels, allocatable={"cpu": "2", "pods": "9"}) for n in (0, 1)]
    )
    q.lead(startup={"waitForPodsReady": True, "recoveryTimeout": "1s", "backoffBase": "1s"})
    q.flavor("pair", nodeLabels=labels)
    q.group("vision", quotas=[quota("pair", min="1")])
    q.job("train", "vision", pod={"nodeSelector": labels})
    wait_for(lambda: has_ready_pods(q, "train"), "it is ready", LONG)
    (lost,) = q.pods_on_nodes("train").values()
    # What the node controller does when it hears no more of a node; it does not run here.
    q.merge(f"/api/v1/nodes/{lost}", {"spec": {"unschedulable": True}})
    set_ready(q, "train", "False")
    other = {"pair-0": "pair-1", "pair-1": "pair-0"}[lost]
    wait_for(lambda: set(q.pods_on_nodes("train").values()) == {other}, "it runs on the other node", LONG)
    assert (eviction_of(q.get_job("train")) or {})["rule"] == "RecoveryTimeout"
    assert ADMISSION in q.get_job("train")["metadata"]["annotations"]


def has_two_pods(q: Quotree, name: str) -> bool:
    return len(q.pods_of(name)) == 2


def test_workload_declares_its_own_startup(q: Quotree) -> None:
    q.lead(startup={"waitForPodsReady": True, "timeout": "1h", "blockAdmission": "None"})
    q.group("vision", quotas=[quota(min="9")])
    for name, startup in (("hasty", '{"timeout": "1s"}'), ("most", '{"minReady": 1}'), ("whole", None)):
        body = job_manifest(name, "vision", pods=2, annotations=NEVER)
        body["metadata"]["annotations"] = {} if startup is None else {STARTUP: startup}
        q.create("/apis/batch/v1/namespaces/default/jobs", body)
    wait_for(lambda: eviction_of(q.get_job("hasty")), "the hasty one is given up", LONG)
    assert (eviction_of(q.get_job("hasty")) or {})["rule"] == "StartupTimeout"
    for name in ("most", "whole"):
        wait_for(partial(has_two_pods, q, name), "it has its pods", LONG)
        set_pod_ready(q, min(q.pods_of(name)), "True")
    wait_for(lambda: q.group_status("vision").get("workloads", {}).get("ready") == 1, "one pod is enough for one", LONG)
    assert {"most", "whole"} <= q.running()


def test_readiness_timeout_restarts_after_a_gap_of_watching(q: Quotree) -> None:
    """It may have been ready for years, and have lost a pod a moment ago."""
    note = '{"flavors":{"cpu":"default"},"time":"2020-01-01T00:00:00Z"}'
    old = job_manifest("old", "vision", suspend=False, annotations=NEVER)
    old["metadata"]["annotations"] = {ADMISSION: note}
    q.create("/apis/batch/v1/namespaces/default/jobs", old)
    q.group("vision", quotas=[quota(min="4")])
    q.lead(startup={"waitForPodsReady": True, "timeout": "1h", "blockAdmission": "Group"})
    counts = {"pending": 0, "admitted": 1, "ready": 0}
    wait_for(lambda: q.workload_counts("vision") == counts, "it is seen, and not ready", LONG)
    assert q.running() == {"old"}
    assert eviction_of(q.get_job("old")) is None
