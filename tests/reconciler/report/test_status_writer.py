"""Statuses give way to starts while the API server is slow to take them, and are right in the end."""

import asyncio
from datetime import timedelta
from typing import cast

import msgspec
import pytest

from reconciler.report.status.writer import StatusWriter, pause_after
from shared.api.json.patches import Operation
from shared.api.quotagroup import QuotaGroupStatus, WorkloadCounts
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.observed.projections import GroupStatusRecord
from shared.kube.client import Client
from shared.kube.errors import Conflict, Unavailable
from shared.kube.resources import Resource
from shared.kube.watch.cache import Changed
from shared.quota.decide.plan import plan
from shared.quota.measure.snapshot import measure
from shared.quota.model.settings import QuotaSettings
from tests.account_books import PromptBook
from tests.builders import NOW, after, pending, running, world
from tests.shared.kube.servers import until

INTERVAL = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("round_took", "written", "pause"),
    [
        pytest.param(0.0, 0, 1.0, id="nothing was written"),
        pytest.param(0.1, 8, 1.0, id="the API server is quick"),
        pytest.param(0.3, 8, 2.7, id="the API server is slow"),
        pytest.param(0.1, 24, 2.4, id="many groups have changed"),
        pytest.param(30.0, 2000, 5.0, id="thousands of groups have changed"),
    ],
)
def test_pause_follows_duration_and_number_of_the_status_writes(round_took: float, written: int, pause: float) -> None:
    assert pause_after(timedelta(seconds=round_took), written, INTERVAL) == timedelta(seconds=pause)


def test_configured_longer_interval_is_kept() -> None:
    assert pause_after(timedelta(seconds=1), 20, timedelta(minutes=1)) == timedelta(minutes=1)


class UnansweredOnce:
    """Stores every status; the second write gets no answer."""

    def __init__(self) -> None:
        self.stored: list[QuotaGroupStatus] = []

    async def patch_json(self, _resource: Resource, _name: str, operations: list[Operation], **_: str) -> None:
        self.stored.append(operations[-1]["value"])
        if len(self.stored) == 2:
            raise Unavailable(0, "Timeout", "no answer in time")


async def test_status_that_was_stored_without_an_answer_is_replaced_also_by_the_previous_one() -> None:
    client, state = UnansweredOnce(), ClusterState(QuotaSettings())
    writer = StatusWriter(cast("Client", client), state, INTERVAL)
    idle, busy = (measure(world("root 8\n  vision 4", work), NOW) for work in ([], [running("vision", 2)]))
    record = GroupStatusRecord("u", 1, idle.world.tree["vision"], QuotaGroupStatus())
    state.observe_groups([Changed(None, record)])
    for seen in (idle, busy, idle):
        await writer._write_all(seen, {})
    assert [each.workloads.admitted for each in client.stored] == [0, 1, 0]


async def test_statuses_are_written_after_the_decisions() -> None:
    client, state = UnansweredOnce(), ClusterState(QuotaSettings())
    writer = StatusWriter(cast("Client", client), state, INTERVAL)
    seen = measure(world("root 8\n  vision 4", [running("vision", 2)]), NOW)
    record = GroupStatusRecord("u", 1, seen.world.tree["vision"], QuotaGroupStatus())
    state.observe_groups([Changed(None, record)])
    writing = 3

    def gives_way() -> bool:
        nonlocal writing
        assert client.stored == []
        writing -= 1
        return writing > 0

    writer.gives_way = gives_way
    writer.show(seen, {})
    task = asyncio.create_task(writer.run())
    await until(lambda: bool(client.stored))
    task.cancel()
    assert (writing, len(client.stored)) == (0, 1)


async def test_changes_of_one_moment_are_written_as_one() -> None:
    client, state = UnansweredOnce(), ClusterState(QuotaSettings())
    writer = StatusWriter(cast("Client", client), state, INTERVAL / 10)
    idle, busy = (measure(world("root 8\n  vision 4", work), NOW) for work in ([], [running("vision", 2)]))
    state.observe_groups([Changed(None, GroupStatusRecord("u", 1, idle.world.tree["vision"], QuotaGroupStatus()))])
    task = asyncio.create_task(writer.run())
    for seen in (idle, busy):
        writer.show(seen, {})
        await asyncio.sleep(0)
    await until(lambda: bool(client.stored))
    task.cancel()
    assert [each.workloads.admitted for each in client.stored] == [1]


async def test_reasons_of_waiting_are_written_once_all_are_counted() -> None:
    client, state = UnansweredOnce(), ClusterState(QuotaSettings())
    writer = StatusWriter(cast("Client", client), state, INTERVAL)
    seen = measure(world("root 8\n  vision 4", [pending("vision", 9)]), NOW)
    stored = QuotaGroupStatus(workloads=WorkloadCounts(pending=1, waiting={"Held": 1}))
    state.observe_groups([Changed(None, GroupStatusRecord("u", 1, seen.world.tree["vision"], stored))])
    await writer._write_all(seen, {})
    for _ in writer._waits.count(plan(seen), state.faults):
        pass
    await writer._write_all(seen, {})
    assert [each.workloads.waiting for each in client.stored] == [{"Held": 1}, {"NeverFits": 1}]


class Guarded:
    """Stores a status as the API server does: not where a tested member of it has another value."""

    def __init__(self) -> None:
        self.stored: QuotaGroupStatus | None = None
        self.refused = 0

    async def patch_json(self, _resource: Resource, _name: str, operations: list[Operation], **_: str) -> None:
        for each in operations:
            if each["op"] == "test" and each["path"] == "/status/accountedUntil":
                found = None if self.stored is None else msgspec.to_builtins(self.stored.accounted_until)
                if found != each["value"]:
                    self.refused += 1
                    raise Conflict(409, "Invalid", "the test failed")
        self.stored = operations[-1]["value"]


async def test_first_account_does_not_replace_one_that_was_not_seen() -> None:
    client, state = Guarded(), ClusterState(QuotaSettings())
    writer = StatusWriter(cast("Client", client), state, INTERVAL)
    found = world("root 8\n  vision 4", [running("vision", 2)])
    seen, book = measure(found, NOW), PromptBook()
    book.start({}, ())
    for seconds in (0, 65):
        book.after(found, after(seconds))
    state.observe_groups([Changed(None, GroupStatusRecord("u", 1, found.tree["vision"], QuotaGroupStatus()))])
    state.accounts = book
    await writer._write_all(seen, {})
    assert client.stored is not None
    assert client.stored.accounted_until is None  # a first status has no account
    theirs = client.stored = msgspec.structs.replace(client.stored, accounted_until=after(500))
    await writer._write_all(seen, {})
    assert (client.refused, client.stored) == (1, theirs)
    client.stored = msgspec.structs.replace(theirs, accounted_until=None)
    state.observe_groups(
        [
            Changed(
                GroupStatusRecord("u", 1, found.tree["vision"], QuotaGroupStatus()),
                GroupStatusRecord("u", 1, found.tree["vision"], client.stored),
            )
        ]
    )
    await writer._write_all(seen, {})
    assert client.stored.accounted_until == after(60)
