"""Devices in the world that a cycle starts from: as claims say, whatever their templates say later."""

from typing import Any

import msgspec
import pytest

from shared.api.core.job import Job
from shared.api.core.namespace import read_namespace
from shared.api.core.resource_claim import ClaimDevices
from shared.api.names import ADMISSION, GATE, GROUP_LABEL, POD_SET_LABEL, UNIT_LABEL
from shared.api.quotagroup import QuotaGroupStatus
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.observed.projections import (
    FinishedOwner,
    GroupStatusRecord,
    PodRecord,
    project_job,
    project_pod,
)
from shared.kube.watch.cache import Changed
from shared.quota.model.devices.claims import DeviceSource
from shared.quota.model.devices.resources import DeviceResources
from shared.quota.model.node import ClusterNode
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Group
from shared.resources import FlavorResource

GPU = "gpu.deviceclass.resource.k8s.io/devices"
ADMITTED = f'{{"flavors":{{"cpu":"default","{GPU}":"default"}},"time":"2026-01-01T00:00:00Z"}}'
TEMPLATE, CLAIM = DeviceSource.TEMPLATE, DeviceSource.CLAIM
BY_TEMPLATE = {"name": "a", "resourceClaimTemplateName": "t"}
BY_NAME = {"name": "a", "resourceClaimName": "shared"}


def takes(name: str, count: int, device_class: str = "gpu") -> ClaimDevices:
    return ClaimDevices("ns", name, {device_class: count})


def a_job(uid: str = "j", *, claim: dict[str, str] = BY_TEMPLATE, pods: int = 1, admitted: bool = False) -> Job:
    metadata = {"uid": uid, "name": uid, "namespace": "ns", "labels": {GROUP_LABEL: "vision"}}
    containers = [{"resources": {"requests": {"cpu": "1"}}}]
    body = {
        "metadata": {**metadata, "annotations": {ADMISSION: ADMITTED} if admitted else {}},
        "spec": {
            "suspend": not admitted,
            "parallelism": pods,
            "completions": pods,
            "template": {"spec": {"containers": containers, "resourceClaims": [claim]}},
        },
        "status": {"startTime": "2026-01-01T00:00:00Z", "active": pods} if admitted else {},
    }
    found = project_job(msgspec.json.encode(body))
    assert isinstance(found, Job)
    return found


def a_pod(
    uid: str, *, job: str = "j", made: str = "", claim: dict[str, str] = BY_TEMPLATE, deleting: bool = False
) -> PodRecord:
    owner = {"kind": "Job", "apiVersion": "batch/v1", "uid": job, "name": job, "controller": True}
    metadata: dict[str, Any] = {"uid": uid, "name": uid, "namespace": "ns", "ownerReferences": [owner] if job else []}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:01:00Z"
    statuses = [{"name": "a", "resourceClaimName": made}] if made else []
    containers = [{"resources": {"requests": {"cpu": "1"}}}]
    body = {
        "metadata": metadata,
        "spec": {"nodeName": "node-0", "containers": containers, "resourceClaims": [claim]},
        "status": {"resourceClaimStatuses": statuses},
    }
    found = project_pod(msgspec.json.encode(body))
    assert found is not None
    return found


def gated_pod(uid: str, *, made: str = "") -> PodRecord:
    body = {
        "metadata": {"uid": uid, "name": uid, "namespace": "ns", "labels": {GROUP_LABEL: "vision"}},
        "spec": {"containers": [{}], "schedulingGates": [{"name": GATE}], "resourceClaims": [BY_TEMPLATE]},
        "status": {"resourceClaimStatuses": [{"name": "a", "resourceClaimName": made}] if made else []},
    }
    found = project_pod(msgspec.json.encode(body))
    assert found is not None
    return found


@pytest.fixture
def state() -> ClusterState:
    made = ClusterState(QuotaSettings(devices=DeviceResources()))
    groups = [Group("root", parent=None, is_parent=True), Group("vision")]
    made.observe_groups([Changed(None, GroupStatusRecord(each.name, 1, each, QuotaGroupStatus())) for each in groups])
    made.observe_nodes([Changed(None, ClusterNode("node-0", allocatable={"cpu": 8000}))])
    made.observe_namespaces([Changed(None, read_namespace({"metadata": {"name": "ns", "uid": "n1"}}))])
    return made


