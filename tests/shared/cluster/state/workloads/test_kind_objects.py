"""Objects of governed kinds count as they declare until their pods are seen, then as these, until all have ended."""

from typing import Any

import jsonpatch
import msgspec
import pytest
from jsonpointer import JsonPointer

from reconciler.write import patches
from shared.api.core.job import Job
from shared.api.core.namespace import read_namespace
from shared.api.names import ADMISSION, EVICTION, GROUP_LABEL, HOLD_LABEL, POD_SET_LABEL, UNIT_LABEL
from shared.api.quotagroup import QuotaGroupStatus
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.observed.kind_projection import KindRecord, project_kind
from shared.cluster.state.observed.projections import (
    FinishedOwner,
    GroupStatusRecord,
    PodRecord,
    project_job,
    project_pod,
)
from shared.cluster.state.observed.terminating import TERMINATING
from shared.cluster.state.sorts.registry import owner_sort_of
from shared.kinds.kind_object import KindObject
from shared.kube.watch.cache import Changed
from shared.quota.model.flavor import Flavor
from shared.quota.model.node import ClusterNode
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Group
from shared.quota.model.workload import EvictionReason, Workload
from tests.shared.kinds.objects import jobset, metadata, preset, replicated

ADMITTED = '{"podSets":{"driver":{"cpu":"default"},"workers":{"cpu":"default"}},"time":"2026-01-01T00:00:00Z"}'
EVICTED = (
    '{"podSets":{"driver":{"cpu":"default"},"workers":{"cpu":"default"}},"reason":"Reclaimed",'
    '"time":"2026-01-01T01:00:00Z"}'
)
KEY = "uid-train@ns"
JOBSET = preset("JobSet")


@pytest.fixture
def state() -> ClusterState:
    made = ClusterState(QuotaSettings())
    groups = [Group("root", parent=None, is_parent=True), Group("vision")]
    made.observe_groups([Changed(None, GroupStatusRecord(each.name, 1, each, QuotaGroupStatus())) for each in groups])
    made.observe_nodes([Changed(None, ClusterNode("node-0", allocatable={"cpu": 80000}))])
    made.observe_namespaces([Changed(None, read_namespace({"metadata": {"name": "ns", "uid": "n1"}}))])
    return made


def written(*, suspend: bool = True, status: Any = None, managed_by: str = "", **about: Any) -> dict[str, Any]:
    """A driver of 1 cpu, and two workers of 2. Its operator has seen a suspension unless `status` says other."""
    body = jobset(replicated("driver"), replicated("workers", "2", 2), suspend=suspend)
    labels = {GROUP_LABEL: "vision", **about.pop("labels", {})}
    made = {"creationTimestamp": "2026-01-01T00:00:00Z", **about}
    stopped = {"conditions": [{"type": "Suspended", "status": "True"}]} if suspend else {}
    if managed_by:
        body["spec"]["managedBy"] = managed_by
    return {**body, "metadata": metadata(labels=labels, **made), "status": status or stopped}


def seen(body: dict[str, Any]) -> KindRecord:
    record = project_kind(JOBSET)(msgspec.json.encode(body))
    assert record is not None
    return record


WAITS = seen(written())
STARTED = seen(written(suspend=False, annotations={ADMISSION: ADMITTED}, generation=2))
STOPPED = seen(written(annotations={EVICTION: EVICTED}, generation=3))


def pod(name: str, pod_set: str, cpu: str, *, unit: str = "uid-train", phase: str = "Running", **about: Any) -> Any:
    """A pod with the label, as Quotree keeps it; `namespace`, `ready`, `ending`, `orphaned`."""
    conditions = [{"type": "Ready", "status": "True"}] if about.get("ready") else []
    ends = {"deletionTimestamp": "2026-01-01T02:00:00Z"} if about.get("ending") else {}
    labels = {UNIT_LABEL: unit, POD_SET_LABEL: pod_set}
    own = {"name": name, "uid": name, "namespace": about.get("namespace", "ns"), "labels": labels, **ends}
    if about.get("cut"):
        own["ownerReferences"] = [{"apiVersion": "x.example.com/v1", "kind": "X", "uid": "x", "controller": True}]
    elif about.get("orphaned"):
        own["labels"] = labels | {GROUP_LABEL: "vision"}
    else:
        own["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": "Job", "uid": "job-1", "controller": True}]
    spec = {"nodeName": "node-0", "containers": [{"resources": {"requests": {"cpu": cpu}}}]}
    body = {"metadata": own, "spec": spec, "status": {"phase": phase, "conditions": conditions}}
    return project_pod(msgspec.json.encode(body))


