"""Jobs and pods as the watches report them, and what the state makes of them."""

from typing import Any

import msgspec

from shared.api.core.job import Job, read_job
from shared.api.core.pod import read_pod
from shared.api.names import ADMISSION, GATE, GROUP_LABEL
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.observed.projections import PodRecord, project_pod
from shared.quota.model.workload import Workload
from shared.resources import FlavorResource
from tests.builders import NOW
from tests.reconciler.reconciler_process import job_manifest

ADMITTED = '{"flavors":{"cpu":"default"},"time":"2026-01-01T00:00:00Z"}'
CPU = FlavorResource("default", "cpu")
PODS = FlavorResource("counts", "pods")


def a_job(uid: str = "u1", *, name: str = "a", suspend: bool = True, **metadata: Any) -> Job:
    manifest = job_manifest(name, "vision", "2", suspend=suspend)
    manifest["metadata"] |= {"uid": uid, "namespace": "ns", "generation": 1, **metadata}
    manifest["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    return read_job(manifest)


def running_job(uid: str = "u1", **metadata: Any) -> Job:
    return a_job(uid, suspend=False, **{"annotations": {ADMISSION: ADMITTED}, **metadata})


def replace_status(job: Job, **status: Any) -> Job:
    return msgspec.structs.replace(job, status=msgspec.structs.replace(job.status, **status))


def answered(job: Job) -> Job:
    """As the Job controller leaves it when it has seen the start."""
    return replace_status(job, start_time=NOW)


def a_pod(uid: str, **labels: str) -> PodRecord:
    manifest = {
        "metadata": {"uid": uid, "name": uid, "namespace": "ns", "labels": {GROUP_LABEL: "vision", **labels}},
        "spec": {
            "schedulingGates": [{"name": GATE}],
            "containers": [{"resources": {"requests": {"cpu": "1"}}}],
        },
    }
    return PodRecord(read_pod(manifest), None)


def pod_on_node(uid: str, *, job: str = "", namespace: str = "ns") -> PodRecord:
    owner = [{"kind": "Job", "apiVersion": "batch/v1", "uid": job, "name": "a", "controller": True}] if job else []
    manifest = {
        "metadata": {"uid": uid, "name": uid, "namespace": namespace, "ownerReferences": owner},
        "spec": {"nodeName": "node-0", "containers": [{"resources": {"requests": {"cpu": "3"}}}]},
    }
    record = project_pod(msgspec.json.encode(manifest))
    assert record is not None
    return record


def kind_of(workload: Workload) -> str:
    """The kind without the uid that distinguishes objects of one name."""
    return workload.kind.partition("/")[0]


def work(state: ClusterState, group: str = "vision") -> list[Workload]:
    return list(state.world().workloads_of(group).by_id.values())
