"""A Job that its owner suspends again right after its start counts until its pods have ended."""

from dataclasses import replace
from datetime import datetime

import pytest

from shared.api.conditions import ObservedCondition
from shared.api.core.job import Job
from shared.api.names import ADMISSION, EVICTION, GROUP_LABEL, HOLD_LABEL
from shared.cluster.state.cluster_state import ClusterState
from shared.kube.watch.cache import Changed
from shared.quota.model.workload import Admission
from tests.builders import NOW, after, in_main
from tests.shared.cluster.state.objects import ADMITTED, a_job, answered, replace_status, running_job, work


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
    state.observe_jobs([Changed(None, started)])
    state.observe_jobs([Changed(started, back)])
    assert [(each.is_evicting, each.hold) for each in work(state)] == [(True, True)]
    assert [each.key for each in state.work.overlay.revoked_starts.delays.new] == ["u1"]
    state.observe_jobs([Changed(back, suspended(back, after(5)))])
    assert [(each.is_pending, each.hold) for each in work(state)] == [(True, True)]
    assert state.work.overlay.revoked_starts.delays.new == []


def test_revoked_start_stops_counting_after_a_delay(state: ClusterState) -> None:
    started = running_job(generation=2)
    state.observe_jobs([Changed(None, started), Changed(started, revoked_starts(NOW))])
    assert [each.is_evicting for each in work(state)] == [True]
    (delay,) = state.work.overlay.revoked_starts.delays.new
    state.work.decided.stop_waiting_for_answer(delay)
    assert [each.is_pending for each in work(state)] == [True]


def test_time_limit_of_an_earlier_delay_does_not_end_a_later_one(state: ClusterState) -> None:
    started, back = running_job(generation=2), revoked_starts()
    state.observe_jobs([Changed(None, started), Changed(started, back)])
    (earlier,) = state.work.overlay.revoked_starts.delays.new
    noted = suspended(back, after(5))
    state.observe_jobs([Changed(back, noted)])
    state.observe_jobs([Changed(noted, started), Changed(started, back)])
    state.work.decided.stop_waiting_for_answer(earlier)
    assert [each.is_evicting for each in work(state)] == [True]
    (later,) = state.work.overlay.revoked_starts.delays.new
    state.work.decided.stop_waiting_for_answer(later)
    assert [each.is_pending for each in work(state)] == [True]


def test_assumed_start_revoked_before_it_was_seen_counts(state: ClusterState) -> None:
    state.observe_jobs([Changed(None, a_job())])
    (pending,) = work(state)
    started = replace(pending, admission=Admission(in_main({"cpu": "default"}), NOW, answered=False))
    state.work.decided.assume("u1", started, (ADMISSION, ADMITTED))
    state.observe_jobs([Changed(a_job(), revoked_starts())])
    assert [each.is_evicting for each in work(state)] == [True]


@pytest.mark.parametrize("edited", [False, True], ids=["it failed", "the owner's edit came first"])
def test_failed_start_leaves_the_job_pending(state: ClusterState, edited: bool) -> None:
    previous = {ADMISSION: ADMITTED.replace("2026", "2025")}
    state.observe_jobs([Changed(None, a_job(annotations=previous))])
    (pending,) = work(state)
    started = replace(pending, admission=Admission(in_main({"cpu": "default"}), NOW, answered=False))
    state.work.decided.assume("u1", started, (ADMISSION, ADMITTED))
    if edited:
        state.observe_jobs([Changed(a_job(annotations=previous), a_job(annotations=previous, generation=2))])
    state.work.decided.forget("u1", (ADMISSION, ADMITTED))
    assert work(state) == [pending]


def test_job_suspended_by_its_owner_is_free_when_its_pods_have_ended(state: ClusterState) -> None:
    started, back = answered(running_job(generation=2)), revoked_starts()
    state.observe_jobs([Changed(None, started), Changed(started, answered(back))])
    assert [each.is_evicting for each in work(state)] == [True]
    state.observe_jobs([Changed(answered(back), back)])
    assert [each.is_pending for each in work(state)] == [True]
    assert state.work.overlay.revoked_starts.delays.new == []


def test_suspended_job_counts_until_its_pods_have_ended(state: ClusterState) -> None:
    note = '{"reason":"Reclaimed","time":"2026-01-01T00:00:00Z","flavors":{"cpu":"default"}}'
    evicted = a_job(annotations={EVICTION: note})
    state.observe_jobs([Changed(None, replace_status(evicted, terminating=1))])
    assert [each.is_evicting for each in work(state)] == [True]
    state.observe_jobs([Changed(None, evicted)])
    assert [each.is_pending for each in work(state)] == [True]
