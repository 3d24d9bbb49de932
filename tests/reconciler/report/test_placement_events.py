"""When a started workload without a node is looked at, and what is kept of the scheduler's words."""

from datetime import timedelta

import msgspec

from reconciler.report.events.decisions import WorkloadEvents, placement_text
from reconciler.report.events.placement import PlacementEvents
from shared.cluster.state.faults.register import Faults
from shared.cluster.state.observed.job_pods import JobPods
from shared.cluster.state.observed.projections import project_pod
from shared.cluster.state.workloads.cache import WorkloadCache
from shared.cluster.state.workloads.objects import WorkloadObjects
from shared.cluster.state.workloads.reader import WorkloadReader
from shared.quota.measure.snapshot import measure
from shared.quota.model.namespace_context import NamespaceContexts
from shared.quota.model.settings import QuotaSettings, StartupSettings
from shared.quota.model.workload import Workload
from tests.builders import NOW, after, running, world
from tests.trees import capacity_in, tree

TREE = tree("root 8\n  a 8")
SETTINGS = QuotaSettings(capacity=capacity_in(TREE), startup=StartupSettings(timeout=timedelta(seconds=60)))


class Pods(WorkloadObjects):
    """Pods that say why they have no node."""

    def __init__(self) -> None:
        super().__init__(JobPods(()))
        self.why = ["no cpu", "no gpu", "no cpu"]

    def unplaced(self, _key: str) -> list[str]:
        return self.why


class Cache(WorkloadCache):
    """One workload, and its pods."""

    def __init__(self, workload: Workload) -> None:
        settings = QuotaSettings()
        reader = WorkloadReader(settings, NamespaceContexts(settings.devices), lambda _group, _labels: True)
        super().__init__(reader, JobPods(()), Faults())
        self.index.put("u1", workload)
        self.pods = self.objects = Pods()


class Heard(WorkloadEvents):
    """What was recorded."""

    def __init__(self) -> None:
        self.recorded: list[list[str]] = []

    def not_placed(self, _workload: Workload, reasons: list[str], _objects: object) -> None:
        self.recorded.append(reasons)


def new_case() -> tuple[Cache, Heard, PlacementEvents]:
    work = running("a", 1, ready=False)
    cache, heard = Cache(work), Heard()
    events = PlacementEvents(cache, heard)
    events.snapshot = measure(world(TREE, [work], settings=SETTINGS), NOW)
    return cache, heard, events


def test_unplaced_workload_gets_one_event_after_the_delay() -> None:
    cache, heard, events = new_case()
    for seconds in (1, 60, 62, 63, 200):
        events.round(after(seconds))
    assert heard.recorded == [cache.pods.why]


def test_placed_or_deleted_workload_gets_no_event() -> None:
    for placed in (True, False):
        cache, heard, events = new_case()
        events.round(after(1))
        if placed:
            cache.pods.why = []
        else:
            cache.index.put("u1", None)
        events.round(after(100))
        assert heard.recorded == []


def test_event_names_the_most_frequent_reason_with_the_number_of_pods() -> None:
    assert placement_text(["no gpu", "no cpu", "no cpu"]) == "3 of its pods have no node (no cpu)"


def test_only_a_shortened_scheduling_reason_of_a_pod_is_kept() -> None:
    unscheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/9 nodes " * 99}
    other = {"type": "Ready", "status": "False", "reason": "ContainersNotReady", "message": "long"}
    manifest = {"metadata": {"uid": "p", "name": "p"}, "status": {"conditions": [unscheduled, other]}}
    record = project_pod(msgspec.json.encode(manifest))
    assert record is not None
    assert record.work is not None
    assert [len(each.message) for each in record.work.status.conditions] == [256, 0]
    assert record.work.unplaced.startswith("0/9 nodes ")
