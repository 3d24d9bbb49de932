"""What the watches said, and over it what was decided: as the world that the next cycle starts from."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from shared.api.core.job import Job
from shared.api.core.namespace import read_namespace
from shared.api.core.selectors import LabelSelector
from shared.api.names import ADMISSION, EVICTION
from shared.api.quotagroup import QuotaGroupStatus
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.observed.projections import FinishedOwner, GroupStatusRecord, project_job
from shared.cluster.state.observed.terminating import TERMINATING
from shared.kube.watch.cache import Changed
from shared.quota.model.tree import Entry, Group, Override, StopPolicy
from shared.quota.model.workload import Admission, EvictionReason
from tests.builders import NOW, after, in_main
from tests.reconciler.reconciler_process import job_manifest
from tests.shared.cluster.state.objects import (
    CPU,
    PODS,
    a_job,
    answered,
    kind_of,
    pod_on_node,
    replace_status,
    running_job,
    work,
)


def test_job_counts_in_its_group_until_it_has_finished(state: ClusterState) -> None:
    state.observe_jobs([Changed(None, a_job())])
    (found,) = work(state)
    assert (found.key, found.request, found.is_pending) == ("ns/a", {"cpu": 2000}, True)
    state.observe_jobs([Changed(a_job(), FinishedOwner("u1"))])
    assert work(state) == []


def test_unchanged_world_is_the_same_object(state: ClusterState) -> None:
    state.observe_jobs([Changed(None, a_job())])
    world = state.world()
    assert not state.changed
    state.observe_jobs([Changed(a_job(), a_job(annotations={"mine": "1"}))])
    assert not state.changed
    assert state.world() is world


def test_an_assumed_start_counts_until_the_watch_shows_it(state: ClusterState) -> None:
    state.observe_jobs([Changed(None, a_job())])
    (pending,) = work(state)
    started = replace(pending, admission=Admission(in_main({"cpu": "default"}), NOW))
    state.work.decided.assume("u1", started, (ADMISSION, "text"))
    assert work(state) == [started]
    state.observe_jobs([Changed(a_job(), a_job(resourceVersion="2", annotations={"x": "y"}))])
    assert work(state) == [started]
    state.observe_jobs([Changed(a_job(), running_job(generation=2))])
    (seen,) = work(state)
    assert seen.admission == Admission(in_main({"cpu": "default"}), NOW, answered=False)
    state.observe_jobs([Changed(running_job(generation=2), answered(running_job(generation=2)))])
    (known,) = work(state)
    assert known.admission == Admission(in_main({"cpu": "default"}), NOW)


def test_a_failed_start_is_pending_again(state: ClusterState) -> None:
    state.observe_jobs([Changed(None, a_job())])
    (pending,) = work(state)
    state.work.decided.assume("u1", replace(pending, admission=Admission(in_main({}), NOW)), (ADMISSION, "text"))
    state.work.decided.forget("u1", (ADMISSION, "text"))
    assert work(state) == [pending]


def test_job_created_again_under_the_same_name_is_a_new_workload(state: ClusterState) -> None:
    state.observe_jobs([Changed(None, a_job())])
    work(state)
    state.observe_jobs([Changed(a_job(), None), Changed(None, a_job("u2"))])
    (found,) = work(state)
    assert found.uid == "u2"
    assert state.work.index.key_of(found) == "u2"


def test_deleted_job_uses_its_quota_while_its_pods_run(state: ClusterState) -> None:
    job = running_job()
    state.observe_jobs([Changed(None, job)])
    state.observe_pods([Changed(None, pod_on_node("p1", job="u1"))])
    state.observe_jobs([Changed(job, None)])
    (terminating,) = work(state)
    assert (kind_of(terminating), terminating.is_evicting) == (TERMINATING, True)
    assert state.world().unmanaged == {}
    state.observe_pods([Changed(pod_on_node("p1", job="u1"), None)])
    assert work(state) == []


@pytest.mark.parametrize("counts", [{"active": 1}, {"terminating": 1}, {}], ids=["they run", "they end", "none yet"])
def test_deleted_job_whose_pods_were_not_seen_yet_uses_its_quota(state: ClusterState, counts: dict[str, int]) -> None:
    job = replace_status(running_job(), **counts)
    state.observe_jobs([Changed(None, job), Changed(job, None)])
    assert [(kind_of(each), each.is_evicting) for each in work(state)] == [(TERMINATING, True)]
    assert state.work.owners.unseen_pods == {"u1"}
    state.observe_pods([Changed(None, pod_on_node("p1", job="u1"))])
    state.objects.stop_waiting_for_pods("u1")
    assert [kind_of(each) for each in work(state)] == [TERMINATING]
    state.observe_pods([Changed(pod_on_node("p1", job="u1"), None)])
    assert work(state) == []


def test_deleted_job_whose_pods_are_never_seen_frees_its_quota_after_a_delay(state: ClusterState) -> None:
    job = replace_status(running_job(), active=1)
    state.observe_jobs([Changed(None, job), Changed(job, None)])
    state.objects.stop_waiting_for_pods("u1")
    assert work(state) == []


@pytest.mark.parametrize("end", [None, FinishedOwner("u1")], ids=["gone", "finished"])
def test_job_that_is_known_again_after_its_end_counts_as_before(state: ClusterState, end: FinishedOwner | None) -> None:
    """An API server that is about to know a kind again reports none of its objects."""
    job = answered(running_job())
    state.observe_jobs([Changed(None, job)])
    state.observe_pods([Changed(None, pod_on_node("p1", job="u1"))])
    state.observe_jobs([Changed(job, end), Changed(end, job)])
    state.observe_pods([Changed(pod_on_node("p1", job="u1"), None)])
    assert [(kind_of(each), each.request) for each in work(state)] == [("Job", {"cpu": 2000})]
    finished = FinishedOwner("u1")
    state.observe_jobs([Changed(job, finished), Changed(finished, None)])
    assert not state.work.owners.knows("u1")


def test_unmanaged_system_and_orphaned_use_are_distinguished(state: ClusterState) -> None:
    state.observe_jobs([Changed(None, running_job())])
    pods = [
        pod_on_node("p1", job="u1"),
        pod_on_node("p2"),
        pod_on_node("p3", namespace="kube-system"),
        pod_on_node("p4", job="unknown"),
    ]
    state.observe_pods([Changed(None, each) for each in pods])
    world = state.world()
    assert world.unmanaged == {CPU: 6000, PODS: 2}
    assert world.system == {CPU: 3000, PODS: 1}


def test_pods_of_a_just_finished_job_are_not_subtracted_from_capacity(state: ClusterState) -> None:
    state.observe_jobs([Changed(None, running_job())])
    state.observe_pods([Changed(None, pod_on_node("p1", job="u1"))])
    state.observe_jobs([Changed(running_job(), FinishedOwner("u1"))])
    assert state.world().unmanaged == {}


def test_unadmitted_running_workload_waits_for_adoption(state: ClusterState) -> None:
    state.observe_jobs([Changed(None, a_job(suspend=False))])
    (found,) = work(state)
    assert found.hold
    assert list(state.work.follow_ups.unadmitted_running) == ["u1"]
    state.observe_jobs([Changed(a_job(suspend=False), running_job())])
    assert state.work.follow_ups.unadmitted_running == {}


def test_group_with_another_generation_is_a_change_and_one_with_another_status_is_not(state: ClusterState) -> None:
    before = GroupStatusRecord("vision", 1, Group("vision"), QuotaGroupStatus())
    state.observe_groups([Changed(None, before)])
    state.world()
    state.observe_groups(
        [Changed(before, msgspec.structs.replace(before, status=QuotaGroupStatus(observed_generation=1)))]
    )
    assert not state.changed
    state.observe_groups([Changed(before, msgspec.structs.replace(before, generation=2))])
    assert state.changed


def test_group_that_does_not_admit_the_namespace_keeps_its_workloads_pending(state: ClusterState) -> None:
    picky = Group("vision", namespace_selector=LabelSelector({"team": "vision"}))
    state.observe_jobs([Changed(None, a_job())])
    before = GroupStatusRecord("vision", 1, Group("vision"), QuotaGroupStatus())
    state.observe_groups([Changed(before, GroupStatusRecord("vision", 2, picky, QuotaGroupStatus()))])
    assert [each.hold for each in work(state)] == [True]
    assert state.work.follow_ups.new_problems == {"u1": ("group vision does not admit namespace ns; it waits",)}
    namespace = {"metadata": {"name": "ns", "uid": "n1", "labels": {"team": "vision"}}}
    state.observe_namespaces([Changed(None, read_namespace(namespace))])
    assert [each.hold for each in work(state)] == [False]


def record(name: str, **spec: Any) -> GroupStatusRecord:
    return GroupStatusRecord(name, 1, Group(name, **spec), QuotaGroupStatus())


def test_workloads_are_read_again_only_where_admitted_namespaces_change(state: ClusterState) -> None:
    state.observe_groups([Changed(None, record("vision"))])
    state.observe_jobs([Changed(None, a_job())])
    state.world()
    before = work(state)[0]
    selecting = LabelSelector({"team": "vision"})
    root = record("root")
    state.observe_groups([Changed(None, root)])
    assert work(state)[0] is before
    state.observe_groups([Changed(root, record("root", namespace_selector=selecting))])
    assert [each.hold for each in work(state)] == [True]
    state.observe_groups([Changed(record("root", namespace_selector=selecting), None)])
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
    state.observe_jobs([Changed(None, ready)])
    assert [each.admission and each.admission.ready for each in work(state)] == [True]
    state.observe_jobs([Changed(ready, running_job())])
    (unready,) = work(state)
    assert unready.admission == Admission(in_main({"cpu": "default"}), NOW, was_ready=True, answered=False)
    assert state.work.follow_ups.unready == {"u1"}


def test_loss_of_readiness_of_an_evicted_job_is_not_recorded(state: ClusterState) -> None:
    ready = replace_status(running_job(), ready=1, active=1)
    state.observe_jobs([Changed(None, ready)])
    note = {"flavors": {"cpu": "default"}, "reason": "Reclaimed", "since": "2026-01-01T00:00:00Z"}
    written = msgspec.json.encode(note | {"time": "2026-01-01T00:01:00Z"}).decode()
    stopped = replace_status(a_job(annotations={EVICTION: written}), active=0, terminating=1)
    state.observe_jobs([Changed(ready, stopped)])
    (evicting,) = work(state)
    assert evicting.eviction is not None
    assert evicting.eviction.reason is EvictionReason.RECLAIMED
    assert state.work.follow_ups.unready == set()


def test_finished_job_keeps_minimal_data() -> None:
    manifest = job_manifest("a", "vision")
    manifest["metadata"]["uid"] = "u1"
    manifest["status"] = {"conditions": [{"type": "Complete", "status": "True"}]}
    assert project_job(msgspec.json.encode(manifest)) == FinishedOwner("u1")


def test_start_is_answered_by_all_its_pods_even_without_a_start_time(state: ClusterState) -> None:
    state.observe_jobs([Changed(None, running_job())])
    assert [each.is_answered for each in work(state)] == [False]
    state.observe_pods([Changed(None, pod_on_node("p1", job="u1"))])
    assert [each.is_answered for each in work(state)] == [True]


def test_start_is_not_answered_by_some_of_its_pods(state: ClusterState) -> None:
    job = running_job()
    many = msgspec.structs.replace(job, spec=msgspec.structs.replace(job.spec, parallelism=2, completions=2))
    state.observe_jobs([Changed(None, many)])
    state.observe_pods([Changed(None, pod_on_node("p1", job="u1"))])
    assert [each.is_answered for each in work(state)] == [False]
    state.observe_pods([Changed(None, pod_on_node("p2", job="u1"))])
    assert [each.is_answered for each in work(state)] == [True]


def test_the_world_has_the_tree_in_force_and_wakes_at_its_next_border(state: ClusterState) -> None:
    grant = Override(after(60), after(120), (Entry("default", min={"cpu": 7000}),))
    group = Group("timed", quotas=(Entry("default", min={"cpu": 1000}),), overrides=(grant,))
    state.observe_groups([Changed(None, GroupStatusRecord("g", 1, group, QuotaGroupStatus()))])
    found = {}
    for seconds in (0, 60, 119, 120, 60):
        world = state.world_at(after(seconds))
        assert not state.changed
        assert world.written is None or world.written["timed"] is group
        found[seconds] = (world.tree["timed"].quotas[0].min["cpu"], state.next_change)
    assert found == {0: (1000, after(60)), 60: (7000, after(120)), 119: (7000, after(120)), 120: (1000, None)}


def test_the_tree_is_another_object_only_where_a_border_was_passed(state: ClusterState) -> None:
    group = Group("timed", overrides=(Override(after(60), after(120), stop_policy=StopPolicy.HOLD),))
    state.observe_groups([Changed(None, GroupStatusRecord("g", 1, group, QuotaGroupStatus()))])
    trees = [state.world_at(after(seconds)).tree for seconds in (0, 59, 60, 119, 121, 500)]
    assert [each["timed"].stop_policy for each in trees] == [StopPolicy.NONE] * 2 + [StopPolicy.HOLD] * 2 + [
        StopPolicy.NONE
    ] * 2
    assert trees[0] is trees[1]
    assert trees[2] is trees[3]
    assert trees[4] is trees[5]
