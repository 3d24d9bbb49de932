"""Pods whose controller does not account for them count as unmanaged after a time limit, and are reported once."""

import pytest

from shared.api.core.job import Job
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.observed.projections import FinishedOwner
from shared.kube.watch.cache import Changed
from tests.shared.cluster.state.objects import CPU, PODS, a_job, answered, pod_on_node, running_job


def reported(state: ClusterState) -> list[str]:
    found = [each.name for each in state.work.owners.strays.untold]
    state.work.owners.strays.untold.clear()
    return found


@pytest.mark.parametrize("owner", [FinishedOwner("u1"), a_job()], ids=["finished", "waiting"])
def test_pod_counts_as_unmanaged_when_its_time_is_up(state: ClusterState, owner: Job | FinishedOwner) -> None:
    state.observe_jobs([Changed(None, owner)])
    state.observe_pods([Changed(None, pod_on_node("p1", job="u1"))])
    assert (state.work.owners.strays.new, state.world().unmanaged, reported(state)) == ({"u1"}, {}, [])
    state.objects.stop_waiting_for_strays("u1")
    assert (state.world().unmanaged, reported(state)) == ({CPU: 3000, PODS: 1}, ["p1"])
    state.observe_pods([Changed(None, pod_on_node("p2", job="u1"))])
    assert (state.world().unmanaged, reported(state)) == ({CPU: 6000, PODS: 2}, ["p2"])
    state.observe_pods([Changed(pod_on_node("p1", job="u1"), None), Changed(pod_on_node("p2", job="u1"), None)])
    assert state.world().unmanaged == {}
    assert "u1" not in state.work.owners.strays


def test_pod_that_ends_in_time_is_not_reported(state: ClusterState) -> None:
    state.observe_jobs([Changed(None, FinishedOwner("u1"))])
    state.observe_pods([Changed(None, pod_on_node("p1", job="u1"))])
    state.observe_pods([Changed(pod_on_node("p1", job="u1"), None)])
    state.objects.stop_waiting_for_strays("u1")
    assert (state.world().unmanaged, reported(state)) == ({}, [])


def test_controller_that_starts_accounts_for_its_pods_again(state: ClusterState) -> None:
    state.observe_jobs([Changed(None, a_job())])
    state.observe_pods([Changed(None, pod_on_node("p1", job="u1"))])
    state.objects.stop_waiting_for_strays("u1")
    assert state.world().unmanaged == {CPU: 3000, PODS: 1}
    state.observe_jobs([Changed(a_job(), answered(running_job()))])
    assert state.world().unmanaged == {}


def test_terminating_pods_of_a_job_that_was_admitted_are_its_use(state: ClusterState) -> None:
    state.observe_jobs([Changed(None, running_job())])
    state.observe_pods([Changed(None, pod_on_node("p1", job="u1"))])
    state.observe_jobs([Changed(running_job(), FinishedOwner("u1"))])
    assert not state.work.owners.strays.new
