"""What owners with the role `edit` do to escape eviction: full annotations, orphaned pods, endless edits."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from shared.api.names import ADMISSION, EVICTION, GROUP_LABEL, PREEMPTIBLE_LABEL
from tests.faults.kinds import Delay, Refuse, Rule
from tests.faults.proxy import FaultProxy
from tests.reconciler.live.pods.test_pods import pod
from tests.reconciler.reconciler_process import Quotree, admission_of, job_manifest, quota, wait_for
from tests.reconciler.tenants import JOBS, PODS, Tenant

pytestmark = pytest.mark.timeout(900)
LONG = 240.0


@pytest.fixture
def tenant(q: Quotree) -> Tenant:
    return Tenant.of(q)


def attempts(q: Quotree, text: str) -> int:
    return q.log.read_text().count(text)


def test_job_with_full_annotations_is_evicted_and_the_lender_runs(q: Quotree, tenant: Tenant) -> None:
    q.lead()
    q.group("root", quotas=[quota(max="2")])
    q.group("vision", quotas=[quota(min="0")])
    q.group("nlp", quotas=[quota(min="2")])
    tenant.create(JOBS, job_manifest("hog", "vision", "2"))
    wait_for(lambda: q.pods_of("hog"), "it borrows", LONG)
    tenant.fill_annotations(f"{JOBS}/hog")
    tenant.create(JOBS, job_manifest("lender", "nlp", "2"))
    wait_for(lambda: q.running() == {"lender"}, "the lender has its own", LONG)
    wait_for(lambda: not q.pods_of("hog"), "the hog has no pods", LONG)
    wait_for(lambda: [reason for reason, _ in q.events("hog") if reason == "Reclaimed"], "its owner is told", LONG)
    assert attempts(q, "Write not carried out") <= 3


def test_start_without_space_for_the_annotation_is_reported(q: Quotree, tenant: Tenant) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="2")], stopPolicy="Hold")
    tenant.create(JOBS, job_manifest("full", "vision", "1"))
    tenant.fill_annotations(f"{JOBS}/full")
    q.group("vision", stopPolicy="None")
    found = wait_for(lambda: [text for why, text in q.events("full") if why == "StartRefused"], "an event", LONG)
    assert "no space left for the admission annotation" in found[0]
    tenant.merge(f"{JOBS}/full", {"metadata": {"annotations": {"fill": None}}})
    wait_for(lambda: q.running() == {"full"}, "it starts once there is space", LONG)


def test_pod_with_full_annotations_is_evicted(q: Quotree, tenant: Tenant) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="0", max="2")])
    tenant.create(PODS, pod("hog", "vision", "2"))
    wait_for(lambda: q.get(f"{PODS}/hog")["spec"].get("nodeName"), "it runs", LONG)
    tenant.fill_annotations(f"{PODS}/hog")
    q.group("vision", quotas=[quota(min="0", max="1")])
    wait_for(lambda: q.control_plane.rest.request("GET", f"{PODS}/hog")[0] == 404, "it is gone", LONG)
    assert attempts(q, "Write not carried out") <= 3


def test_adopted_pod_with_full_annotations_is_counted_and_evicted(q: Quotree, tenant: Tenant) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="0", max="1")])
    running = pod("stray", "vision", "2")
    del running["spec"]["schedulingGates"]
    running["metadata"]["annotations"] = {"fill": "x" * (256 * 1024 - len("fill"))}
    tenant.create(PODS, running)
    wait_for(
        lambda: q.control_plane.rest.request("GET", f"{PODS}/stray")[0] == 404, "it is evicted over the ceiling", LONG
    )


def test_failed_notice_does_not_delay_the_eviction(q: Quotree, tenant: Tenant) -> None:
    q.lead(reclaim={"notice": "2s"})
    q.group("root", quotas=[quota(max="2")])
    q.group("vision", quotas=[quota(min="0")])
    q.group("nlp", quotas=[quota(min="2")])
    tenant.create(JOBS, job_manifest("hog", "vision", "2"))
    wait_for(lambda: q.running() == {"hog"}, "it borrows", LONG)
    tenant.fill_annotations(f"{JOBS}/hog")
    tenant.create(JOBS, job_manifest("lender", "nlp", "2"))
    wait_for(lambda: q.running() == {"lender"}, "the lender has its own", LONG)


def test_job_that_is_edited_constantly_is_evicted(q: Quotree, tenant: Tenant) -> None:
    q.lead()
    q.group("root", quotas=[quota(max="2")])
    q.group("vision", quotas=[quota(min="0")])
    q.group("nlp", quotas=[quota(min="2")])
    tenant.create(JOBS, job_manifest("hog", "vision", "2"))
    wait_for(lambda: q.running() == {"hog"}, "it borrows", LONG)
    stop = threading.Event()
    churning = Tenant.of(q)

    def churn() -> None:
        limit = 1000
        while not stop.is_set():
            limit += 1
            churning.rest.request(
                "PATCH", f"{JOBS}/hog", {"spec": {"backoffLimit": limit}}, "application/merge-patch+json"
            )

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        tenant.create(JOBS, job_manifest("lender", "nlp", "2"))
        wait_for(lambda: q.running() == {"lender"}, "the lender has its own", LONG)
    finally:
        stop.set()
        thread.join()


def test_pods_of_a_deleted_job_with_a_finalizer_are_evicted(q: Quotree, tenant: Tenant) -> None:
    q.lead()
    q.group("root", quotas=[quota(max="2")])
    q.group("vision", quotas=[quota(min="0")])
    q.group("nlp", quotas=[quota(min="2")])
    manifest = job_manifest("hog", "vision", "1", pods=2)
    manifest["metadata"]["finalizers"] = ["example.com/mine"]
    tenant.create(JOBS, manifest)
    wait_for(lambda: len(q.pods_on_nodes("hog")) == 2, "it borrows", LONG)
    tenant.delete(f"{JOBS}/hog")
    try:
        tenant.create(JOBS, job_manifest("lender", "nlp", "2"))
        wait_for(lambda: "lender" in q.running(), "the lender has its own", LONG)
        assert q.pods_of("hog") == {}
    finally:
        tenant.merge(f"{JOBS}/hog", {"metadata": {"finalizers": None}})


@pytest.mark.parametrize("kind", ["Job", "Pod"])
def test_workload_relabelled_while_it_is_started_is_not_started_as_it_was(
    q: Quotree, tmp_path: Path, kind: str
) -> None:
    """Labels are no part of the generation: a start that is on its way must not let a borrower become irrevocable."""
    with FaultProxy(q.control_plane.url, q.control_plane.ca_file).running() as proxy:
        q.kubeconfig = proxy.side("only").kubeconfig(q.control_plane.kubeconfig, tmp_path / "through.yaml")
        tenant = Tenant.of(q)
        q.lead()
        q.group("vision", quotas=[quota(min="0", max="2")])
        path, body = (JOBS, job_manifest("hog", "vision", "2")) if kind == "Job" else (PODS, pod("hog", "vision", "2"))
        slow = Rule(Delay(6.0, 6.0), lambda asked: asked.method == "PATCH" and asked.path.endswith("/hog"))
        proxy.rules.append(slow)
        tenant.create(path, body)
        wait_for(lambda: slow.committed, "its start is on its way", LONG)
        tenant.merge(f"{path}/hog", {"metadata": {"labels": {PREEMPTIBLE_LABEL: "false"}}})
        wait_for(lambda: q.metric("quotree_writes_total") > 0, "its start is answered", LONG)
        assert ADMISSION not in q.get(f"{path}/hog")["metadata"].get("annotations", {})
        proxy.rules.clear()
        tenant.merge(f"{path}/hog", {"metadata": {"labels": {PREEMPTIBLE_LABEL: None}}})
        wait_for(lambda: ADMISSION in q.get(f"{path}/hog")["metadata"].get("annotations", {}), "it borrows", LONG)


@pytest.mark.parametrize("budgets", [("all",), ("all", "again")], ids=["one", "two"])
def test_disruption_budgets_delay_an_eviction_and_do_not_prevent_it(
    q: Quotree, tenant: Tenant, budgets: tuple[str, ...]
) -> None:
    """For a pod of two, the API server answers 500 each time."""
    q.lead(reclaim={"evictionTimeout": "15s"})
    q.group("root", quotas=[quota(max="2")])
    q.group("vision", quotas=[quota(min="0")])
    q.group("nlp", quotas=[quota(min="2")])
    spec = {"minAvailable": "100%", "selector": {"matchLabels": {"app": "hog"}}}
    for name in budgets:
        body = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": spec}
        tenant.create("/apis/policy/v1/namespaces/default/poddisruptionbudgets", body)
    tenant.create(PODS, pod("hog", "vision", "2", labels={"app": "hog"}))
    wait_for(lambda: q.get(f"{PODS}/hog")["status"].get("phase") == "Running", "it borrows", LONG)
    tenant.create(JOBS, job_manifest("lender", "nlp", "2"))
    wait_for(lambda: "lender" in q.running(), "the lender has its own", LONG)
    for name in ("hog", "lender"):
        wait_for(lambda name=name: "EvictionTimedOut" in dict(q.events(name)), "both are told", LONG)  # type: ignore[misc]
    if len(budgets) > 1:
        why = wait_for(lambda: dict(q.events("hog")).get("EvictionRefused", ""), "its owner is told why", LONG)
        assert "more than one PodDisruptionBudget" in why


def test_eviction_at_which_the_api_server_fails_is_written_without_annotations_and_logged(
    q: Quotree, tmp_path: Path
) -> None:
    with FaultProxy(q.control_plane.url, q.control_plane.ca_file).running() as proxy:
        q.kubeconfig = proxy.side("only").kubeconfig(q.control_plane.kubeconfig, tmp_path / "through.yaml")
        q.lead()
        q.group("vision", quotas=[quota(min="2")])
        q.create(JOBS, job_manifest("runs", "vision", "2"))
        wait_for(lambda: q.pods_of("runs"), "it runs", LONG)
        proxy.rules.append(Rule(Refuse(500), lambda asked: b"quotree.dev~1eviction" in asked.body))
        q.group("vision", stopPolicy="HoldAndDrain")
        wait_for(lambda: not q.running(), "it is stopped", LONG)
        wait_for(lambda: attempts(q, "Written without annotations"), "the log says so", LONG)
        proxy.rules.clear()


def test_pods_that_end_slowly_keep_their_quota_until_they_have_ended(q: Quotree, tenant: Tenant) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="4", max="4")])
    manifest = job_manifest("slow", "vision", "2", pods=2, annotations={"demo.quotree.dev/stop-takes": "15s"})
    tenant.create(JOBS, manifest)
    wait_for(lambda: len(q.pods_on_nodes("slow")) == 2, "it fills the group", LONG)
    tenant.merge(f"{JOBS}/slow", {"spec": {"parallelism": 0}})
    wait_for(lambda: not q.pods_of("slow"), "its pods are being deleted", LONG)
    tenant.create(JOBS, job_manifest("next", "vision", "4"))
    gone = wait_for(lambda: first_of(q, "slow", "next"), "one of both happens", LONG)
    assert gone == "slow has ended"
    wait_for(lambda: "next" in q.running(), "then the next one runs", LONG)


def first_of(q: Quotree, ending: str, waiting: str) -> str:
    """What happens first: the last pod of one Job ends, or the other Job starts."""
    runs = waiting in q.running()
    pods = q.get(f"{PODS}?labelSelector=batch.kubernetes.io/job-name={ending}")["items"]
    left = [each for each in pods if each["status"]["phase"] in ("Pending", "Running")]
    if runs and left:
        return f"{waiting} runs beside {len(left)} pods"
    return "" if left else f"{ending} has ended"


def orphan(tenant: Tenant, q: Quotree, name: str) -> None:
    pods = q.pods_of(name)
    tenant.delete(f"{JOBS}/{name}", propagation="Orphan")
    for each in pods:
        wait_for(lambda each=each: not owners(q, each), "its pods are on their own", LONG)  # type: ignore[misc]


def owners(q: Quotree, name: str) -> list[Any]:
    status, found = q.control_plane.rest.request("GET", f"{PODS}/{name}")
    return list(found["metadata"].get("ownerReferences", [])) if status == 200 else []


def live_pods(q: Quotree) -> list[dict[str, Any]]:
    return [each for each in q.get(PODS)["items"] if not each["metadata"].get("deletionTimestamp")]


@pytest.mark.parametrize("kill", [False, True], ids=["same process", "restarted"])
def test_orphaned_pods_above_the_ceiling_are_evicted_without_extra_cycles(
    q: Quotree, tenant: Tenant, kill: bool
) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="0", max="18")])
    q.group("nlp", quotas=[quota(min="8", max="8")])
    manifest = job_manifest("wide", "vision", "3", pods=6)
    manifest["spec"]["template"]["metadata"]["labels"] = {GROUP_LABEL: "nlp"}
    tenant.create(JOBS, manifest)
    wait_for(lambda: len(q.pods_on_nodes("wide")) == 6, "all its pods run", LONG)
    if kill:
        q.kill()
        q.release()
    orphan(tenant, q, "wide")
    if kill:
        q.start()
    wait_for(lambda: len(live_pods(q)) == 2, "two fit below nlp's ceiling of 8", LONG)
    wait_for(lambda: all(admission_of(each) for each in live_pods(q)), "they are adopted", LONG)
    assert q.metric("quotree_cycles_idle_total") < 20
    wait_for(lambda: q.group_status("nlp").get("quotas", [{}])[0].get("used", {}).get("cpu") == "6", "6 is used", LONG)


def test_eviction_dated_at_the_end_of_time_stops_nobody(q: Quotree, tenant: Tenant) -> None:
    """Written before the policy held, with a claim for what waits: the sum with claimTimeout would overflow."""
    q.lead(reclaim={"claimTimeout": "876000h"})
    q.group("root", quotas=[quota(max="2")])
    q.group("vision", quotas=[quota(min="2")], stopPolicy="Hold")
    tenant.create(JOBS, job_manifest("waiting", "vision", "1"))
    claim = {"uid": q.get(f"{JOBS}/waiting")["metadata"]["uid"], "group": "vision", "flavors": {"cpu": "default"}}
    eviction = {"reason": "Reclaimed", "time": "9999-12-31T23:59:00Z", "flavors": {"cpu": "default"}, "for": claim}
    forged = job_manifest("forged", "vision", "1")
    forged["metadata"]["annotations"] = {EVICTION: json.dumps(eviction)}
    tenant.create(JOBS, forged)
    q.group("vision", stopPolicy="None")
    wait_for(lambda: q.running() == {"waiting", "forged"}, "both start", LONG)
    reported = wait_for(
        lambda: [text for why, text in q.events("forged") if "a day ahead" in text], "its owner is reported", LONG
    )
    assert "quotree.dev/eviction counts as absent" in reported[0]
