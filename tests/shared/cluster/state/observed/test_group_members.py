"""A pod that joins a started group, or runs without an admission, is a workload of its own."""

from typing import Any

import msgspec
import pytest

from shared.api.core.pod import read_pod
from shared.api.names import ADMISSION, GATE, GROUP_LABEL, POD_GROUP_LABEL, POD_GROUP_SIZE_LABEL
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.observed.projections import PodRecord
from shared.kube.watch.cache import Changed


def pod(uid: str, members: str | None = None) -> PodRecord:
    """Gated without `members`, else started with an admission for these."""
    metadata: dict[str, Any] = {"uid": uid, "name": uid, "namespace": "ns"}
    metadata["labels"] = {GROUP_LABEL: "vision", POD_GROUP_LABEL: "pg", POD_GROUP_SIZE_LABEL: "1"}
    spec: dict[str, Any] = {"containers": [{"resources": {"requests": {"cpu": "1"}}}]}
    if members is None:
        spec["schedulingGates"] = [{"name": GATE}]
    else:
        text = f'{{"flavors":{{"cpu":"default"}},"time":"2026-01-01T00:00:00Z","members":{members}}}'
        metadata["annotations"] = {ADMISSION: text}
    return PodRecord(read_pod({"metadata": metadata, "spec": spec}), None)


def unadmitted(uid: str) -> PodRecord:
    """Neither gated nor admitted, as the pods that a deleted Job leaves."""
    work = pod(uid).work
    assert work is not None
    return PodRecord(msgspec.structs.replace(work, spec=msgspec.structs.replace(work.spec, scheduling_gates=[])), None)


def found(state: ClusterState) -> list[tuple[str, str, bool]]:
    """(kind, key, whether it is pending) of each workload."""
    workloads = state.world().workloads_of("vision").by_id.values()
    return sorted((each.kind, each.key, each.is_pending) for each in workloads)


@pytest.mark.parametrize("order", [["seed-0001", "late-0001"], ["late-0001", "seed-0001"]], ids=["first", "last"])
def test_later_pod_is_a_workload_of_its_own_in_any_order_of_events(state: ClusterState, order: list[str]) -> None:
    pods = {"seed-0001": pod("seed-0001", '["seed-000"]'), "late-0001": pod("late-0001")}
    for name in order:
        state.observe_pods([Changed(None, pods[name])])
    assert found(state) == [("Pod", "ns/late-0001", True), ("PodGroup", "ns/pg", False)]


def test_pending_member_belongs_to_its_pod_group(state: ClusterState) -> None:
    state.observe_pods([Changed(None, pod("a-000001", '["a-000001","b-000001"]')), Changed(None, pod("b-000001"))])
    assert found(state) == [("PodGroup", "ns/pg", False)]
    assert state.work.follow_ups.incomplete == {"ns/pg"}


def test_started_later_pod_stays_a_workload_of_its_own(state: ClusterState) -> None:
    state.observe_pods([Changed(None, pod("late-0001", "[]")), Changed(None, pod("seed-0001", '["seed-000"]'))])
    assert found(state) == [("Pod", "ns/late-0001", False), ("PodGroup", "ns/pg", False)]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["first", "last"])
def test_pod_that_runs_without_an_admission_is_a_workload_of_its_own(
    state: ClusterState, order: tuple[int, int]
) -> None:
    pods = (pod("gated-001"), unadmitted("stray-001"))
    for index in order:
        state.observe_pods([Changed(None, pods[index])])
    assert found(state) == [("Pod", "ns/stray-001", True), ("PodGroup", "ns/pg", True)]
    assert state.work.follow_ups.unadmitted_running.keys() == {"stray-001"}
    state.observe_pods([Changed(None, pod("seed-0001", '["seed-000"]'))])
    assert found(state) == [
        ("Pod", "ns/gated-001", True),
        ("Pod", "ns/stray-001", True),
        ("PodGroup", "ns/pg", False),
    ]


def test_remaining_pods_of_an_ended_group_form_a_pending_pod_group(state: ClusterState) -> None:
    seed = pod("seed-0001", '["seed-000"]')
    state.observe_pods([Changed(None, seed), Changed(None, pod("late-0001"))])
    state.observe_pods([Changed(seed, None)])
    assert found(state) == [("PodGroup", "ns/pg", True)]
