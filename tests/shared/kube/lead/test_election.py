"""At most one leads, whatever happens to the network between the candidates and the API server."""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby, pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dev.controlplane.cluster import ControlPlane
from shared.kube.client import Client
from shared.kube.connect.connection import ConnectionSettings, connected
from shared.kube.errors import Fenced
from shared.kube.lead.election import Election, LeadershipLost
from shared.kube.lead.election_settings import ElectionSettings
from shared.kube.lead.known_lease import now_seconds
from shared.kube.lead.vacant_lease import vacant_lease
from shared.kube.resources import CONFIG_MAPS, LEASES
from tests.faults.kinds import FallSilent, LoseAnswer, Rule, writes
from tests.faults.proxy import FaultProxy
from tests.shared.kube.servers import until

LEASE = timedelta(seconds=12)
DEADLINE = timedelta(seconds=8)
"""A loaded machine may hold up a renewal for seconds."""
RETRY = timedelta(milliseconds=400)
SHORT_LEASE, SHORT_DEADLINE = timedelta(seconds=3), timedelta(seconds=2)
"""For what holds however long the process itself is held up."""


@dataclass(slots=True)
class Candidate:
    """One process that wants to lead, and when it was sure that it did."""

    name: str
    election: Election
    sure: list[float] = field(default_factory=list)
    cancelled: bool = False

    async def lead(self) -> None:
        try:
            while True:
                if self.election.may_write():
                    self.sure.append(time.monotonic())
                await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            self.cancelled = True
            raise

    @property
    def leads(self) -> bool:
        return bool(self.sure) and self.election.may_write()


class Field:
    """Candidates for one lease, each behind a side of its own of one proxy."""

    def __init__(self, proxy: FaultProxy, control_plane: ControlPlane, folder: Path, namespace: str) -> None:
        self.proxy, self.control_plane, self.folder, self.namespace = proxy, control_plane, folder, namespace
        self.stack = AsyncExitStack()
        self.candidates: list[Candidate] = []

    async def enter(self, name: str, lease: timedelta = LEASE, deadline: timedelta = DEADLINE) -> Candidate:
        kubeconfig = self.proxy.side(name).kubeconfig(self.control_plane.kubeconfig, self.folder / name)
        connection = await self.stack.enter_async_context(connected(ConnectionSettings(kubeconfig=str(kubeconfig))))
        settings = ElectionSettings(self.namespace, "lead", name, lease, deadline, RETRY)
        candidate = Candidate(name, Election(Client(connection), settings))
        self.candidates.append(candidate)
        return candidate

    def turns(self) -> list[str]:
        """Who was sure to lead, in order of time; two who were at the same time take turns quickly."""
        readings = sorted((at, candidate.name) for candidate in self.candidates for at in candidate.sure)
        return [name for name, _ in groupby(name for _, name in readings)]


@pytest.fixture
async def field_of(
    proxy: FaultProxy, control_plane: ControlPlane, tmp_path: Path, namespace: str
) -> AsyncIterator[Field]:
    built = Field(proxy, control_plane, tmp_path, namespace)
    async with built.stack:
        yield built


def running(candidate: Candidate) -> "asyncio.Task[None]":
    return asyncio.create_task(candidate.election.run(candidate.lead))


async def ended(*tasks: "asyncio.Task[None]") -> None:
    """Cancel them until they have ended: a request whose connection is cut meanwhile may raise that error instead."""
    while not all(task.done() for task in tasks):
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=10)


def held_by_before(candidate: Candidate) -> object:
    """The holder in the Lease that it took; empty: nobody."""
    assert candidate.election.taken_from is not None
    return candidate.election.taken_from[0]


async def spec_of(client: Client, namespace: str) -> dict[str, Any]:
    lease = await client.get(LEASES, "lead", namespace, into=dict[str, Any])
    spec: dict[str, Any] = lease["spec"]
    return spec


async def test_lease_has_holder_and_acquire_time(client: Client, field_of: Field, namespace: str) -> None:
    a = await field_of.enter("a")
    task = running(a)
    await until(lambda: a.leads)
    spec = await spec_of(client, namespace)
    micro = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
    assert micro.fullmatch(spec.pop("acquireTime"))
    assert micro.fullmatch(spec.pop("renewTime"))
    assert spec == {"holderIdentity": a.election.identity, "leaseDurationSeconds": 12, "leaseTransitions": 0}
    assert a.election.identity.startswith("a_")
    await ended(task)


async def test_clean_shutdown_releases_the_lease(client: Client, field_of: Field, namespace: str) -> None:
    a, b = await field_of.enter("a"), await field_of.enter("b")
    first = running(a)
    await until(lambda: a.leads)
    second = running(b)
    await asyncio.sleep(1)
    assert not b.leads
    assert (a.election.vacant_since(), b.election.vacant_since()) == (None, None)
    await ended(first)
    assert a.cancelled
    await until(lambda: b.leads)
    assert held_by_before(b) == ""  # it did not wait for the Lease to run out
    assert (await spec_of(client, namespace))["leaseTransitions"] == 1
    assert field_of.turns() == ["a", "b"]
    await ended(second)
    left = await spec_of(client, namespace)
    assert left["holderIdentity"] == ""
    assert b.election.vacant_since() == datetime.fromisoformat(left["renewTime"])


