"""What the watches said, and over it what was decided: as the world that the next cycle starts from."""

from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec
import pytest

from reconciler.state.cluster_state import ClusterState
from reconciler.state.observed.projections import (
    FinishedOwner,
    GroupStatusRecord,
    PodRecord,
    project_job,
    project_pod,
)
from reconciler.state.terminating import ORPHANED, TERMINATING
from shared.api.conditions import ObservedCondition
from shared.api.core.job import Job, read_job
from shared.api.core.namespace import read_namespace
from shared.api.core.pod import read_pod
from shared.api.core.selectors import LabelSelector
from shared.api.names import (
    ADMISSION,
    EVICTION,
    GATE,
    GROUP_LABEL,
    HOLD_LABEL,
    POD_GROUP_LABEL,
    POD_GROUP_SIZE_LABEL,
)
from shared.api.quotagroup import QuotaGroupStatus
from shared.kube.watch.cache import Changed
from shared.quota.model.node import ClusterNode
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Group
from shared.quota.model.workload import Admission, Workload
from shared.resources import FlavorResource
from tests.builders import NOW, after, in_main
from tests.reconciler.reconciler_process import job_manifest

ADMITTED = '{"flavors":{"cpu":"default"},"time":"2026-01-01T00:00:00Z"}'
CPU = FlavorResource("default", "cpu")


