"""What is recorded of lists and of what watches hear: whole, in order, bounded, and never instead of what is urgent."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from reconciler.recording import heard
from reconciler.recording.folder import RecordingFolder
from reconciler.recording.heard import HeardObjects
from reconciler.recording.pods import KnownByPods
from reconciler.recording.recording import Recording
from reconciler.report.recording_metrics import RecordingMetrics
from shared.kube.client import Client
from shared.kube.errors import Unavailable
from shared.kube.resources import JOBS, NODES, PODS, Resource
from shared.kube.shapes import Page
from shared.kube.watch.cache import Tap
from shared.quota.measure.inputs.world import World
from shared.quota.model.workload import Eviction, EvictionReason, Workload
from shared.recording.files import DamagedLog, read_lines
from tests.builders import NOW, after, running, world

EVICTED = Eviction(EvictionReason.RECLAIMED, after(5))


class _Watch:
    """Stands for a watch: tells what the test says."""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self.tap: Tap | None = None

    def tell_all(self, tap: Tap | None) -> None:
        self.tap = tap

    def tell(self, name: str, number: int, *, is_gone: bool = False, **metadata: Any) -> None:
        assert self.tap is not None
        self.tap(_raw(name, number, **metadata), is_gone)


class _Server:
    """Stands for the API server's lists: two pages, with what happens between them."""

    def __init__(self) -> None:
        self.jobs: list[bytes] = []
        self.lists = 0
        self.fails = 0
        self.between: Callable[[], None] = lambda: None

    async def list_pages(self, resource: Resource, **_: Any) -> AsyncIterator[Page[msgspec.Raw]]:
        if resource is not JOBS:
            return
        self.lists += 1
        if self.fails:
            self.fails -= 1
            raise Unavailable(0, "Unavailable", "away")
        listed = list(self.jobs)
        yield Page([msgspec.Raw(each) for each in listed[:1]], "1")
        self.between()
        yield Page([msgspec.Raw(each) for each in listed[1:]], "1")


def _raw(name: str, number: int, **metadata: Any) -> bytes:
    body = {"metadata": {"name": name, "namespace": "ns", **metadata}, "spec": {"parallelism": number}}
    return json.dumps(body, separators=(",", ":")).encode()


class _Fixture:
    def __init__(self, folder: Path) -> None:
        self.server = _Server()
        self.jobs, self.pods, self.nodes = _Watch(JOBS), _Watch(PODS), _Watch(NODES)
        self.metrics = RecordingMetrics(CollectorRegistry())
        self.leads = True
        self.is_urgent = False
        self.folder = folder
        self.recording = Recording(
            cast("Client", self.server), RecordingFolder(folder, 1 << 20, "a", (7, 1)), self.metrics,
            cast("Any", [self.jobs, self.pods, self.nodes]), lambda: self.leads,
        )  # fmt: skip
        self.recording.gives_way = lambda: self.is_urgent

    def summary(self) -> list[str]:
        """What the lines say, in short."""
        found = [_short(each) for path in sorted(self.folder.iterdir()) for each in _lines(path)]
        return [each for each in found if not each.startswith("#")]

    async def until(self, *summary: str) -> None:
        for _ in range(1200):
            if self.folder.exists() and self.summary() == [*summary]:
                return
            await asyncio.sleep(0.05)
        assert self.summary() == [*summary]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        for each in read_lines(path):
            yield json.loads(each)
    except DamagedLog:
        return


def _short(line: dict[str, Any]) -> str:
    if "decided" in line or "order" in line:
        return "decided" if "decided" in line else f"#{line['order']}"
    if "object" in line:
        return f"{line['object']['metadata']['name']} {line['object']['spec']['parallelism']}"
    return f"-{line['deleted'].rpartition('/')[2]}" if line.get("deleted") else f"={line['whole']}"


