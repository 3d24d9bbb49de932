"""Which PodGroup a started Job needs, as the watches report the Job. docs/specification.md §8.6."""

from typing import Any

import msgspec
import pytest

from reconciler.write.annotations import write_pod_group_refusal
from reconciler.write.patches import Guard, evict_job
from shared.api.core.job import Job, read_job
from shared.api.names import ADMISSION, STARTUP, WAITING
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.observed.gangs import SeenPodGroup, WantedPodGroup, project_pod_group
from shared.kube.watch.cache import Changed
from tests.builders import NOW
from tests.reconciler.reconciler_process import job_manifest
from tests.shared.cluster.state.objects import ADMITTED

WANTED = WantedPodGroup("ns", "quotree-a-1", "a", "u1", "high", 3, NOW)


def gang(*, suspend: bool = False, name: str = "quotree-a-1", own: str = "", **status: Any) -> Job:
    manifest = job_manifest("a", "vision", "2", suspend=suspend)
    annotations = {ADMISSION: ADMITTED, **({STARTUP: own} if own else {})}
    manifest["metadata"] |= {"uid": "u1", "namespace": "ns", "generation": 1, "annotations": annotations}
    manifest["spec"] |= {"parallelism": 3, "completions": 4}
    manifest["spec"]["template"]["spec"] |= {"schedulingGroup": {"podGroupName": name}, "priorityClassName": "high"}
    return read_job({**manifest, "status": {"startTime": NOW.isoformat(), **status}})


def deleting(job: Job) -> Job:
    return msgspec.structs.replace(job, metadata=msgspec.structs.replace(job.metadata, deletion_timestamp=NOW))


CASES: dict[str, tuple[Job, int]] = {
    "it has started": (gang(active=3), 3),
    "as many as its owner declares": (gang(active=3, own='{"minReady": 2}'), 2),
    "the last of its pods": (gang(active=1, succeeded=3), 1),
    "all were ready": (gang(active=3, ready=3), 1),
    "it is suspended": (gang(suspend=True), 0),
    "it is being deleted": (deleting(gang(active=3)), 0),
    "the name is its owner's": (gang(active=3, name="own"), 0),
}


@pytest.mark.parametrize(("job", "pods"), CASES.values(), ids=CASES)
def test_pod_group_that_a_job_needs(state: ClusterState, job: Job, pods: int) -> None:
    state.observe_jobs([Changed(None, job)])
    wanted = [msgspec.structs.replace(WANTED, pods=pods)] if pods else []
    assert [*state.work.follow_ups.pod_groups.values()] == wanted


def test_refusal_on_the_job_is_that_of_its_workload_and_goes_with_the_eviction(state: ClusterState) -> None:
    job, text = gang(active=0), write_pod_group_refusal("exceeded quota", NOW)
    metadata = msgspec.structs.replace(job.metadata, annotations={**job.metadata.annotations, WAITING: text})
    state.observe_jobs([Changed(None, msgspec.structs.replace(job, metadata=metadata))])
    (wanted,) = state.work.follow_ups.pod_groups.values()
    assert wanted.refusal == "exceeded quota"
    workload = state.work.index.workload(next(iter(state.work.follow_ups.pod_groups)))
    assert workload is not None
    assert workload.admission is not None
    assert workload.admission.pod_group_refusal == "exceeded quota"
    evicted = evict_job(metadata, "vision", {}, Guard.SPEC)
    assert {"op": "remove", "path": "/metadata/annotations/quotree.dev~1waiting"} in evicted


def test_deleted_job_needs_none_though_its_pods_run(state: ClusterState) -> None:
    job = gang(active=3)
    state.observe_jobs([Changed(None, job)])
    state.observe_jobs([Changed(job, None)])
    assert state.work.follow_ups.pod_groups == {}


def test_pod_group_is_read() -> None:
    body = {
        "metadata": {
            "namespace": "ns",
            "name": "quotree-a-1",
            "uid": "p1",
            "labels": {"quotree.dev/unit": "u1"},
            "annotations": {"quotree.dev/admission": "2026-01-01T00:00:00Z"},
        },
        "spec": {"schedulingPolicy": {"gang": {"minCount": 3}}},
    }
    expected = SeenPodGroup("ns", "quotree-a-1", "p1", "u1", 3, "2026-01-01T00:00:00Z", is_deleting=False)
    assert project_pod_group(msgspec.json.encode(body)) == expected