NAMED = {"metadata": {"name": "ns", "uid": "n1", "labels": {GROUP_LABEL: "vision"}}}


def child(unit: str) -> KindRecord:
    return seen(written(suspend=False, uid="child", name="child", labels={UNIT_LABEL: unit}))


def child_job(unit: str) -> Job:
    template = {"spec": {"containers": [{"resources": {"requests": {"cpu": "3"}}}]}}
    about = {"uid": "j", "name": "j", "namespace": "ns", "labels": {GROUP_LABEL: "vision", UNIT_LABEL: unit}}
    record = project_job(msgspec.json.encode({"metadata": about, "spec": {"suspend": False, "template": template}}))
    assert isinstance(record, Job)
    return record


def show(state: ClusterState, *pods: PodRecord | None) -> None:
    state.observe_pods([Changed(None, each) for each in pods])


def only(state: ClusterState) -> Workload:
    (found,) = state.world().workloads_of("vision").by_id.values()
    return found


def test_pending_object_counts_with_its_declared_pods(state: ClusterState) -> None:
    state.observe_kind_objects([Changed(None, WAITS)])
    found = only(state)
    assert (found.kind, found.key, found.uid, found.is_pending) == ("JobSet", "ns/train", "uid-train", True)
    assert [(each.name, each.request, each.pods) for each in found.sets] == [
        ("driver", {"cpu": 1000}, 1),
        ("workers", {"cpu": 4000}, 2),
    ]
    assert [
        owner_sort_of(each).key_of(each) for each in state.work.objects.of(KEY) if isinstance(each, KindObject)
    ] == [KEY]


def test_what_was_made_for_a_governed_object_is_no_workload(state: ClusterState) -> None:
    state.observe_kind_objects([Changed(None, STARTED), Changed(None, child("uid-train"))])
    state.observe_jobs([Changed(None, child_job("uid-train"))])
    show(state, pod("d", "driver", "1"))
    assert [(each.kind, each.uid) for each in state.world().workloads_of("vision").by_id.values()] == [
        ("JobSet", "uid-train")
    ]
    assert state.work.follow_ups.unadmitted_running == {}


def test_invented_unit_keeps_nothing_from_being_counted(state: ClusterState) -> None:
    """As found in a namespace that is brought in: nobody has judged what its objects carry."""
    state.observe_namespaces([Changed(None, read_namespace(NAMED))])
    state.observe_kind_objects([Changed(None, child("invented"))])
    state.observe_jobs([Changed(None, child_job("invented"))])
    show(state, pod("p", "driver", "1", unit="invented", cut=True))
    counted = {each.kind: each.request for each in state.world().workloads_of("vision").by_id.values()}
    assert counted == {"JobSet": {"cpu": 5000}, "Job": {"cpu": 3000}, "Pod": {"cpu": 1000}}
    assert state.world().unmanaged == {}


def test_objects_that_say_they_were_made_for_each_other_are_counted(state: ClusterState) -> None:
    both = [seen(written(suspend=False, uid=one, name=one, labels={UNIT_LABEL: other})) for one, other in ("ab", "ba")]
    state.observe_kind_objects([Changed(None, each) for each in both])
    assert {each.uid for each in state.world().workloads_of("vision").by_id.values()} == {"a", "b"}


@pytest.mark.parametrize("first", ["pods", "object"])
def test_pods_count_for_their_object_whichever_is_seen_first(state: ClusterState, first: str) -> None:
    if first == "object":
        state.observe_kind_objects([Changed(None, STARTED)])
    show(state, pod("w", "workers", "7"), pod("d", "driver", "1"))
    if first == "pods":
        state.observe_kind_objects([Changed(None, STARTED)])
    assert only(state).request == {"cpu": 8000}
    assert state.work.follow_ups.unadmitted_running == {}


def test_pod_counts_by_itself_once_its_object_counts_no_more(state: ClusterState) -> None:
    state.observe_namespaces([Changed(None, read_namespace(NAMED))])
    state.observe_kind_objects([Changed(None, STARTED)])
    record = pod("d", "driver", "1", cut=True)
    show(state, record)
    skipped = seen(written(suspend=False, uid="uid-train", generation=3, managed_by="kueue.x-k8s.io/multikueue"))
    state.observe_kind_objects([Changed(STARTED, skipped)])
    assert [(each.kind, each.request) for each in state.world().workloads_of("vision").by_id.values()] == [
        ("Pod", {"cpu": 1000})
    ]
    ended = pod("d", "driver", "1", cut=True, phase="Succeeded")
    state.observe_pods([Changed(record, ended)])
    assert state.world().workloads_of("vision").by_id == {}


