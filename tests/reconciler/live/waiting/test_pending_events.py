"""Events of pending workloads: not at once, not twice, again when the reason changes, and never too many."""

from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any, cast

import msgspec
import pytest

from reconciler.report.events.decisions import WorkloadEvents
from reconciler.report.events.groups import GroupEvents
from reconciler.report.events.pending import PendingEvents
from reconciler.report.events.placement import PlacementEvents
from reconciler.report.events.quota_groups import QuotaGroupEvents
from shared.api.core.job import Job, JobStatus, read_job
from shared.api.names import ADMISSION, GROUP_LABEL, HOLD_LABEL
from shared.api.quotagroup import QuotaGroupStatus
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.observed.projections import GroupStatusRecord
from shared.kube.events.note import EventType, Regarding
from shared.kube.events.recorder import EventRecorder
from shared.kube.watch.cache import Changed
from shared.quota.decide.plan import plan
from shared.quota.measure.snapshot import measure
from shared.quota.model.flavor import Flavor
from shared.quota.model.settings import QuotaSettings
from tests.builders import NOW, after
from tests.reconciler.reconciler_process import job_manifest
from tests.trees import tree


@dataclass
class Heard:
    """Stands in for the recorder of events."""

    event: list[tuple[str, str, str]] = field(default_factory=list)
    kinds: dict[str, EventType] = field(default_factory=dict)

    def record(self, regarding: Regarding, event_type: EventType, *, reason: str, action: str, note: str) -> None:
        self.kinds[reason] = event_type
        self.event.append((regarding.name, reason, note.rsplit(" waits: ", maxsplit=1)[-1]))


@dataclass
class Clock:
    """By which a round measures how long it takes: it advances whenever it is read."""

    step: float = 0.0
    seconds: float = 0.0

    def read(self) -> float:
        self.seconds += self.step
        return self.seconds


@dataclass
class PendingEventsCase:
    """A cluster of 100 cpus with the group vision, in which nothing starts unless a test says so."""

    state: ClusterState
    reports: PendingEvents
    cycles: GroupEvents
    heard: Heard
    clock: "Clock"

    def see(self, before: Job | None, after: Job | None) -> None:
        self.state.observe_jobs([Changed(before, after)])

    def round(self, seconds: float) -> list[tuple[str, str, str]]:
        """Run a cycle and a round that many seconds after the start; return their events."""
        now = after(seconds)
        snapshot = measure(self.state.world(), now, None)
        self.heard.event.clear()
        self.cycles.report(snapshot, plan(snapshot))
        self.reports.round(now)
        return list(self.heard.event)

    def groups(self, text: str) -> None:
        """Make the tree what `text` says."""
        before = list(self.state.tree.groups.values())
        fresh = [GroupStatusRecord(name, 1, tree(text)[name], QuotaGroupStatus()) for name in tree(text).groups]
        self.state.observe_groups([*(Changed(each, None) for each in before), *(Changed(None, each) for each in fresh)])


