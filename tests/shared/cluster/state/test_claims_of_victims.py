"""A claim is written on the victim, and outlives it until its preemptor starts."""

from dataclasses import replace

import pytest

from shared.api.core.job import Job
from shared.api.names import ADMISSION, EVICTION
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.observed.projections import FinishedOwner
from shared.cluster.state.observed.terminating import ORPHANED, TERMINATING
from shared.kube.watch.cache import Changed
from shared.quota.model.workload import Admission
from tests.builders import NOW, in_main
from tests.shared.cluster.state.objects import ADMITTED, a_job, kind_of, pod_on_node, replace_status, running_job, work

CLAIM = '"for":{"workload":"ns/b","uid":"u2","flavors":{"cpu":"default"}}'
EVICTED = f'{{"reason":"Reclaimed","time":"2026-01-01T00:00:00Z","flavors":{{"cpu":"default"}},{CLAIM}}}'
ELSEWHERE = EVICTED.replace('"workload":"ns/b"', '"group":"b"')
"""As it is written on a victim of another namespace: only the uid says who the preemptor is."""


def claims(state: ClusterState) -> dict[str, list[str]]:
    world = state.world()
    assert world.preemptors.keys() <= world.victims.keys()
    named = {preemptor: world.preemptors[preemptor].key for preemptor in world.victims}
    return {named[preemptor]: sorted(kind_of(each) for each in work) for preemptor, work in world.victims.items()}


def victim_and_preemptor(state: ClusterState, eviction: str = EVICTED) -> tuple[Job, Job]:
    victim = replace_status(a_job(annotations={EVICTION: eviction}), terminating=1)
    preemptor = a_job("u2", name="b")
    state.observe_jobs([Changed(None, victim), Changed(None, preemptor)])
    state.observe_pods([Changed(None, pod_on_node("p1", job="u1"))])
    assert claims(state) == {"ns/b": ["Job"]}
    return victim, preemptor


@pytest.mark.parametrize("eviction", [EVICTED, ELSEWHERE], ids=["named", "by uid"])
def test_preemptor_that_was_known_before_its_victim_is_found(state: ClusterState, eviction: str) -> None:
    state.observe_jobs([Changed(None, a_job("u2", name="b")), Changed(None, a_job("u3", name="c"))])
    assert claims(state) == {}
    victim = replace_status(a_job(annotations={EVICTION: eviction}), terminating=1)
    state.observe_jobs([Changed(None, victim)])
    assert claims(state) == {"ns/b": ["Job"]}


@pytest.mark.parametrize("eviction", [EVICTED, ELSEWHERE], ids=["named", "by uid"])
def test_claim_outlives_its_victim_until_the_preemptor_starts(state: ClusterState, eviction: str) -> None:
    victim, preemptor = victim_and_preemptor(state, eviction)
    state.observe_jobs([Changed(victim, None)])
    assert claims(state) == {"ns/b": [TERMINATING]}
    state.observe_pods([Changed(pod_on_node("p1", job="u1"), None)])
    assert claims(state) == {"ns/b": [ORPHANED]}
    assert [(each.request, each.admission) for each in work(state) if kind_of(each) == ORPHANED] == [({}, None)]
    (waiting,) = [each for each in work(state) if each.key == "ns/b"]
    started = replace(waiting, admission=Admission(in_main({"cpu": "default"}), NOW, answered=False))
    state.work.decided.assume("u2", started, (ADMISSION, ADMITTED))
    assert claims(state) == {"ns/b": [ORPHANED]}
    state.observe_jobs([Changed(preemptor, running_job("u2", name="b", generation=2))])
    assert claims(state) == {}
    assert [each.key for each in work(state)] == ["ns/b"]


def test_claim_of_a_finished_victim_stays_until_it_is_ended(state: ClusterState) -> None:
    victim, _ = victim_and_preemptor(state)
    state.observe_jobs([Changed(victim, FinishedOwner("u1"))])
    assert claims(state) == {"ns/b": [TERMINATING]}
    state.observe_pods([Changed(pod_on_node("p1", job="u1"), None)])
    assert claims(state) == {"ns/b": [ORPHANED]}
    (orphan,) = [each for each in work(state) if kind_of(each) == ORPHANED]
    state.work.readings.end_claim(orphan)
    assert claims(state) == {}


def test_fulfilled_claim_is_deleted_with_its_victim(state: ClusterState) -> None:
    victim, preemptor = victim_and_preemptor(state)
    state.observe_jobs(
        [Changed(preemptor, running_job("u2", name="b", generation=2)), Changed(victim, FinishedOwner("u1"))]
    )
    state.observe_pods([Changed(pod_on_node("p1", job="u1"), None)])
    assert claims(state) == {}