@pytest.mark.parametrize("restarted", [False, True], ids=["same process", "restarted"])
def test_pod_of_a_deleted_object_that_has_lost_its_owner_is_a_workload_of_its_own(
    state: ClusterState, restarted: bool
) -> None:
    if not restarted:
        state.observe_kind_objects([Changed(None, STARTED)])
        show(state, pod("d", "driver", "1"))
    orphan = pod("d", "driver", "1", orphaned=True)
    state.observe_pods([Changed(None if restarted else pod("d", "driver", "1"), orphan)])
    if not restarted:
        state.observe_kind_objects([Changed(STARTED, None)])
    counted = {each.kind: each.request for each in state.world().workloads_of("vision").by_id.values()}
    assert counted["Pod"] == {"cpu": 1000}
    assert state.work.follow_ups.unadmitted_running.keys() == {"d"}
    assert state.world().unmanaged == {}


def test_object_counts_as_declared_until_its_pods_use_more(state: ClusterState) -> None:
    state.observe_kind_objects([Changed(None, STARTED)])
    assert (only(state).request, only(state).is_answered) == ({"cpu": 5000}, False)
    show(state, pod("d", "driver", "1"), pod("w", "workers", "7"))
    assert (only(state).request, only(state).is_answered) == ({"cpu": 8000}, True)


def test_pods_of_another_namespace_do_not_count_for_the_object(state: ClusterState) -> None:
    state.observe_kind_objects([Changed(None, STARTED)])
    show(state, pod("w", "workers", "70", namespace="elsewhere"))
    assert (only(state).request, only(state).is_answered) == ({"cpu": 5000}, False)


def test_object_is_ready_when_pods_of_every_set_are_ready_or_done(state: ClusterState) -> None:
    state.observe_kind_objects([Changed(None, STARTED)])
    workers = [pod(name, "workers", "2", ready=True) for name in ("w1", "w2")]
    show(state, *workers, pod("d", "driver", "1"))
    assert not only(state).admission.ready  # type: ignore[union-attr]
    done = pod("d", "driver", "1", phase="Succeeded")
    state.observe_pods([Changed(pod("d", "driver", "1"), done)])
    assert only(state).admission.ready  # type: ignore[union-attr]
    state.observe_pods([Changed(done, None)])
    assert not only(state).admission.ready  # type: ignore[union-attr]


def test_evicted_object_counts_until_its_last_pod_has_ended(state: ClusterState) -> None:
    state.observe_kind_objects([Changed(None, STARTED)])
    pods = [pod("d", "driver", "1"), pod("w", "workers", "2"), pod("v", "workers", "2")]
    show(state, *pods)
    state.observe_kind_objects([Changed(STARTED, STOPPED)])
    assert (only(state).is_evicting, only(state).request) == (True, {"cpu": 5000})
    state.observe_pods([Changed(pods[0], None), Changed(pods[2], None)])
    assert (only(state).is_evicting, only(state).request) == (True, {"cpu": 2000})
    ending = pod("w", "workers", "2", ending=True)
    state.observe_pods([Changed(pods[1], ending)])
    assert only(state).request == {"cpu": 2000}
    state.observe_pods([Changed(ending, pod("w", "workers", "2", phase="Failed"))])
    assert (only(state).is_pending, only(state).request) == (True, {"cpu": 5000})


def test_restarted_process_computes_the_same_state(state: ClusterState) -> None:
    show(state, pod("w", "workers", "2", ending=True))
    state.observe_kind_objects([Changed(None, STOPPED)])
    assert (only(state).is_evicting, only(state).request) == (True, {"cpu": 2000})


def test_deleted_object_counts_until_its_pods_have_ended(state: ClusterState) -> None:
    state.observe_kind_objects([Changed(None, STARTED)])
    show(state, last := pod("w", "workers", "2"))
    state.observe_kind_objects([Changed(STARTED, None)])
    found = only(state)
    assert (found.kind, found.request, found.is_evicting) == (f"{TERMINATING}/uid-train", {"cpu": 2000}, True)
    state.observe_pods([Changed(last, None)])
    assert not state.world().workloads_of("vision").by_id


def test_object_deleted_before_its_pods_are_seen_counts_for_a_delay(state: ClusterState) -> None:
    state.observe_kind_objects([Changed(None, STARTED), Changed(STARTED, None)])
    assert (only(state).request, state.work.owners.unseen_pods) == ({"cpu": 5000}, {KEY})
    state.objects.stop_waiting_for_pods(KEY)
    assert not state.world().workloads_of("vision").by_id