async def test_candidate_that_finds_a_released_lease_knows_whether_another_led_since(
    client: Client, field_of: Field, namespace: str
) -> None:
    settings = ElectionSettings(namespace, "lead", "x", LEASE, DEADLINE, RETRY)
    assert await vacant_lease(client, settings) is None  # there is no Lease yet
    first = await field_of.enter("first")
    leading = running(first)
    await until(lambda: first.leads)
    assert first.election.taken_from is None
    assert await vacant_lease(client, settings) is None
    await ended(leading)
    vacant = await vacant_lease(client, settings)
    assert vacant is not None
    for name, expected in (("second", True), ("third", False)):
        candidate = await field_of.enter(name)
        leading = running(candidate)
        await until(lambda each=candidate: each.leads)  # type: ignore[misc]
        assert (candidate.election.taken_from == vacant) is expected
        await ended(leading)


async def test_leader_without_connection_stops_before_another_starts(field_of: Field, proxy: FaultProxy) -> None:
    a, b = await field_of.enter("a"), await field_of.enter("b")
    first = running(a)
    await until(lambda: a.leads)
    second = running(b)
    await asyncio.sleep(0.5)
    cut = time.monotonic()
    proxy.side("a").partition()
    await until(lambda: b.leads)
    assert 0 < a.sure[-1] - cut <= DEADLINE.total_seconds()
    assert b.sure[0] - a.sure[-1] > 0.5
    assert a.cancelled
    with pytest.raises(LeadershipLost, match=r"not renewed for 8 s"):
        await first
    proxy.side("a").heal()
    await asyncio.sleep(1)
    assert b.leads
    assert field_of.turns() == ["a", "b"]
    await ended(second)


async def test_api_server_outage_ends_leading_and_one_replica_leads_afterwards(
    field_of: Field, proxy: FaultProxy
) -> None:
    a, b = await field_of.enter("a"), await field_of.enter("b")
    first, second = running(a), running(b)
    await until(lambda: a.leads or b.leads)
    leader, other = (a, b) if a.leads else (b, a)
    for name in "ab":
        proxy.side(name).partition()
    await until(lambda: leader.cancelled)
    assert not other.leads
    for name in "ab":
        proxy.side(name).heal()
    await until(lambda: other.leads)
    assert field_of.turns() == [leader.name, other.name]
    await asyncio.wait({first if leader is a else second})
    await ended(first, second)


async def test_lease_that_could_not_be_renewed_is_released_when_it_can_be_reached_again(
    client: Client, field_of: Field, proxy: FaultProxy, namespace: str
) -> None:
    a = await field_of.enter("a")
    leading = running(a)
    await until(lambda: a.leads)
    proxy.side("a").partition()
    await until(lambda: a.cancelled)
    assert (await spec_of(client, namespace))["holderIdentity"] == a.election.identity
    proxy.side("a").heal()
    with pytest.raises(LeadershipLost):
        await leading
    b = await field_of.enter("b")
    following = running(b)
    await until(lambda: b.leads)
    assert held_by_before(b) == ""
    assert b.sure[0] - a.sure[-1] > (LEASE - DEADLINE).total_seconds()
    await ended(following)


async def test_leader_whose_lease_was_overwritten_stops_at_its_next_renewal(
    client: Client, field_of: Field, namespace: str
) -> None:
    a = await field_of.enter("a")
    task = running(a)
    await until(lambda: a.leads)
    await client.patch_merge(LEASES, "lead", {"spec": {"holderIdentity": "thief"}}, namespace)
    with pytest.raises(LeadershipLost, match=f"lost the lease {namespace}/lead to thief"):
        await asyncio.wait_for(task, 60)
    assert a.cancelled
    assert not a.leads


async def test_foreign_edits_and_deletion_of_the_lease_do_not_end_leading(
    client: Client, field_of: Field, namespace: str
) -> None:
    a, b = await field_of.enter("a"), await field_of.enter("b")
    first = running(a)
    await until(lambda: a.leads)
    second = running(b)
    for number in range(5):
        await client.patch_merge(LEASES, "lead", {"metadata": {"labels": {"n": str(number)}}}, namespace)
        await asyncio.sleep(0.1)
    await client.delete(LEASES, "lead", namespace)
    await asyncio.sleep(DEADLINE.total_seconds() + 0.5)
    assert a.leads
    assert (await spec_of(client, namespace))["holderIdentity"] == a.election.identity
    assert not b.sure
    await ended(first, second)


