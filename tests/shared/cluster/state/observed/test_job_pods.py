"""What a Job uses is what its own pods request, terminating ones included; they count for starts, and evict nothing."""

from typing import Any

import msgspec

from shared.api.core.job import Job, read_job
from shared.api.names import ADMISSION
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.observed.projections import FinishedOwner, PodRecord, project_pod
from shared.kube.watch.cache import Changed
from tests.reconciler.reconciler_process import job_manifest

ADMITTED = '{"flavors":{"cpu":"default"},"time":"2026-01-01T00:00:00Z"}'
CREATED = "2026-01-01T00:00:00Z"


def job(uid: str = "u1", pods: int = 2, *, status: dict[str, Any] | None = None, **more: Any) -> Job:
    """A running Job named `a` of pods of 1 cpu."""
    manifest = job_manifest("a", "vision", "1", pods=pods, suspend=more.pop("suspend", False))
    manifest["metadata"] |= {"uid": uid, "namespace": "ns", "generation": 1, "creationTimestamp": CREATED}
    manifest["metadata"] |= {"annotations": {ADMISSION: ADMITTED}, **more.pop("metadata", {})}
    manifest["spec"] |= more
    return read_job({**manifest, "status": status or {"startTime": CREATED}})


def pod(name: str, cpu: str = "1", *, of: str = "u1", deleted: bool = False) -> PodRecord:
    owner = {"kind": "Job", "apiVersion": "batch/v1", "uid": of, "name": "a", "controller": True}
    metadata: dict[str, Any] = {"uid": name, "name": name, "namespace": "ns", "ownerReferences": [owner]}
    if deleted:
        metadata["deletionTimestamp"] = CREATED
    spec = {"containers": [{"resources": {"requests": {"cpu": cpu, "ephemeral-storage": "1Gi"}}}]}
    record = project_pod(msgspec.json.encode({"metadata": metadata, "spec": spec}))
    assert record is not None
    return record


def uses(state: ClusterState) -> list[tuple[str, bool, int]]:
    """(kind, whether it is evicting, millicores) of each workload."""
    found = state.world().workloads_of("vision").by_id.values()
    return sorted((each.kind, each.is_evicting, each.request.get("cpu", 0)) for each in found)


def show(state: ClusterState, *pods: PodRecord) -> None:
    state.observe_pods([Changed(None, each) for each in pods])


def test_pods_equal_to_their_template_do_not_change_the_workload(state: ClusterState) -> None:
    state.observe_jobs([Changed(None, job())])
    before = state.world().workloads_of("vision")
    show(state, pod("p1"), pod("p2"))
    assert state.world().workloads_of("vision") is before


def test_pod_larger_than_its_template_counts_with_its_own_request(state: ClusterState) -> None:
    state.observe_jobs([Changed(None, job())])
    show(state, pod("p1", "5"))
    assert uses(state) == [("Job", False, 6000)]
    state.observe_pods([Changed(pod("p1", "5"), None)])
    assert uses(state) == [("Job", False, 2000)]


def test_terminating_pods_count_in_addition_to_their_replacements(state: ClusterState) -> None:
    state.observe_jobs([Changed(None, job())])
    show(state, pod("p1"), pod("p2"))
    state.observe_pods([Changed(pod("p1"), pod("p1", deleted=True)), Changed(None, pod("p3"))])
    assert uses(state) == [("Job", False, 2000), ("TerminatingJob/u1", True, 1000)]
    state.observe_pods([Changed(pod("p1", deleted=True), None)])
    assert uses(state) == [("Job", False, 2000)]


def test_pods_replaced_after_failure_count_once(state: ClusterState) -> None:
    state.observe_jobs([Changed(None, job(podReplacementPolicy="Failed"))])
    show(state, pod("p1"), pod("p2", deleted=True))
    assert uses(state) == [("Job", False, 1000), ("TerminatingJob/u1", True, 1000)]


def test_lower_parallelism_frees_nothing_before_pods_end(state: ClusterState) -> None:
    state.observe_jobs([Changed(None, job())])
    show(state, pod("p1"), pod("p2"))
    state.observe_jobs([Changed(job(), job(parallelism=0))])
    assert uses(state) == [("Job", False, 2000)]
    state.observe_pods([Changed(pod("p1"), pod("p1", deleted=True)), Changed(pod("p2"), None)])
    assert uses(state) == [("Job", False, 0), ("TerminatingJob/u1", True, 1000)]


def test_pods_of_successive_deleted_jobs_with_one_name_all_count(state: ClusterState) -> None:
    for uid in ("u1", "u2"):
        state.observe_jobs([Changed(None, job(uid))])
        show(state, pod(f"{uid}-p", of=uid))
        state.observe_jobs([Changed(job(uid), None)])
    assert uses(state) == [("TerminatingJob/u1", True, 1000), ("TerminatingJob/u2", True, 1000)]
    state.observe_pods([Changed(pod("u1-p", of="u1"), None)])
    assert uses(state) == [("TerminatingJob/u2", True, 1000)]


def test_pods_of_a_finished_job_count_until_they_end(state: ClusterState) -> None:
    state.observe_jobs([Changed(None, job())])
    show(state, pod("p1"), pod("p2", deleted=True))
    state.observe_jobs([Changed(job(), FinishedOwner("u1"))])
    assert uses(state) == [("TerminatingJob/u1", True, 2000)]
    state.observe_pods([Changed(pod("p1"), None), Changed(pod("p2", deleted=True), None)])
    assert uses(state) == []


def test_suspended_job_is_pending_when_its_pods_have_ended_whatever_its_status_counts(state: ClusterState) -> None:
    state.observe_jobs([Changed(None, job())])
    show(state, pod("p1"))
    state.observe_jobs([Changed(job(), job(suspend=True, status={"active": 0}))])
    assert uses(state) == [("Job", True, 1000)]
    show(state, pod("p1", deleted=True))
    assert uses(state) == [("Job", True, 1000)]
    state.observe_pods([Changed(pod("p1", deleted=True), None)])
    assert uses(state) == [("Job", False, 2000)]


def test_pods_of_a_job_under_deletion_are_evicted_individually(state: ClusterState) -> None:
    deleting = {"deletionTimestamp": CREATED, "finalizers": ["mine"]}
    state.observe_jobs([Changed(None, job(metadata=deleting))])
    show(state, pod("p1"), pod("p2", deleted=True))
    assert state.work.follow_ups.incomplete == set()
    state.observe_jobs([Changed(job(metadata=deleting), job(metadata=deleting, suspend=True))])
    assert state.work.follow_ups.incomplete == {"u1"}
    assert [each.name for each in state.work.objects.pods_to_evict("u1")] == ["p1"]
    state.observe_pods([Changed(pod("p1"), None), Changed(pod("p2", deleted=True), None)])
    assert state.work.follow_ups.incomplete == set()
    assert uses(state) == []