def test_finished_object_counts_its_remaining_pods(state: ClusterState) -> None:
    state.observe_kind_objects([Changed(None, STARTED)])
    show(state, last := pod("w", "workers", "2"))
    ended = {"conditions": [{"type": "Completed", "status": "True"}]}
    finished = seen(written(suspend=False, annotations={ADMISSION: ADMITTED}, generation=2, status=ended))
    assert finished == FinishedOwner(KEY)
    state.observe_kind_objects([Changed(STARTED, finished)])
    assert (kind_word(only(state)), only(state).request) == (TERMINATING, {"cpu": 2000})
    state.observe_pods([Changed(last, None)])
    assert not state.world().workloads_of("vision").by_id
    assert state.work.owners.knows(KEY)
    state.observe_kind_objects([Changed(finished, None)])
    assert not state.work.owners.knows(KEY)


def kind_word(workload: Workload) -> str:
    return workload.kind.partition("/")[0]


def test_object_stopped_before_any_pod_is_seen_counts_for_a_delay(state: ClusterState) -> None:
    state.observe_kind_objects([Changed(None, STARTED)])
    by_owner = seen(written(annotations={ADMISSION: ADMITTED}, generation=3, labels={HOLD_LABEL: "true"}))
    state.observe_kind_objects([Changed(STARTED, by_owner)])
    found = only(state)
    assert (found.is_evicting, [each.key for each in state.work.overlay.revoked_starts.delays.new]) == (True, [KEY])
    assert found.eviction is not None
    assert found.eviction.reason is EvictionReason.SUSPENDED
    state.work.decided.stop_waiting_for_answer(state.work.overlay.revoked_starts.delays.new[0])
    assert (only(state).is_pending, only(state).hold) == (True, True)


@pytest.mark.parametrize("pods", [[pod("d", "driver", "1")], [pod("d", "driver", "1"), pod("w", "workers", "2")]])
def test_object_stopped_before_all_pods_are_seen_counts_missing_pods_for_a_delay(
    state: ClusterState, pods: list[Any]
) -> None:
    state.observe_kind_objects([Changed(None, STARTED)])
    show(state, *pods)
    state.observe_kind_objects([Changed(STARTED, STOPPED)])
    assert (only(state).is_evicting, only(state).request) == (True, {"cpu": 5000})
    (delay,) = state.work.overlay.early_stops.delays.new
    state.observe_pods([Changed(each, None) for each in pods])
    assert (only(state).is_evicting, only(state).request) == (True, {"cpu": 5000})
    show(state, late := pod("late", "workers", "2"))
    state.work.decided.stop_waiting_for_more_pods(delay)
    assert (only(state).is_evicting, only(state).request) == (True, {"cpu": 2000})
    state.observe_pods([Changed(late, None)])
    assert (only(state).is_pending, only(state).request) == (True, {"cpu": 5000})


def test_object_that_shows_all_its_pods_after_its_stop_is_waited_for_no_more(state: ClusterState) -> None:
    """Chaos, seed 271127: for 10 s two pods that had ended within one counted, and others were evicted for that."""
    state.observe_kind_objects([Changed(None, STARTED)])
    first, *others = pods = [pod("d", "driver", "1"), pod("w", "workers", "2"), pod("v", "workers", "2")]
    show(state, first)
    state.observe_kind_objects([Changed(STARTED, STOPPED)])
    (delay,) = state.work.overlay.early_stops.delays.new
    state.work.overlay.early_stops.delays.new.clear()  # as when its time limit is set
    show(state, *others)
    state.observe_pods([Changed(each, None) for each in pods[:2]])
    assert (only(state).is_evicting, only(state).request) == (True, {"cpu": 2000})
    state.observe_pods([Changed(pods[2], None)])
    assert only(state).is_pending
    state.observe_kind_objects([Changed(STOPPED, STARTED)])
    show(state, first)
    state.work.decided.stop_waiting_for_more_pods(delay)  # of the stop before: it says nothing of this run
    state.observe_kind_objects([Changed(STARTED, STOPPED)])
    assert (only(state).is_evicting, only(state).request) == (True, {"cpu": 5000})