def counted(state: ClusterState) -> int:
    """The devices that the workloads of the group request together."""
    return sum(each.request.get(GPU, 0) for each in state.world().workloads_of("vision").by_id.values())


def is_held(state: ClusterState) -> bool:
    (found,) = state.world().workloads_of("vision").by_id.values()
    return found.hold


def outside(state: ClusterState) -> int:
    return state.world().unmanaged.get(FlavorResource("default", GPU), 0)


def test_pending_job_follows_its_claim_template(state: ClusterState) -> None:
    state.observe_jobs([Changed(None, a_job(pods=2))])
    assert (counted(state), is_held(state)) == (0, True)
    state.observe_claims(TEMPLATE, [Changed(None, takes("t", 3))])
    assert (counted(state), is_held(state)) == (6, False)
    state.observe_claims(TEMPLATE, [Changed(takes("t", 3), None)])
    assert is_held(state)
    state.observe_claims(TEMPLATE, [Changed(None, takes("t", 5))])
    assert (counted(state), is_held(state)) == (10, False)


def test_shared_claim_counts_for_every_job_that_names_it(state: ClusterState) -> None:
    state.observe_jobs([Changed(None, a_job(uid, claim=BY_NAME)) for uid in ("j", "k")])
    state.observe_claims(CLAIM, [Changed(None, takes("shared", 2))])
    assert counted(state) == 4
    state.observe_claims(CLAIM, [Changed(takes("shared", 2), takes("shared", 7))])
    assert counted(state) == 14


def test_running_job_counts_the_claims_of_its_pods(state: ClusterState) -> None:
    state.observe_claims(TEMPLATE, [Changed(None, takes("t", 4))])
    state.observe_jobs([Changed(None, a_job(admitted=True))])
    before = a_pod("p")
    state.observe_pods([Changed(None, before)])
    state.observe_claims(CLAIM, [Changed(None, takes("p-a-x", 4))])
    named = a_pod("p", made="p-a-x")
    state.observe_pods([Changed(before, named)])
    state.observe_claims(TEMPLATE, [Changed(takes("t", 4), None), Changed(None, takes("t", 1))])
    assert counted(state) == 4
    state.observe_pods([Changed(named, None)])
    assert counted(state) == 1


def test_pod_with_unseen_claims_counts_as_before(state: ClusterState) -> None:
    state.observe_claims(TEMPLATE, [Changed(None, takes("t", 4))])
    state.observe_jobs([Changed(None, a_job(admitted=True))])
    state.observe_pods([Changed(None, a_pod("p"))])
    state.observe_claims(TEMPLATE, [Changed(takes("t", 4), None), Changed(None, takes("t", 1))])
    assert counted(state) == 4
    state.observe_pods([Changed(a_pod("p"), a_pod("p", made="c"))])
    assert counted(state) == 4
    state.observe_claims(CLAIM, [Changed(None, takes("c", 2))])
    assert counted(state) == 2


def test_grown_claim_template_counts_for_its_later_pods(state: ClusterState) -> None:
    state.observe_claims(TEMPLATE, [Changed(None, takes("t", 1))])
    state.observe_jobs([Changed(None, a_job(pods=2, admitted=True))])
    state.observe_claims(CLAIM, [Changed(None, takes("c1", 1))])
    state.observe_pods([Changed(None, a_pod("p1", made="c1"))])
    assert counted(state) == 2
    state.observe_claims(TEMPLATE, [Changed(takes("t", 1), None), Changed(None, takes("t", 8))])
    state.observe_pods([Changed(None, a_pod("p2"))])
    assert counted(state) == 16
    state.observe_claims(CLAIM, [Changed(None, takes("c2", 8))])
    state.observe_pods([Changed(a_pod("p2"), a_pod("p2", made="c2"))])
    assert counted(state) == 16


def test_devices_of_terminating_pods_count_until_they_have_ended(state: ClusterState) -> None:
    state.observe_claims(TEMPLATE, [Changed(None, takes("t", 2))])
    state.observe_claims(CLAIM, [Changed(None, takes("c", 2))])
    job, pod = a_job(admitted=True), a_pod("p", made="c")
    state.observe_jobs([Changed(None, job)])
    state.observe_pods([Changed(None, pod)])
    ending = a_pod("p", made="c", deleting=True)
    state.observe_pods([Changed(pod, ending)])
    state.observe_jobs([Changed(job, None)])
    state.observe_claims(TEMPLATE, [Changed(takes("t", 2), None)])
    assert counted(state) == 2
    state.observe_pods([Changed(ending, None)])
    assert counted(state) == 0


