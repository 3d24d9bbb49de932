"""Pods of a pod group are one workload, and those that come later are workloads of their own."""

from typing import Any

import msgspec

from shared.api.core.pod import read_pod
from shared.api.names import ADMISSION, GROUP_LABEL, POD_GROUP_LABEL, POD_GROUP_SIZE_LABEL
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.observed.projections import PodRecord
from shared.kube.watch.cache import Changed
from tests.shared.cluster.state.objects import ADMITTED, a_pod, work


def test_complete_pod_group_is_one_workload(state: ClusterState) -> None:
    labels = {POD_GROUP_LABEL: "gang", POD_GROUP_SIZE_LABEL: "2"}
    state.observe_pods([Changed(None, a_pod("p1", **labels))])
    (waiting,) = work(state)
    assert waiting.hold
    state.observe_pods([Changed(None, a_pod("p2", **labels))])
    (complete,) = work(state)
    assert (complete.kind, complete.key, complete.hold) == ("PodGroup", "ns/gang", False)
    assert complete.request == {"cpu": 2000}
    assert {each.metadata.uid for each in state.work.objects.of("ns/gang")} == {"p1", "p2"}


def test_remaining_pods_of_a_pod_group_are_one_workload(state: ClusterState) -> None:
    labels = {POD_GROUP_LABEL: "gang", POD_GROUP_SIZE_LABEL: "2"}
    ended = PodRecord(read_pod(ended_pod("p1", **labels)), None)
    state.observe_pods([Changed(None, ended), Changed(None, a_pod("p2", **labels))])
    (rest,) = work(state)
    assert (rest.is_pending, rest.hold, rest.request) == (True, False, {"cpu": 1000})
    assert [each.metadata.uid for each in state.work.objects.of("ns/gang")] == ["p2"]


GANG = {POD_GROUP_LABEL: "gang", POD_GROUP_SIZE_LABEL: "2"}


def started_pod(uid: str, *members: str, deleted: bool = False) -> PodRecord:
    """A pod with the label of the group `gang` that was started with these members."""
    admission = {**msgspec.json.decode(ADMITTED), "members": list(members)}
    metadata = {
        **ended_pod(uid, **GANG)["metadata"],
        "annotations": {ADMISSION: msgspec.json.encode(admission).decode()},
    }
    if deleted:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:01Z"
    spec = {"containers": [{"resources": {"requests": {"cpu": "1"}}}]}
    return PodRecord(read_pod({"metadata": metadata, "spec": spec}), None)


def test_replacement_pod_of_a_stopped_pod_group_starts_with_the_others(state: ClusterState) -> None:
    old = [started_pod(uid, "p1", "p2") for uid in ("p1", "p2")]
    ending = [started_pod(uid, "p1", "p2", deleted=True) for uid in ("p1", "p2")]
    state.observe_pods([Changed(None, each) for each in old])
    state.observe_pods([Changed(before, after) for before, after in zip(old, ending, strict=True)])
    state.observe_pods([Changed(None, a_pod("p3", **GANG))])
    assert {each.key: each.hold for each in work(state)} == {"ns/gang": False, "ns/p3": True}
    state.observe_pods([Changed(each, None) for each in ending])
    assert [(each.key, each.hold) for each in work(state)] == [("ns/gang", True)]
    state.observe_pods([Changed(None, a_pod("p4", **GANG))])
    assert [(each.key, each.hold, each.request) for each in work(state)] == [("ns/gang", False, {"cpu": 2000})]


def test_pod_group_does_not_wait_for_a_separately_started_pod(state: ClusterState) -> None:
    state.observe_pods([Changed(None, started_pod("p1"))])
    state.observe_pods([Changed(None, a_pod("p2", **GANG))])
    assert {each.key: (each.is_pending, each.hold) for each in work(state)} == {
        "ns/p1": (False, False),
        "ns/gang": (True, False),
    }


def test_pod_group_counts_a_pod_that_is_started_separately_later(state: ClusterState) -> None:
    state.observe_pods([Changed(None, a_pod("p2", **GANG))])
    assert [(each.key, each.hold) for each in work(state)] == [("ns/gang", True)]
    state.observe_pods([Changed(None, started_pod("p1"))])
    assert {each.key: each.hold for each in work(state)} == {"ns/p1": False, "ns/gang": False}
    state.observe_pods([Changed(started_pod("p1"), None)])
    assert [(each.key, each.hold) for each in work(state)] == [("ns/gang", True)]


def ended_pod(uid: str, **labels: str) -> dict[str, Any]:
    return {
        "metadata": {
            "uid": uid,
            "name": uid,
            "namespace": "ns",
            "labels": {GROUP_LABEL: "vision", **labels},
            "annotations": {ADMISSION: ADMITTED},
        },
        "spec": {"containers": [{"resources": {"requests": {"cpu": "1"}}}]},
        "status": {"phase": "Succeeded"},
    }