def test_object_seen_complete_after_its_start_needs_no_delay(state: ClusterState) -> None:
    state.observe_kind_objects([Changed(None, STARTED)])
    pods = [pod("d", "driver", "1"), pod("w", "workers", "2"), pod("v", "workers", "2")]
    show(state, *pods)
    done = pod("d", "driver", "1", phase="Succeeded")
    state.observe_pods([Changed(pods[0], done), Changed(pods[1], None)])
    state.observe_kind_objects([Changed(STARTED, STOPPED)])
    assert (only(state).is_evicting, only(state).request) == (True, {"cpu": 2000})
    assert not state.work.overlay.early_stops.delays.new
    state.observe_pods([Changed(pods[2], None)])
    assert only(state).is_pending
    state.observe_kind_objects([Changed(STOPPED, STARTED)])
    show(state, pods[0])
    state.observe_kind_objects([Changed(STARTED, STOPPED)])
    assert (only(state).is_evicting, only(state).request) == (True, {"cpu": 5000})


def test_evicted_object_carries_the_claim_of_its_preemptor(state: ClusterState) -> None:
    claim = EVICTED.replace('"reason"', '"for":{"podSets":{"driver":{"cpu":"default"}},"uid":"uid-next"},"reason"')
    victim = seen(written(annotations={EVICTION: claim}, generation=3))
    body = written()
    waiting = seen({**body, "metadata": {**body["metadata"], "name": "next", "uid": "uid-next"}})
    show(state, pod("w", "workers", "2", ending=True))
    state.observe_kind_objects([Changed(None, waiting), Changed(None, victim)])
    state.observe_kind_objects([Changed(victim, None)])
    state.observe_pods([Changed(pod("w", "workers", "2", ending=True), None)])
    world = state.world()
    assert {each.uid for each in world.preemptors.values()} == {"uid-next"}


def patched(body: dict[str, Any], operations: list[Any]) -> dict[str, Any]:
    """As the API server applies it: there, a test for null holds where nothing is."""
    absent = {"op": "test", "value": None}
    made = [
        each
        for each in operations
        if not (absent.items() <= each.items() and JsonPointer(each["path"]).resolve(body, None) is None)
    ]
    done: dict[str, Any] = jsonpatch.apply_patch(body, made)
    return done


def placement_of(body: dict[str, Any]) -> list[tuple[Any, Any, Any]]:
    templates = [each["template"]["spec"]["template"] for each in body["spec"]["replicatedJobs"]]
    return [
        (
            each.get("metadata", {}).get("labels"),
            each["spec"].get("nodeSelector"),
            each["spec"].get("tolerations"),
        )
        for each in templates
    ]


FAST = Flavor("fast", {"gpu": "a100"})
SLOW = Flavor("slow", {"gpu": "t4"})


def test_one_patch_starts_every_pod_set_on_its_own_flavor() -> None:
    body = written(suspend=True, annotations={"mine": "1"})
    first = seen(body)
    assert isinstance(first, KindObject)
    chosen = {"driver": [SLOW], "workers": [FAST]}
    started = patched(body, patches.start_kind(first, "vision", {ADMISSION: ADMITTED}, chosen))
    labels = [{UNIT_LABEL: "uid-train", POD_SET_LABEL: name} for name in ("driver", "workers")]
    assert started["spec"]["suspend"] is False
    assert started["metadata"]["annotations"][ADMISSION] == ADMITTED
    assert placement_of(started) == [(labels[0], {"gpu": "t4"}, None), (labels[1], {"gpu": "a100"}, None)]
    runs = seen(started)
    assert isinstance(runs, KindObject)
    stopped = patched(started, patches.evict_kind(runs, "vision", {EVICTION: EVICTED}, patches.Guard.SPEC))
    assert (stopped["spec"]["suspend"], placement_of(stopped)) == (True, placement_of(started))
    assert stopped["metadata"]["annotations"].keys() == {EVICTION, "quotree.dev/injected", "mine"}
    again = seen(stopped)
    assert isinstance(again, KindObject)
    second = patched(stopped, patches.start_kind(again, "vision", {ADMISSION: ADMITTED}, {"driver": [FAST]}))
    assert placement_of(second) == [(labels[0], {"gpu": "a100"}, None), (labels[1], None, None)]


def test_patch_is_refused_for_a_recreated_object() -> None:
    body = written(suspend=True)
    first = seen(body)
    assert isinstance(first, KindObject)
    operations = patches.start_kind(first, "vision", {ADMISSION: ADMITTED}, {})
    for change in ({"uid": "other"}, {"generation": 2}, {"labels": {GROUP_LABEL: "nlp"}}):
        changed = {**body, "metadata": {**body["metadata"], **change}}
        with pytest.raises(jsonpatch.JsonPatchTestFailed):
            patched(changed, operations)
