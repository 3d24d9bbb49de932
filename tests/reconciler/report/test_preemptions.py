"""Which pods kube-scheduler has stopped, and that each is reported once, by a leader."""

import msgspec

from reconciler.report.events.decisions import WorkloadEvents
from reconciler.report.events.preemptions import PreemptionReports
from reconciler.report.metrics import EvictionMetrics
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.observed.projections import PodRecord, project_pod
from shared.cluster.state.workloads.follow_ups import PreemptedPods
from shared.kube.watch.cache import Changed
from shared.quota.model.settings import QuotaSettings
from tests.shared.cluster.state.objects import running_job


class Heard(WorkloadEvents):
    """What was recorded."""

    def __init__(self) -> None:
        self.recorded: list[tuple[str, int]] = []

    def preempted_by_scheduler(self, found: PreemptedPods) -> None:
        self.recorded.append((found.workload.key, found.pods))


class Counted(EvictionMetrics):
    """What was counted."""

    def __init__(self) -> None:
        self.pods: list[tuple[str, int]] = []

    def preempted_by_scheduler(self, group: str, pods: int) -> None:
        self.pods.append((group, pods))


def pod(uid: str, *, job: str = "u1", reason: str = "") -> PodRecord:
    conditions = [{"type": "DisruptionTarget", "status": "True", "reason": reason}] if reason else []
    owner = {"kind": "Job", "apiVersion": "batch/v1", "uid": job, "name": "a", "controller": True}
    body = {
        "metadata": {"uid": uid, "name": uid, "namespace": "ns", "ownerReferences": [owner]},
        "spec": {"nodeName": "node-0", "containers": [{"resources": {"requests": {"cpu": "1"}}}]},
        "status": {"conditions": conditions},
    }
    record = project_pod(msgspec.json.encode(body))
    assert record is not None
    return record


def state_with(*uids: str, job: str = "u1") -> ClusterState:
    state = ClusterState(QuotaSettings())
    state.observe_jobs([Changed(None, running_job())])
    state.observe_pods([Changed(None, pod(uid, job=job)) for uid in uids])
    state.world()
    return state


def preempt(state: ClusterState, *uids: str, job: str = "u1", reason: str = "PreemptionByScheduler") -> None:
    state.observe_pods([Changed(pod(uid, job=job), pod(uid, job=job, reason=reason)) for uid in uids])


def test_pods_of_one_workload_are_one_event_and_each_is_reported_once() -> None:
    state, heard, counted = state_with("p1", "p2", "p3"), Heard(), Counted()
    reports = PreemptionReports(state.work.follow_ups, heard, counted)
    preempt(state, "p1", "p2")
    seen = pod("p1", reason="PreemptionByScheduler")
    state.observe_pods([Changed(seen, seen), Changed(seen, None)])
    reports.round()
    reports.round()
    preempt(state, "p3")
    reports.round()
    assert heard.recorded == [("ns/a", 2), ("ns/a", 1)]
    assert counted.pods == [("vision", 2), ("vision", 1)]


def test_other_disruptions_and_pods_of_others_are_not_reported() -> None:
    state, heard = state_with("p1"), Heard()
    reports = PreemptionReports(state.work.follow_ups, heard, Counted())
    preempt(state, "p1", reason="EvictionByEvictionAPI")
    preempt(state, "p2", job="unmanaged")
    reports.round()
    assert heard.recorded == []


def test_new_leader_does_not_repeat_what_the_previous_one_has_reported() -> None:
    state, heard = state_with("p1"), Heard()
    preempt(state, "p1")
    PreemptionReports(state.work.follow_ups, heard, Counted()).round()
    assert heard.recorded == []
