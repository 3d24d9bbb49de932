"""An election in a thread of its own: a main loop that stands still delays no renewal, up to a limit."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from dev.controlplane.cluster import ControlPlane
from shared.kube.client import Client
from shared.kube.connect.connection import ConnectionSettings, connected
from shared.kube.errors import Fenced
from shared.kube.lead.election import LeadershipLost
from shared.kube.lead.election_settings import ElectionSettings
from shared.kube.lead.own_thread import ElectionThread
from shared.kube.resources import CONFIG_MAPS
from tests.shared.kube.lead.test_election import DEADLINE, LEASE, RETRY, spec_of
from tests.shared.kube.servers import until

NO_LIMIT = timedelta(hours=1)


@dataclass(slots=True)
class Competitor:
    """When it was sure to lead."""

    election: ElectionThread
    sure: list[float] = field(default_factory=list)

    async def lead(self) -> None:
        while True:
            if self.election.may_write():
                self.sure.append(time.monotonic())
            await asyncio.sleep(0.01)


def settings(namespace: str, name: str) -> ElectionSettings:
    return ElectionSettings(namespace, "lead", name, LEASE, DEADLINE, RETRY)


async def run_until_cancelled() -> None:
    await asyncio.Event().wait()


@contextmanager
def competing(control_plane: ControlPlane, namespace: str) -> Iterator[Competitor]:
    """Another candidate, on an event loop that nobody blocks, until the end of the block."""
    found: list[Competitor] = []
    stop = threading.Event()

    async def compete() -> None:
        async with connected(ConnectionSettings(kubeconfig=str(control_plane.kubeconfig))) as connection:
            election = ElectionThread(Client(connection), settings(namespace, "b"), NO_LIMIT)
            found.append(Competitor(election))
            standing = asyncio.create_task(election.run(found[0].lead))
            while not stop.is_set():  # noqa: ASYNC110 - set by another thread
                await asyncio.sleep(0.05)
            standing.cancel()
            await asyncio.wait({standing})

    thread = threading.Thread(target=asyncio.run, args=(compete(),))
    thread.start()
    while not found:
        time.sleep(0.01)
    try:
        yield found[0]
    finally:
        stop.set()
        thread.join()


async def test_main_loop_stalled_within_the_limit_keeps_the_lease(
    client: Client, namespace: str, control_plane: ControlPlane
) -> None:
    election = ElectionThread(client, settings(namespace, "a"), NO_LIMIT)
    leading = asyncio.create_task(election.run(run_until_cancelled))
    await until(election.may_write)
    with competing(control_plane, namespace) as other:
        time.sleep(2 * LEASE.total_seconds())  # noqa: ASYNC251 - the point of it
        assert election.may_write()
        assert not other.sure
    leading.cancel()
    await asyncio.wait({leading})
    assert (await spec_of(client, namespace))["leaseTransitions"] == 0


async def test_main_loop_stalled_beyond_the_limit_is_ended_before_another_leads(
    client: Client, namespace: str, control_plane: ControlPlane
) -> None:
    ends: list[float] = []
    limit = timedelta(seconds=1)
    election = ElectionThread(client, settings(namespace, "a"), limit, end=lambda: ends.append(time.monotonic()))
    leading = asyncio.create_task(election.run(run_until_cancelled))
    await until(election.may_write)
    began = time.monotonic()
    with competing(control_plane, namespace) as other:
        while not other.sure:
            time.sleep(0.05)  # noqa: ASYNC251 - that this loop stands still is the point
        assert ends[0] - began > limit.total_seconds()
        assert other.sure
        assert other.sure[0] > ends[0]
        assert election.time_left() == timedelta()
        with pytest.raises(Fenced):
            await client.guarded(election.time_left).create(CONFIG_MAPS, {"metadata": {"name": "late"}}, namespace)
        with pytest.raises(LeadershipLost, match="the process stands still"):
            await leading


async def test_lease_is_released_after_the_task_has_ended(client: Client, namespace: str) -> None:
    election = ElectionThread(client, settings(namespace, "a"), NO_LIMIT)
    seen: list[object] = []
    began = asyncio.Event()

    async def lead() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.3)
            seen.append((await spec_of(client, namespace))["holderIdentity"])

    leading = asyncio.create_task(election.run(lead))
    await began.wait()
    leading.cancel()
    await asyncio.wait({leading})
    assert leading.cancelled()
    assert str(seen[0]).startswith("a_")
    assert (await spec_of(client, namespace))["holderIdentity"] == ""


async def test_error_of_the_task_is_raised(client: Client, namespace: str) -> None:
    async def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await ElectionThread(client, settings(namespace, "a"), NO_LIMIT).run(fail)
    assert (await spec_of(client, namespace))["holderIdentity"] == ""


async def test_candidate_that_never_led_stops_on_cancel(
    client: Client, namespace: str, control_plane: ControlPlane
) -> None:
    with competing(control_plane, namespace) as other:
        await until(lambda: bool(other.sure))
        election = ElectionThread(client, settings(namespace, "a"), NO_LIMIT)
        standing = asyncio.create_task(election.run(run_until_cancelled))
        await asyncio.sleep(0.5)
        standing.cancel()
        await asyncio.wait_for(asyncio.wait({standing}), 60)
        assert not election.may_write()
        assert other.election.may_write()