def a_job(uid: str = "u1", *, name: str = "a", suspend: bool = True, **metadata: Any) -> Job:
    manifest = job_manifest(name, "vision", "2", suspend=suspend)
    manifest["metadata"] |= {"uid": uid, "namespace": "ns", "generation": 1, **metadata}
    manifest["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    return read_job(manifest)


def running_job(uid: str = "u1", **metadata: Any) -> Job:
    return a_job(uid, suspend=False, **{"annotations": {ADMISSION: ADMITTED}, **metadata})


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


@pytest.fixture
def state() -> ClusterState:
    made = ClusterState(QuotaSettings())
    groups = [Group("root", parent=None, is_parent=True), Group("vision"), Group("nlp")]
    made.see_groups([Changed(None, GroupStatusRecord(each.name, 1, each, QuotaGroupStatus())) for each in groups])
    made.see_nodes([Changed(None, ClusterNode("node-0", allocatable={"cpu": 8000}))])
    made.see_namespaces([Changed(None, read_namespace({"metadata": {"name": "ns", "uid": "n1"}}))])
    return made


def kind_of(workload: Workload) -> str:
    """The kind without the uid that distinguishes objects of one name."""
    return workload.kind.partition("/")[0]


def work(state: ClusterState, group: str = "vision") -> list[Workload]:
    return list(state.world().workloads_of(group).by_id.values())


def test_job_counts_in_its_group_until_it_has_finished(state: ClusterState) -> None:
    state.see_jobs([Changed(None, a_job())])
    (found,) = work(state)
    assert (found.key, found.request, found.is_pending) == ("ns/a", {"cpu": 2000}, True)
    state.see_jobs([Changed(a_job(), FinishedOwner("u1"))])
    assert work(state) == []


def test_unchanged_world_is_the_same_object(state: ClusterState) -> None:
    state.see_jobs([Changed(None, a_job())])
    world = state.world()
    assert not state.changed
    state.see_jobs([Changed(a_job(), a_job(annotations={"mine": "1"}))])
    assert not state.changed
    assert state.world() is world


def test_an_assumed_start_counts_until_the_watch_shows_it(state: ClusterState) -> None:
    state.see_jobs([Changed(None, a_job())])
    (pending,) = work(state)
    started = replace(pending, admission=Admission(in_main({"cpu": "default"}), NOW))
    state.work.assume("u1", started, (ADMISSION, "text"))
    assert work(state) == [started]
    state.see_jobs([Changed(a_job(), a_job(resourceVersion="2", annotations={"x": "y"}))])
    assert work(state) == [started]
    state.see_jobs([Changed(a_job(), running_job(generation=2))])
    (seen,) = work(state)
    assert seen.admission == Admission(in_main({"cpu": "default"}), NOW, answered=False)
    state.see_jobs([Changed(running_job(generation=2), answered(running_job(generation=2)))])
    (known,) = work(state)
    assert known.admission == Admission(in_main({"cpu": "default"}), NOW)


def test_a_failed_start_is_pending_again(state: ClusterState) -> None:
    state.see_jobs([Changed(None, a_job())])
    (pending,) = work(state)
    state.work.assume("u1", replace(pending, admission=Admission(in_main({}), NOW)), (ADMISSION, "text"))
    state.work.forget("u1", (ADMISSION, "text"))
    assert work(state) == [pending]


def test_job_created_again_under_the_same_name_is_a_new_workload(state: ClusterState) -> None:
    state.see_jobs([Changed(None, a_job())])
    work(state)
    state.see_jobs([Changed(a_job(), None), Changed(None, a_job("u2"))])
    (found,) = work(state)
    assert found.uid == "u2"
    assert state.work.key_of(found) == "u2"


def test_deleted_job_uses_its_quota_while_its_pods_run(state: ClusterState) -> None:
    job = running_job()
    state.see_jobs([Changed(None, job)])
    state.see_pods([Changed(None, pod_on_node("p1", job="u1"))])
    state.see_jobs([Changed(job, None)])
    (terminating,) = work(state)
    assert (kind_of(terminating), terminating.is_evicting) == (TERMINATING, True)
    assert state.world().unmanaged == {}
    state.see_pods([Changed(pod_on_node("p1", job="u1"), None)])
    assert work(state) == []


@pytest.mark.parametrize("counts", [{"active": 1}, {"terminating": 1}, {}], ids=["they run", "they end", "none yet"])
def test_deleted_job_whose_pods_were_not_seen_yet_uses_its_quota(state: ClusterState, counts: dict[str, int]) -> None:
    job = replace_status(running_job(), **counts)
    state.see_jobs([Changed(None, job), Changed(job, None)])
    assert [(kind_of(each), each.is_evicting) for each in work(state)] == [(TERMINATING, True)]
    assert state.work.unseen_pods == {"u1"}
    state.see_pods([Changed(None, pod_on_node("p1", job="u1"))])
    state.stop_waiting_for_pods("u1")
    assert [kind_of(each) for each in work(state)] == [TERMINATING]
    state.see_pods([Changed(pod_on_node("p1", job="u1"), None)])
    assert work(state) == []


def test_deleted_job_whose_pods_are_never_seen_frees_its_quota_after_a_delay(state: ClusterState) -> None:
    job = replace_status(running_job(), active=1)
    state.see_jobs([Changed(None, job), Changed(job, None)])
    state.stop_waiting_for_pods("u1")
    assert work(state) == []


@pytest.mark.parametrize("end", [None, FinishedOwner("u1")], ids=["gone", "finished"])
def test_job_that_is_known_again_after_its_end_counts_as_before(state: ClusterState, end: FinishedOwner | None) -> None:
    """An API server that is about to know a kind again reports none of its objects."""
    job = answered(running_job())
    state.see_jobs([Changed(None, job)])
    state.see_pods([Changed(None, pod_on_node("p1", job="u1"))])
    state.see_jobs([Changed(job, end), Changed(end, job)])
    state.see_pods([Changed(pod_on_node("p1", job="u1"), None)])
    assert [(kind_of(each), each.request) for each in work(state)] == [("Job", {"cpu": 2000})]
    finished = FinishedOwner("u1")
    state.see_jobs([Changed(job, finished), Changed(finished, None)])
    assert not state.work.knows("u1")


CLAIM = '"for":{"workload":"ns/b","uid":"u2","flavors":{"cpu":"default"}}'
EVICTED = f'{{"reason":"Reclaimed","time":"2026-01-01T00:00:00Z","flavors":{{"cpu":"default"}},{CLAIM}}}'


ELSEWHERE = EVICTED.replace('"workload":"ns/b"', '"group":"b"')
"""As it is written on a victim of another namespace: only the uid says who the preemptor is."""


def claims(state: ClusterState) -> dict[str, list[str]]:
    world = state.world()
    named = {preemptor: world.preemptors[preemptor].key for preemptor in world.victims}
    return {named[preemptor]: sorted(kind_of(each) for each in work) for preemptor, work in world.victims.items()}


def victim_and_preemptor(state: ClusterState, eviction: str = EVICTED) -> tuple[Job, Job]:
    victim = replace_status(a_job(annotations={EVICTION: eviction}), terminating=1)
    preemptor = a_job("u2", name="b")
    state.see_jobs([Changed(None, victim), Changed(None, preemptor)])
    state.see_pods([Changed(None, pod_on_node("p1", job="u1"))])
    assert claims(state) == {"ns/b": ["Job"]}
    return victim, preemptor


@pytest.mark.parametrize("eviction", [EVICTED, ELSEWHERE], ids=["named", "by uid"])
def test_claim_outlives_its_victim_until_the_preemptor_starts(state: ClusterState, eviction: str) -> None:
    victim, preemptor = victim_and_preemptor(state, eviction)
    state.see_jobs([Changed(victim, None)])
    assert claims(state) == {"ns/b": [TERMINATING]}
    state.see_pods([Changed(pod_on_node("p1", job="u1"), None)])
    assert claims(state) == {"ns/b": [ORPHANED]}
    assert [(each.request, each.admission) for each in work(state) if kind_of(each) == ORPHANED] == [({}, None)]
    (waiting,) = [each for each in work(state) if each.key == "ns/b"]
    started = replace(waiting, admission=Admission(in_main({"cpu": "default"}), NOW, answered=False))
    state.work.assume("u2", started, (ADMISSION, ADMITTED))
    assert claims(state) == {"ns/b": [ORPHANED]}
    state.see_jobs([Changed(preemptor, running_job("u2", name="b", generation=2))])
    assert claims(state) == {}
    assert [each.key for each in work(state)] == ["ns/b"]


def test_claim_of_a_finished_victim_stays_until_it_is_ended(state: ClusterState) -> None:
    victim, _ = victim_and_preemptor(state)
    state.see_jobs([Changed(victim, FinishedOwner("u1"))])
    assert claims(state) == {"ns/b": [TERMINATING]}
    state.see_pods([Changed(pod_on_node("p1", job="u1"), None)])
    assert claims(state) == {"ns/b": [ORPHANED]}
    (orphan,) = [each for each in work(state) if kind_of(each) == ORPHANED]
    state.work.end_claim(orphan)
    assert claims(state) == {}


def test_fulfilled_claim_is_deleted_with_its_victim(state: ClusterState) -> None:
    victim, preemptor = victim_and_preemptor(state)
    state.see_jobs(
        [Changed(preemptor, running_job("u2", name="b", generation=2)), Changed(victim, FinishedOwner("u1"))]
    )
    state.see_pods([Changed(pod_on_node("p1", job="u1"), None)])
    assert claims(state) == {}


def test_unmanaged_system_and_orphaned_use_are_distinguished(state: ClusterState) -> None:
    state.see_jobs([Changed(None, running_job())])
    pods = [
        pod_on_node("p1", job="u1"),
        pod_on_node("p2"),
        pod_on_node("p3", namespace="kube-system"),
        pod_on_node("p4", job="unknown"),
    ]
    state.see_pods([Changed(None, each) for each in pods])
    world = state.world()
    assert world.unmanaged == {CPU: 6000}
    assert world.system == {CPU: 3000}


def test_pods_of_a_just_finished_job_are_not_subtracted_from_capacity(state: ClusterState) -> None:
    state.see_jobs([Changed(None, running_job())])
    state.see_pods([Changed(None, pod_on_node("p1", job="u1"))])
    state.see_jobs([Changed(running_job(), FinishedOwner("u1"))])
    assert state.world().unmanaged == {}


def test_unadmitted_running_workload_waits_for_adoption(state: ClusterState) -> None:
    state.see_jobs([Changed(None, a_job(suspend=False))])
    (found,) = work(state)
    assert found.hold
    assert list(state.work.unadmitted_running) == ["u1"]
    state.see_jobs([Changed(a_job(suspend=False), running_job())])
    assert state.work.unadmitted_running == {}


def test_complete_pod_group_is_one_workload(state: ClusterState) -> None:
    labels = {POD_GROUP_LABEL: "gang", POD_GROUP_SIZE_LABEL: "2"}
    state.see_pods([Changed(None, a_pod("p1", **labels))])
    (waiting,) = work(state)
    assert waiting.hold
    state.see_pods([Changed(None, a_pod("p2", **labels))])
    (complete,) = work(state)
    assert (complete.kind, complete.key, complete.hold) == ("PodGroup", "ns/gang", False)
    assert complete.request == {"cpu": 2000}
    assert {each.metadata.uid for each in state.work.objects("ns/gang")} == {"p1", "p2"}


def test_remaining_pods_of_a_pod_group_are_one_workload(state: ClusterState) -> None:
    labels = {POD_GROUP_LABEL: "gang", POD_GROUP_SIZE_LABEL: "2"}
    ended = PodRecord(read_pod(ended_pod("p1", **labels)), None)
    state.see_pods([Changed(None, ended), Changed(None, a_pod("p2", **labels))])
    (rest,) = work(state)
    assert (rest.is_pending, rest.hold, rest.request) == (True, False, {"cpu": 1000})
    assert [each.metadata.uid for each in state.work.objects("ns/gang")] == ["p2"]


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
    state.see_pods([Changed(None, each) for each in old])
    state.see_pods([Changed(before, after) for before, after in zip(old, ending, strict=True)])
    state.see_pods([Changed(None, a_pod("p3", **GANG))])
    assert {each.key: each.hold for each in work(state)} == {"ns/gang": False, "ns/p3": True}
    state.see_pods([Changed(each, None) for each in ending])
    assert [(each.key, each.hold) for each in work(state)] == [("ns/gang", True)]
    state.see_pods([Changed(None, a_pod("p4", **GANG))])
    assert [(each.key, each.hold, each.request) for each in work(state)] == [("ns/gang", False, {"cpu": 2000})]


def test_pod_group_does_not_wait_for_a_separately_started_pod(state: ClusterState) -> None:
    state.see_pods([Changed(None, started_pod("p1"))])
    state.see_pods([Changed(None, a_pod("p2", **GANG))])
    assert {each.key: (each.is_pending, each.hold) for each in work(state)} == {
        "ns/p1": (False, False),
        "ns/gang": (True, False),
    }


def test_pod_group_counts_a_pod_that_is_started_separately_later(state: ClusterState) -> None:
    state.see_pods([Changed(None, a_pod("p2", **GANG))])
    assert [(each.key, each.hold) for each in work(state)] == [("ns/gang", True)]
    state.see_pods([Changed(None, started_pod("p1"))])
    assert {each.key: each.hold for each in work(state)} == {"ns/p1": False, "ns/gang": False}
    state.see_pods([Changed(started_pod("p1"), None)])
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


def test_group_that_does_not_admit_the_namespace_keeps_its_workloads_pending(state: ClusterState) -> None:
    picky = Group("vision", namespace_selector=LabelSelector({"team": "vision"}))
    state.see_jobs([Changed(None, a_job())])
    before = GroupStatusRecord("vision", 1, Group("vision"), QuotaGroupStatus())
    state.see_groups([Changed(before, GroupStatusRecord("vision", 2, picky, QuotaGroupStatus()))])
    assert [each.hold for each in work(state)] == [True]
    assert state.work.new_problems == {"u1": ("group vision does not admit namespace ns; it waits",)}
    namespace = {"metadata": {"name": "ns", "uid": "n1", "labels": {"team": "vision"}}}
    state.see_namespaces([Changed(None, read_namespace(namespace))])
    assert [each.hold for each in work(state)] == [False]


def record(name: str, **spec: Any) -> GroupStatusRecord:
    return GroupStatusRecord(name, 1, Group(name, **spec), QuotaGroupStatus())


def test_workloads_are_read_again_only_where_admitted_namespaces_change(state: ClusterState) -> None:
    state.see_groups([Changed(None, record("vision"))])
    state.see_jobs([Changed(None, a_job())])
    state.world()
    before = work(state)[0]
    selecting = LabelSelector({"team": "vision"})
    root = record("root")
    state.see_groups([Changed(None, root)])
    assert work(state)[0] is before
    state.see_groups([Changed(root, record("root", namespace_selector=selecting))])
    assert [each.hold for each in work(state)] == [True]
    state.see_groups([Changed(record("root", namespace_selector=selecting), None)])
    assert [each.hold for each in work(state)] == [False]


def test_equal_job_specs_share_one_object() -> None:
    first, same, other = (
        project_job(msgspec.json.encode(each)) for each in (a_job("u1"), a_job("u2"), a_job("u3", suspend=False))
    )
    assert isinstance(first, Job)
    assert isinstance(same, Job)
    assert isinstance(other, Job)
    assert first.spec is same.spec
    assert other.spec != first.spec
    assert first != same


def test_loss_of_readiness_is_recorded(state: ClusterState) -> None:
    ready = replace_status(running_job(), ready=1)
    state.see_jobs([Changed(None, ready)])
    assert [each.admission and each.admission.ready for each in work(state)] == [True]
    state.see_jobs([Changed(ready, running_job())])
    (unready,) = work(state)
    assert unready.admission == Admission(in_main({"cpu": "default"}), NOW, was_ready=True, answered=False)
    assert state.work.unready == {"u1"}


def replace_status(job: Job, **status: Any) -> Job:
    return msgspec.structs.replace(job, status=msgspec.structs.replace(job.status, **status))


def answered(job: Job) -> Job:
    """As the Job controller leaves it when it has seen the start."""
    return replace_status(job, start_time=NOW)


def suspended(job: Job, seen: datetime) -> Job:
    """As the Job controller leaves it when it has seen the suspension."""
    return replace_status(job, conditions=[ObservedCondition("Suspended", "True", last_transition_time=seen)])


def revoked_starts(at_creation: datetime | None = None) -> Job:
    """Its owner suspends it right after its start; at its creation it was seen suspended, or not."""
    job = a_job(generation=3, annotations={ADMISSION: ADMITTED}, labels={GROUP_LABEL: "vision", HOLD_LABEL: "true"})
    return job if at_creation is None else suspended(job, at_creation)


@pytest.mark.parametrize("at_creation", [None, NOW], ids=["never seen suspended", "seen suspended at its creation"])
def test_start_revoked_by_its_owner_counts_until_the_job_controller_has_seen_it(
    state: ClusterState, at_creation: datetime | None
) -> None:
    started, back = running_job(generation=2), revoked_starts(at_creation)
    state.see_jobs([Changed(None, started)])
    state.see_jobs([Changed(started, back)])
    assert [(each.is_evicting, each.hold) for each in work(state)] == [(True, True)]
    assert [each.key for each in state.work.revoked_starts.delays.new] == ["u1"]
    state.see_jobs([Changed(back, suspended(back, after(5)))])
    assert [(each.is_pending, each.hold) for each in work(state)] == [(True, True)]
    assert state.work.revoked_starts.delays.new == []


def test_revoked_start_stops_counting_after_a_delay(state: ClusterState) -> None:
    started = running_job(generation=2)
    state.see_jobs([Changed(None, started), Changed(started, revoked_starts(NOW))])
    assert [each.is_evicting for each in work(state)] == [True]
    (delay,) = state.work.revoked_starts.delays.new
    state.work.stop_waiting_for_answer(delay)
    assert [each.is_pending for each in work(state)] == [True]


def test_time_limit_of_an_earlier_delay_does_not_end_a_later_one(state: ClusterState) -> None:
    started, back = running_job(generation=2), revoked_starts()
    state.see_jobs([Changed(None, started), Changed(started, back)])
    (earlier,) = state.work.revoked_starts.delays.new
    noted = suspended(back, after(5))
    state.see_jobs([Changed(back, noted)])
    state.see_jobs([Changed(noted, started), Changed(started, back)])
    state.work.stop_waiting_for_answer(earlier)
    assert [each.is_evicting for each in work(state)] == [True]
    (later,) = state.work.revoked_starts.delays.new
    state.work.stop_waiting_for_answer(later)
    assert [each.is_pending for each in work(state)] == [True]


def test_assumed_start_revoked_before_it_was_seen_counts(state: ClusterState) -> None:
    state.see_jobs([Changed(None, a_job())])
    (pending,) = work(state)
    started = replace(pending, admission=Admission(in_main({"cpu": "default"}), NOW, answered=False))
    state.work.assume("u1", started, (ADMISSION, ADMITTED))
    state.see_jobs([Changed(a_job(), revoked_starts())])
    assert [each.is_evicting for each in work(state)] == [True]


@pytest.mark.parametrize("edited", [False, True], ids=["it failed", "the owner's edit came first"])
def test_failed_start_leaves_the_job_pending(state: ClusterState, edited: bool) -> None:
    previous = {ADMISSION: ADMITTED.replace("2026", "2025")}
    state.see_jobs([Changed(None, a_job(annotations=previous))])
    (pending,) = work(state)
    started = replace(pending, admission=Admission(in_main({"cpu": "default"}), NOW, answered=False))
    state.work.assume("u1", started, (ADMISSION, ADMITTED))
    if edited:
        state.see_jobs([Changed(a_job(annotations=previous), a_job(annotations=previous, generation=2))])
    state.work.forget("u1", (ADMISSION, ADMITTED))
    assert work(state) == [pending]


def test_job_suspended_by_its_owner_is_free_when_its_pods_have_ended(state: ClusterState) -> None:
    started, back = answered(running_job(generation=2)), revoked_starts()
    state.see_jobs([Changed(None, started), Changed(started, answered(back))])
    assert [each.is_evicting for each in work(state)] == [True]
    state.see_jobs([Changed(answered(back), back)])
    assert [each.is_pending for each in work(state)] == [True]
    assert state.work.revoked_starts.delays.new == []


def test_suspended_job_counts_until_its_pods_have_ended(state: ClusterState) -> None:
    note = '{"reason":"Reclaimed","time":"2026-01-01T00:00:00Z","flavors":{"cpu":"default"}}'
    evicted = a_job(annotations={EVICTION: note})
    state.see_jobs([Changed(None, replace_status(evicted, terminating=1))])
    assert [each.is_evicting for each in work(state)] == [True]
    state.see_jobs([Changed(None, evicted)])
    assert [each.is_pending for each in work(state)] == [True]


def test_finished_job_keeps_minimal_data() -> None:
    manifest = job_manifest("a", "vision")
    manifest["metadata"]["uid"] = "u1"
    manifest["status"] = {"conditions": [{"type": "Complete", "status": "True"}]}
    assert project_job(msgspec.json.encode(manifest)) == FinishedOwner("u1")