def test_gated_pod_counts_its_generated_claim(state: ClusterState) -> None:
    state.observe_claims(TEMPLATE, [Changed(None, takes("t", 8))])
    state.observe_pods([Changed(None, gated_pod("p"))])
    assert counted(state) == 8
    state.observe_pods([Changed(gated_pod("p"), gated_pod("p", made="c"))])
    state.observe_claims(CLAIM, [Changed(None, takes("c", 8))])
    state.observe_claims(TEMPLATE, [Changed(takes("t", 8), None), Changed(None, takes("t", 1))])
    assert counted(state) == 8
    state.observe_pods([Changed(gated_pod("p", made="c"), None)])
    assert counted(state) == 0


def test_devices_of_unmanaged_pods_count_as_unmanaged_use(state: ClusterState) -> None:
    state.observe_claims(CLAIM, [Changed(None, takes("shared", 3))])
    pod = a_pod("p", job="", claim=BY_NAME)
    state.observe_pods([Changed(None, pod)])
    assert outside(state) == 3
    state.observe_claims(CLAIM, [Changed(takes("shared", 3), takes("shared", 5))])
    assert outside(state) == 5
    state.observe_pods([Changed(pod, None)])
    assert outside(state) == 0


def used(state: ClusterState, device_class: str) -> int:
    """The devices of a class that the group uses, in any flavor."""
    keys = state.world().workloads_of("vision").use.items()
    return sum(use.used for key, use in keys if key.resource.startswith(f"{device_class}."))


def test_claim_template_with_another_class_after_the_start_is_counted(state: ClusterState) -> None:
    state.observe_claims(TEMPLATE, [Changed(None, takes("t", 2))])
    state.observe_jobs([Changed(None, a_job(admitted=True))])
    assert (used(state, "gpu"), used(state, "large")) == (2, 0)
    state.observe_claims(TEMPLATE, [Changed(takes("t", 2), None), Changed(None, takes("t", 3, "large"))])
    state.observe_claims(CLAIM, [Changed(None, takes("c", 3, "large"))])
    pod = a_pod("p", made="c")
    state.observe_pods([Changed(None, pod)])
    assert (used(state, "gpu"), used(state, "large")) == (0, 3)
    ending = a_pod("p", made="c", deleting=True)
    state.observe_pods([Changed(pod, ending)])
    state.observe_jobs([Changed(a_job(admitted=True), None)])
    assert used(state, "large") == 3


def made_for_an_object(phase: str) -> PodRecord:
    """A pod of an object of a governed kind, which is kept when it has succeeded."""
    body = {
        "metadata": {"uid": "p", "name": "p", "namespace": "ns", "labels": {UNIT_LABEL: "u", POD_SET_LABEL: "main"}},
        "spec": {"nodeName": "node-0", "containers": [{}], "resourceClaims": [BY_NAME]},
        "status": {"phase": phase},
    }
    found = project_pod(msgspec.json.encode(body))
    assert found is not None
    return found


def test_succeeded_pod_counts_no_devices_even_with_a_claim(state: ClusterState) -> None:
    state.observe_claims(CLAIM, [Changed(None, takes("shared", 3))])
    state.observe_pods([Changed(None, made_for_an_object("Running"))])
    assert outside(state) == 3
    state.observe_pods([Changed(made_for_an_object("Running"), made_for_an_object("Succeeded"))])
    state.observe_claims(CLAIM, [Changed(takes("shared", 3), None)])
    state.observe_claims(CLAIM, [Changed(None, takes("shared", 5))])
    assert outside(state) == 0


def test_finished_job_is_not_read_again(state: ClusterState) -> None:
    job = a_job()
    state.observe_jobs([Changed(None, job)])
    state.observe_jobs([Changed(job, FinishedOwner("j"))])
    state.observe_claims(TEMPLATE, [Changed(None, takes("t", 3))])
    assert counted(state) == 0


def test_only_workloads_that_name_a_changed_claim_are_read_again(state: ClusterState) -> None:
    state.observe_jobs([Changed(None, a_job())])
    state.world()
    state.observe_claims(TEMPLATE, [Changed(None, takes("other", 3))])
    state.observe_claims(CLAIM, [Changed(None, takes("t", 3))])
    assert not state.changed