async def test_lease_write_with_a_lost_response_is_recognised(field_of: Field, proxy: FaultProxy) -> None:
    a = await field_of.enter("a")
    proxy.rules.append(Rule(LoseAnswer(), writes, times=1))
    task = running(a)
    await until(lambda: a.leads)
    assert held_by_before(a) == a.election.identity
    await ended(task)


async def test_lease_is_released_although_the_last_renewal_response_was_lost(
    client: Client, field_of: Field, namespace: str, proxy: FaultProxy
) -> None:
    a = await field_of.enter("a")
    task = running(a)
    await until(lambda: a.leads)
    rule = Rule(FallSilent(), writes, times=1)
    proxy.rules.append(rule)
    await until(lambda: rule.committed == 1)
    await asyncio.sleep(0.1)
    await ended(task)
    assert (await spec_of(client, namespace))["holderIdentity"] == ""


async def test_end_of_the_task_releases_the_lease_and_raises_its_error(
    client: Client, field_of: Field, namespace: str
) -> None:
    a = await field_of.enter("a")

    async def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await a.election.run(fail)
    assert (await spec_of(client, namespace))["holderIdentity"] == ""
    assert not a.leads


async def test_lease_expires_while_a_write_might_still_be_in_flight(
    client: Client, field_of: Field, namespace: str
) -> None:
    a = await field_of.enter("a")
    task = running(a)
    await until(lambda: a.leads)
    a.election.let_expire()
    await ended(task)
    assert (await spec_of(client, namespace))["holderIdentity"] == a.election.identity
    assert a.election.time_left() == timedelta()


@pytest.mark.parametrize("taken", ["by nobody", "by another"])
async def test_leader_that_slept_too_long_writes_nothing_until_it_has_renewed(
    client: Client, field_of: Field, namespace: str, monkeypatch: pytest.MonkeyPatch, taken: str
) -> None:
    a = await field_of.enter("a")
    task = running(a)
    await until(lambda: a.leads)
    asleep = LEASE.total_seconds()
    monkeypatch.setattr("shared.kube.lead.election.now_seconds", lambda: now_seconds() + asleep)
    assert not a.election.may_write()
    if taken == "by another":
        await client.patch_merge(LEASES, "lead", {"spec": {"holderIdentity": "b"}}, namespace)
        with pytest.raises(LeadershipLost):
            await asyncio.wait_for(task, 60)
    else:
        # The write that renews is refused if the lease was written in between.
        await until(lambda: a.leads)
        await ended(task)


async def test_a_guarded_client_writes_only_while_leading(client: Client, field_of: Field, namespace: str) -> None:
    a = await field_of.enter("a")
    guarded = client.guarded(a.election.time_left)
    body = {"metadata": {"name": "x"}}
    with pytest.raises(Fenced):
        await guarded.create(CONFIG_MAPS, body, namespace)
    task = running(a)
    await until(lambda: a.leads)
    created = await guarded.create(CONFIG_MAPS, body, namespace)
    await ended(task)
    assert (await guarded.get(CONFIG_MAPS, "x", namespace, into=type(created))).metadata.uid == created.metadata.uid
    with pytest.raises(Fenced):
        await guarded.delete(CONFIG_MAPS, "x", namespace)


@pytest.mark.parametrize("seed", [1, 2])
async def test_at_most_one_leads_under_random_partitions(field_of: Field, proxy: FaultProxy, seed: int) -> None:
    random = Random(seed)
    candidates = [await field_of.enter(name, SHORT_LEASE, SHORT_DEADLINE) for name in "abc"]
    stop = asyncio.Event()

    async def live(candidate: Candidate) -> None:
        while not stop.is_set():
            try:
                await candidate.election.run(candidate.lead)
            except LeadershipLost:
                candidate.cancelled = False

    lives = [asyncio.create_task(live(candidate)) for candidate in candidates]
    for _ in range(12):
        side = proxy.side(random.choice("abc"))
        random.choice([side.partition, side.partition, side.heal, side.cut])()
        await asyncio.sleep(random.uniform(0.1, 2.0))
    stop.set()
    for name in "abc":
        proxy.side(name).heal()
    await ended(*lives)
    readings = sorted((at, candidate.name) for candidate in candidates for at in candidate.sure)
    assert len(readings) > 100
    changes = [(b[0] - a[0], a[1], b[1]) for a, b in pairwise(readings) if a[1] != b[1]]
    # Between two leaders lies at least what the lease lasts beyond the deadline, unless the first released it.
    assert all(gap > 0.3 for gap, _, _ in changes), changes


@pytest.mark.parametrize(
    ("lease", "deadline", "retry"),
    [(10, 10, 2), (15, 2, 2), (15, 10, 0), (0.9, 0.5, 0.1)],
)
def test_inconsistent_durations_are_refused(lease: float, deadline: float, retry: float) -> None:
    with pytest.raises(ValueError, match=r"leaseDuration"):
        ElectionSettings("n", "l", "a", *(timedelta(seconds=each) for each in (lease, deadline, retry)))