def a_job(name: str, cpu: str = "1", **metadata: Any) -> Job:
    manifest = job_manifest(name, "vision", cpu)
    manifest["metadata"] |= {"uid": name, "namespace": "ns", "generation": 1, **metadata}
    manifest["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    return read_job(manifest)


@pytest.fixture
def case() -> PendingEventsCase:
    heard, clock = Heard(), Clock()
    state = ClusterState(QuotaSettings(capacity=(("default", "cpu", 100_000),)))
    recorder = cast("EventRecorder", heard)
    events = WorkloadEvents(recorder)
    pending = PendingEvents(state.work, events, clock.read)
    cycles = GroupEvents(state, events, QuotaGroupEvents(recorder), pending, PlacementEvents(state.work, events))
    found = PendingEventsCase(state, pending, cycles, heard, clock)
    found.state.observe_flavors([Changed(None, Flavor("default"))])
    found.groups("vision default:cpu ..1000")
    return found


def admitted(name: str) -> Job:
    note = '{"flavors":{"cpu":"default"},"time":"2026-01-01T00:00:00Z"}'
    job = a_job(name, annotations={ADMISSION: note})
    running = msgspec.structs.replace(job.spec, suspend=False)
    return msgspec.structs.replace(job, spec=running, status=JobStatus(start_time=NOW, active=1))


LACKS = "group 'vision' lacks 1 of default/cpu (request 1, free 0); runs when used falls to 0"


def test_workload_that_starts_at_once_gets_no_pending_event(case: PendingEventsCase) -> None:
    case.see(None, a_job("quick"))
    assert case.round(0) == []
    case.see(a_job("quick"), admitted("quick"))
    assert [case.round(second) for second in (1, 3, 5, 70)] == [[], [], [], []]


def test_pending_workload_gets_one_event(case: PendingEventsCase) -> None:
    case.see(None, admitted("runs"))
    case.see(None, a_job("waits"))
    event = [("waits", "WaitingForQuota", LACKS)]
    assert [case.round(second) for second in (0, 2.9, 3, 4, 63, 200)] == [[], [], event, [], [], []]


def test_changed_reason_gets_a_new_event(case: PendingEventsCase) -> None:
    case.see(None, admitted("runs"))
    case.see(None, a_job("waits"))
    case.round(0)
    assert case.round(3) == [("waits", "WaitingForQuota", LACKS)]
    case.groups("vision default:cpu ..1000 hold")
    assert case.round(4) == []
    assert case.round(63) == [("waits", "GroupStopped", "group 'vision' has stopPolicy Hold")]


def test_evicted_workload_gets_a_pending_event(case: PendingEventsCase) -> None:
    case.see(None, admitted("runs"))
    case.see(None, a_job("waits"))
    case.round(0)
    assert case.round(3) == [("waits", "WaitingForQuota", LACKS)]
    case.see(a_job("waits"), admitted("waits"))
    case.round(4)
    case.see(admitted("waits"), a_job("waits"))
    assert [case.round(second) for second in (5, 8)] == [[], [("waits", "WaitingForQuota", LACKS)]]


def test_hold_of_the_owner_gets_no_event(case: PendingEventsCase) -> None:
    held = {GROUP_LABEL: "vision", HOLD_LABEL: "true"}
    case.see(None, admitted("runs"))
    case.see(None, a_job("mine", labels=held))
    assert [case.round(second) for second in (0, 3)] == [[], []]
    case.see(a_job("mine", labels=held), a_job("mine"))
    assert [case.round(second) for second in (4, 7)] == [[], [("mine", "WaitingForQuota", LACKS)]]


def test_hold_of_others_gets_an_event_that_names_them(case: PendingEventsCase) -> None:
    held = {GROUP_LABEL: "vision", "hold.quotree.dev/scan": "true"}
    message = "held by hold.quotree.dev/scan; those who set the labels take them off"
    case.see(None, a_job("mine", labels=held))
    assert [case.round(second) for second in (0, 3, 63)] == [[], [("mine", "Held", message)], []]
    other = a_job("mine", labels={GROUP_LABEL: "vision", "hold.quotree.dev/sign": "true"})
    case.see(a_job("mine", labels=held), other)
    assert [case.round(second) for second in (64, 67)] == [[], [("mine", "Held", message.replace("scan", "sign"))]]
    case.see(None, admitted("runs"))
    case.see(other, a_job("mine"))
    assert [case.round(second) for second in (68, 71)] == [[], [("mine", "WaitingForQuota", LACKS)]]


ABSENT = "'vision' is no leaf of the tree"


def test_group_that_is_seen_soon_after_its_workload_is_not_reported_absent(case: PendingEventsCase) -> None:
    case.groups("other default:cpu ..1000")
    case.see(None, a_job("early"))
    assert [case.round(second) for second in (0, 2)] == [[], []]
    case.groups("vision default:cpu ..1000")
    case.see(a_job("early"), admitted("early"))
    assert [case.round(second) for second in (2.5, 3, 4, 70)] == [[], [], [], []]


def test_absent_group_is_reported_once_as_a_warning(case: PendingEventsCase) -> None:
    case.groups("other default:cpu ..1000")
    case.see(None, a_job("lost"))
    assert [case.round(second) for second in (0, 2.9, 3, 4, 63, 200)] == [
        [], [], [("lost", "NoLeaf", ABSENT)], [], [], []
    ]  # fmt: skip
    assert case.heard.kinds == {"NoLeaf": EventType.WARNING}


def test_group_that_stays_away_is_reported_to_those_who_wait_already(case: PendingEventsCase) -> None:
    case.see(None, admitted("runs"))
    case.see(None, a_job("waits"))
    case.round(0)
    assert case.round(3) == [("waits", "WaitingForQuota", LACKS)]
    case.groups("other default:cpu ..1000")
    rounds = [case.round(second) for second in (10, 12, 13, 14, 75)]
    assert rounds == [
        [("runs", "NoLeaf", "group vision can have no workloads")], [], [("waits", "NoLeaf", ABSENT)], [], []
    ]  # fmt: skip


def test_new_leader_reports_an_absent_group_again_and_waits_first(case: PendingEventsCase) -> None:
    case.groups("other default:cpu ..1000")
    case.see(None, a_job("lost"))
    case.round(0)
    case.round(3)
    recorder = cast("EventRecorder", case.heard)
    events = WorkloadEvents(recorder)
    case.reports = PendingEvents(case.state.work, events)
    case.cycles = GroupEvents(
        case.state, events, QuotaGroupEvents(recorder), case.reports, PlacementEvents(case.state.work, events)
    )
    assert [case.round(second) for second in (5, 8)] == [[], [("lost", "NoLeaf", ABSENT)]]


def test_events_are_limited_to_ten_a_round_in_turn(case: PendingEventsCase) -> None:
    case.see(None, admitted("runs"))
    for number in range(25):
        case.see(None, a_job(f"job-{number:02}"))
    case.round(0)
    rounds = [case.round(second) for second in (3, 4, 5, 6)]
    assert [len(each) for each in rounds] == [10, 10, 5, 0]
    assert [name for each in rounds for name, _, _ in each] == [f"job-{number:02}" for number in range(25)]


def test_slow_round_of_events_continues_in_the_next(case: PendingEventsCase) -> None:
    case.see(None, admitted("runs"))
    for number in range(3):
        case.see(None, a_job(f"job-{number}"))
    case.round(0)
    case.clock.step = 0.03
    rounds = [case.round(second) for second in (3, 4, 5, 6)]
    assert [[name for name, _, _ in each] for each in rounds] == [["job-0"], ["job-1"], ["job-2"], []]


def test_reason_that_needs_a_person_is_a_warning(case: PendingEventsCase) -> None:
    case.see(None, admitted("runs"))
    case.see(None, a_job("huge", "2"))
    case.see(None, a_job("waits"))
    case.round(0)
    case.round(3)
    assert case.heard.kinds == {"NeverFits": EventType.WARNING, "WaitingForQuota": EventType.NORMAL}


def test_reason_is_recorded_again_before_the_api_server_forgets_its_event(case: PendingEventsCase) -> None:
    case.see(None, admitted("runs"))
    case.see(None, a_job("waits"))
    event = [("waits", "WaitingForQuota", LACKS)]
    seconds = [0, 3, *range(63, 7200, 60)]
    found = [(second, each) for second in seconds for each in case.round(second)]
    assert [each for _, each in found] == event * 3
    times = [second for second, _ in found]
    assert all(3000 <= later - earlier < 3600 for earlier, later in pairwise(times))


def test_reason_that_has_lasted_for_a_minute_is_written_on_the_workload(case: PendingEventsCase) -> None:
    written: list[tuple[str, str, datetime]] = []
    case.reports.write = lambda why, now: written.append((why.workload.key, why.reason.value, now))
    case.see(None, admitted("runs"))
    case.see(None, a_job("waits"))
    for second in (0, 3, 30):
        case.round(second)
    assert written == []
    case.round(63)
    assert written == [("ns/waits", "WaitingForQuota", after(63))]
