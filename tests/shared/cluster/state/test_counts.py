"""How many pods and workloads a group has, by what the watches report. docs/specification.md §2.12."""

from collections.abc import Mapping

import msgspec
import pytest

from shared.api.core.namespace import read_namespace
from shared.api.quotagroup import QuotaGroupStatus
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.observed.projections import GroupStatusRecord, PodRecord, project_pod
from shared.kube.watch.cache import Changed
from shared.quota.model.node import ClusterNode
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Group
from shared.resources import FlavorResource
from tests.shared.cluster.state.objects import a_pod, answered, running_job, work
from tests.trees import tree

COUNTING, PLAIN = (
    tree(f"research/ 9{counts}\n  vision 9") for counts in (" | counts:pods ..9 counts:workloads ..2", "")
)


def edit(state: ClusterState, before: Group | None, after: Group) -> None:
    records = (
        None if each is None else GroupStatusRecord(each.name, 1, each, QuotaGroupStatus()) for each in (before, after)
    )
    state.observe_groups([Changed(*records)])


@pytest.fixture
def state() -> ClusterState:
    made = ClusterState(QuotaSettings())
    for group in COUNTING.groups.values():
        edit(made, None, group)
    made.observe_nodes([Changed(None, ClusterNode("node-0", allocatable={"cpu": 8000, "pods": 20}))])
    made.observe_namespaces([Changed(None, read_namespace({"metadata": {"name": "ns", "uid": "n1"}}))])
    return made


def pod_of(job: str, uid: str, *, deleting: bool = False) -> PodRecord:
    owner = {"kind": "Job", "apiVersion": "batch/v1", "uid": job, "name": "a", "controller": True}
    metadata = {"uid": uid, "name": uid, "namespace": "ns", "ownerReferences": [owner]}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:01:00Z"
    found = project_pod(msgspec.json.encode({"metadata": metadata, "spec": {"nodeName": "node-0", "containers": [{}]}}))
    assert found is not None
    return found


def counts(state: ClusterState) -> Mapping[str, int]:
    """What the workloads of the leaf count together."""
    found = [each.request for each in work(state)]
    return {name: sum(each.get(name, 0) for each in found) for name in ("pods", "workloads")}


def used(state: ClusterState, resource: str) -> int:
    return state.world().workloads_of("vision").use[FlavorResource("counts", resource)].used


def test_started_job_uses_its_pods_and_itself(state: ClusterState) -> None:
    state.observe_jobs([Changed(None, answered(running_job()))])
    assert (used(state, "pods"), used(state, "workloads")) == (1, 1)


def test_terminating_pods_count_as_pods_beside_those_that_replace_them(state: ClusterState) -> None:
    state.observe_jobs([Changed(None, answered(running_job()))])
    state.observe_pods([Changed(None, pod_of("u1", "p1", deleting=True)), Changed(None, pod_of("u1", "p2"))])
    assert (used(state, "pods"), used(state, "workloads")) == (2, 1)


def test_pods_of_a_deleted_job_count_until_they_have_ended(state: ClusterState) -> None:
    job, pod = answered(running_job()), pod_of("u1", "p1")
    state.observe_jobs([Changed(None, job)])
    state.observe_pods([Changed(None, pod)])
    state.observe_jobs([Changed(job, None)])
    assert counts(state) == {"pods": 1, "workloads": 0}
    state.observe_pods([Changed(pod, None)])
    assert counts(state) == {"pods": 0, "workloads": 0}


def test_groups_begin_and_cease_to_count_what_runs_already(state: ClusterState) -> None:
    job, pod = answered(running_job()), pod_of("u1", "p1")
    state.observe_jobs([Changed(None, job), Changed(None, answered(running_job("u2", name="b")))])
    state.observe_pods([Changed(None, pod)])
    state.observe_jobs([Changed(job, None)])
    for before, after, expected in (
        (COUNTING, PLAIN, {"pods": 0, "workloads": 0}),
        (PLAIN, COUNTING, {"pods": 2, "workloads": 1}),
    ):
        edit(state, before["research"], after["research"])
        assert counts(state) == expected


def test_gated_pod_waits_with_its_counts(state: ClusterState) -> None:
    pod = a_pod("p1")
    state.observe_pods([Changed(None, pod)])
    assert counts(state) == {"pods": 1, "workloads": 1}


def test_pods_outside_quota_are_counted_on_nodes(state: ClusterState) -> None:
    manifest = {
        "metadata": {"uid": "x", "name": "x", "namespace": "elsewhere"},
        "spec": {"nodeName": "node-0", "containers": [{}]},
    }
    state.observe_pods([Changed(None, project_pod(msgspec.json.encode(manifest)))])
    assert state.world().unmanaged == {FlavorResource("counts", "pods"): 1}