@asynccontextmanager
async def _recording(recorded: _Fixture) -> AsyncIterator[None]:
    task = asyncio.create_task(recorded.recording.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


@pytest.fixture
def recorded(tmp_path: Path) -> _Fixture:
    found = _Fixture(tmp_path / "logs")
    found.server.jobs = [_raw("a", 1), _raw("b", 1)]
    return found


async def test_all_objects_come_first_and_then_each_change(recorded: _Fixture) -> None:
    async with _recording(recorded):
        await recorded.until("a 1", "b 1", "=2")
        recorded.jobs.tell("a", 2)
        recorded.jobs.tell("a", 2, managedFields=[{"manager": "m"}])
        recorded.jobs.tell("b", 1, is_gone=True)
        await recorded.until("a 1", "b 1", "=2", "a 2", "-b")
    assert recorded.jobs.tap is None


async def test_what_is_heard_while_the_list_is_read_is_later_than_it(recorded: _Fixture) -> None:
    def happen() -> None:
        recorded.jobs.tell("b", 7)
        recorded.jobs.tell("a", 1, is_gone=True)

    recorded.server.jobs = [_raw(name, 1) for name in ("z", "a", "b")]
    recorded.server.between = happen
    async with _recording(recorded):
        await asyncio.sleep(0)
        await recorded.until("z 1", "a 1", "b 1", "b 7", "-a", "=5")


async def test_pods_of_controllers_are_not_recorded(recorded: _Fixture) -> None:
    async with _recording(recorded):
        await recorded.until("a 1", "b 1", "=2")
        owner = {"kind": "Job", "name": "a", "uid": "u", "controller": True}
        recorded.pods.tell("a-0", 1, ownerReferences=[owner])
        recorded.pods.tell("alone", 1)
        await recorded.until("a 1", "b 1", "=2", "alone 1")


async def test_what_has_no_room_is_counted_and_read_again(recorded: _Fixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heard, "MOST_BYTES", 100)
    monkeypatch.setattr("reconciler.recording.recording._BETWEEN_LISTS", timedelta(0))
    async with _recording(recorded):
        await recorded.until("a 1", "b 1", "=2")
        for number in range(3, 6):
            recorded.jobs.tell("a", number)
        recorded.server.jobs = [_raw("a", 5), _raw("c", 1)]
        await recorded.until("a 1", "b 1", "=2", "a 3", "a 5", "c 1", "-b")
    assert recorded.metrics.dropped._value.get() == 2


async def test_a_watch_that_reads_a_new_list_makes_the_recording_read_one(
    recorded: _Fixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reconciler.recording.recording._BETWEEN_LISTS", timedelta(0))
    async with _recording(recorded):
        await recorded.until("a 1", "b 1", "=2")
        recorded.server.jobs = [_raw("b", 1)]
        assert recorded.jobs.tap is not None
        recorded.jobs.tap(b"", False)
        await recorded.until("a 1", "b 1", "=2", "-a")


async def test_after_a_failure_another_file_begins(recorded: _Fixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reconciler.recording.recording._RETRY", timedelta(milliseconds=10))
    recorded.server.fails = 1
    async with _recording(recorded):
        await recorded.until("a 1", "b 1", "=2")
        recorded.jobs.tell("undecodable", 1, namespace=None)
        recorded.jobs.tell("a", 2)
        await recorded.until("a 1", "b 1", "=2", "undecodable 1", "a 2")
    assert recorded.metrics.failed._value.get() == 1
    [_, second] = sorted(recorded.folder.iterdir())
    assert next(_lines(second))["order"] == [7, 1, 1]  # as the lease says, and its second file


async def test_nothing_is_written_by_a_process_that_leads_no_more(recorded: _Fixture) -> None:
    async with _recording(recorded):
        await recorded.until("a 1", "b 1", "=2")
        recorded.leads = False
        recorded.jobs.tell("a", 2)
        await asyncio.sleep(0.5)
        assert recorded.summary() == ["a 1", "b 1", "=2"]
    assert recorded.jobs.tap is None


async def test_what_is_urgent_comes_first(recorded: _Fixture) -> None:
    async with _recording(recorded):
        await recorded.until("a 1", "b 1", "=2")
        recorded.is_urgent = True
        recorded.jobs.tell("a", 2)
        await asyncio.sleep(0.5)
        assert recorded.summary() == ["a 1", "b 1", "=2"]
        recorded.is_urgent = False
        await recorded.until("a 1", "b 1", "=2", "a 2")


async def test_lines_say_what_a_decision_knew(recorded: _Fixture) -> None:
    idle = world("root 8\n  a 8")
    async with _recording(recorded):
        await recorded.until("a 1", "b 1", "=2")
        recorded.jobs.tell("a", 2)
        recorded.recording.decided(idle, after(1))
        recorded.recording.decided(idle, after(2))
        recorded.jobs.tell("a", 2, managedFields=[{"manager": "m"}])
        recorded.recording.decided(idle, after(3))
        recorded.jobs.tell("b", 2)
        recorded.recording.decided(idle, after(4))
        await recorded.until("a 1", "b 1", "=2", "a 2", "decided", "b 2", "decided")
    found = [each for path in recorded.folder.iterdir() for each in _lines(path)]
    times = [datetime.fromisoformat(each["time"]) for each in found if "decided" in each]
    assert times == [after(1), after(4)]


def test_evicted_workloads_are_freed_once_when_their_last_pods_are_gone() -> None:
    one, two = (replace(running("a", 2, name), eviction=EVICTED) for name in ("one", "two"))
    first = world("root 8\n  a 8", [one, two, running("a", 1, "stays")])
    known = KnownByPods()
    assert _known(known, first) == ([], [], [])
    without_use = replace(one, request={"cpu": 0})
    second = first.with_changes([(one, without_use)])
    assert (_known(known, second), _known(known, second)) == (([], ["Job/ns/one"], []), ([], [], []))
    third = second.with_changes([(without_use, replace(one, admission=None)), (two, None)])
    assert _known(known, third) == ([], ["Job/ns/two"], [])


def test_workload_whose_eviction_could_not_be_written_is_not_freed() -> None:
    runs = running("a", 2, "one")
    evicting = replace(runs, eviction=EVICTED)
    first = world("root 8\n  a 8", [evicting])
    known = KnownByPods()
    assert _known(known, first) == ([], [], [])
    second = first.with_changes([(evicting, runs)])
    assert _known(known, second) == ([], [], [])


def test_workloads_that_run_have_ended_once_when_all_of_their_pods_have_ended() -> None:
    one, idle = running("a", 2, "one"), replace(running("a", 2, "idle"), request={"cpu": 0})
    first = world("root 8\n  a 8", [one, idle, running("a", 1, "stays")])
    known = KnownByPods()
    assert _known(known, first) == ([], [], [])
    second = first.with_changes([(one, replace(one, request={"cpu": 0}))])
    assert (_known(known, second), _known(known, second)) == (([], [], ["Job/ns/one"]), ([], [], []))


def test_starts_are_noted_once_unless_they_have_ended() -> None:
    one, two = (_unnoted(running("a", 2, name)) for name in ("one", "two"))
    first = world("root 8\n  a 8", [one, two])
    known = KnownByPods()
    assert _known(known, first) == ([], [], [])
    second = first.with_changes([(one, running("a", 2, "one")), (two, None)])
    assert (_known(known, second), _known(known, second)) == ((["Job/ns/one"], [], []), ([], [], []))


def _known(known: KnownByPods, world: World) -> tuple[list[str], list[str], list[str]]:
    line = known.take(world, NOW)
    return [*line.noted], [*line.freed], [*line.ended]


def _unnoted(workload: Workload) -> Workload:
    assert workload.admission is not None
    return replace(workload, admission=replace(workload.admission, answered=False))


def test_first_decision_is_a_line_and_the_next_one_only_when_more_is_known() -> None:
    known, idle = HeardObjects(), world("root 8\n  a 8")
    known.decided(idle, after(1))
    known.decided(idle, after(2))
    assert [each.time for each in known.take(9)] == [after(1)]
