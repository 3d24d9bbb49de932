"""Events are told once, counted on, bounded, and never in the way."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from shared.kube.client import Client, ObjectMetadata
from shared.kube.events.note import EventType, Regarding
from shared.kube.events.recorder import EventRecorder, EventSettings
from shared.kube.resources import CONFIG_MAPS, EVENTS
from tests.faults.kinds import LoseAnswer, Refuse, Rule, writes
from tests.faults.proxy import FaultProxy
from tests.shared.kube.servers import eventually, until


@asynccontextmanager
async def recording(client: Client, settings: EventSettings | None = None) -> AsyncIterator[EventRecorder]:
    recorder = EventRecorder(client, "quotree.dev/test", "me", settings or EventSettings())
    task = asyncio.create_task(recorder.run())
    await asyncio.sleep(0)
    try:
        yield recorder
    finally:
        task.cancel()
        await asyncio.wait({task})


async def thing(client: Client, namespace: str, name: str = "thing") -> Regarding:
    made = await client.create(CONFIG_MAPS, {"metadata": {"name": name}}, namespace)
    return Regarding("v1", "ConfigMap", name, namespace, made.metadata.uid)


async def events(client: Client, namespace: str) -> list[dict[str, Any]]:
    found = await client.list_all(EVENTS, namespace, into=dict[str, Any])
    return sorted(found, key=lambda event: (event["eventTime"] or "", event["note"]))


async def counts(client: Client, namespace: str) -> list[int | None]:
    return [event.get("series", {}).get("count") for event in await events(client, namespace)]


async def test_event_has_every_required_field(client: Client, namespace: str) -> None:
    about = await thing(client, namespace)
    async with recording(client) as recorder:
        recorder.record(about, EventType.WARNING, reason="Reclaimed", action="Evict", note="owed to nlp")
        (event,) = await eventually(lambda: events(client, namespace))
    assert event["metadata"]["name"].startswith("thing.")
    kept = ("reportingController", "reportingInstance", "type", "reason", "action", "note", "series")
    assert {key: event.get(key) for key in kept} == {
        "reportingController": "quotree.dev/test",
        "reportingInstance": "me",
        "type": "Warning",
        "reason": "Reclaimed",
        "action": "Evict",
        "note": "owed to nlp",
        "series": None,
    }
    assert event["regarding"] == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "thing",
        "namespace": namespace,
        "uid": about.uid,
    }


async def test_event_of_a_cluster_scoped_object_is_in_default(client: Client, namespace: str) -> None:
    async with recording(client) as recorder:
        recorder.record(
            Regarding("quotree.dev/v1alpha1", "QuotaGroup", namespace), reason="Held", action="Hold", note="n"
        )
    found = await client.list_all(EVENTS, "default", into=ObjectMetadata)
    assert len([event for event in found if event.metadata.name.startswith(f"{namespace}.")]) == 1


async def test_repeated_note_updates_the_series_of_one_event(client: Client, namespace: str) -> None:
    about = await thing(client, namespace)
    async with recording(client, EventSettings(repeat_after=timedelta(seconds=5))) as recorder:
        recorder.record(about, reason="Waiting", action="Wait", note="same")
        await eventually(lambda: events(client, namespace))
        for _ in range(9):
            recorder.record(about, reason="Waiting", action="Wait", note="same")
        recorder.record(about, reason="Waiting", action="Wait", note="other")
        await eventually(lambda: counts(client, namespace), lambda found: found == [10, None])
        recorder.record(about, reason="Waiting", action="Wait", note="same")
        await asyncio.sleep(0.3)
        assert await counts(client, namespace) == [10, None]


async def test_same_note_after_a_quiet_time_is_a_new_event(client: Client, namespace: str) -> None:
    about = await thing(client, namespace)
    async with recording(client, EventSettings(forget_after=timedelta(seconds=0.2))) as recorder:
        for _ in range(2):
            recorder.record(about, reason="Waiting", action="Wait", note="same")
            await asyncio.sleep(0.4)
    assert len(await events(client, namespace)) == 2


async def test_events_of_one_object_are_limited_and_drops_are_counted(client: Client, namespace: str) -> None:
    about = await thing(client, namespace)
    async with recording(client, EventSettings(object_burst=3)) as recorder:
        for number in range(10):
            recorder.record(about, reason="Noise", action="Make", note=f"{number}")
        other = await thing(client, namespace, "other")
        recorder.record(other, reason="Quiet", action="Make", note="heard")
        await until(lambda: recorder.dropped == 7)
    assert [event["note"] for event in await events(client, namespace)] == ["0", "1", "2", "heard"]


async def test_total_rate_of_events_is_limited(client: Client, namespace: str) -> None:
    about = await thing(client, namespace)
    settings = EventSettings(rate=10, burst=5, object_burst=100)
    async with recording(client, settings) as recorder:
        started = time.monotonic()
        for number in range(15):
            recorder.record(about, reason="Noise", action="Make", note=f"{number}")
        await eventually(lambda: events(client, namespace), lambda found: len(found) == 15)
        assert time.monotonic() - started >= 0.9


async def test_new_events_wait_for_what_is_more_urgent(client: Client, namespace: str) -> None:
    about = await thing(client, namespace)
    async with recording(client) as recorder:
        busy = True
        recorder.gives_way = lambda: busy
        recorder.record(about, reason="Started", action="Start", note="n")
        await asyncio.sleep(0.3)
        assert await events(client, namespace) == []
        busy = False
        assert await eventually(lambda: counts(client, namespace)) == [None]


async def test_new_events_wait_for_a_limited_time(client: Client, namespace: str) -> None:
    about = await thing(client, namespace)
    async with recording(client, EventSettings(longest_wait=timedelta(seconds=0.2))) as recorder:
        recorder.gives_way = lambda: True
        recorder.record(about, reason="Started", action="Start", note="n")
        assert await eventually(lambda: counts(client, namespace)) == [None]


async def test_new_events_are_sent_at_the_end_whatever_is_more_urgent(client: Client, namespace: str) -> None:
    about = await thing(client, namespace)
    async with recording(client) as recorder:
        recorder.gives_way = lambda: True
        recorder.record(about, reason="Started", action="Start", note="n")
    assert await counts(client, namespace) == [None]


async def test_events_never_block_callers_and_memory_is_bounded_without_an_api_server(
    through: Client, proxy: FaultProxy, namespace: str
) -> None:
    proxy.side("watcher").partition()
    async with recording(through, EventSettings(capacity=100)) as recorder:
        for number in range(5000):
            recorder.record(Regarding("v1", "Pod", f"p{number}", "x", f"u{number}"), reason="R", action="A", note="n")
        assert len(recorder._notes) == 100
        assert recorder.dropped >= 4899
        proxy.side("watcher").heal()


async def test_event_create_with_a_lost_response_is_not_repeated(
    client: Client, through: Client, proxy: FaultProxy, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shared.kube.events.recorder._PAUSE_AFTER_FAILURE", 0.1)
    about = await thing(client, namespace)
    proxy.rules += [Rule(LoseAnswer(), writes, times=1), Rule(Refuse(429, retry_after=1), writes, times=1)]
    async with recording(through, EventSettings(repeat_after=timedelta(seconds=0.1))) as recorder:
        recorder.record(about, reason="R", action="A", note="n")
        await until(lambda: proxy.requests["watcher", "POST"] == 3)
        recorder.record(about, reason="R", action="A", note="n")
        await eventually(lambda: counts(client, namespace), lambda found: found == [2])


async def test_invalid_event_is_shortened_or_dropped(client: Client, namespace: str) -> None:
    about = await thing(client, namespace)
    nowhere = Regarding("v1", "ConfigMap", "thing", "no-such-namespace", "u")
    async with recording(client) as recorder:
        recorder.record(nowhere, reason="Lost", action="Lose", note="n")
        recorder.record(about, reason="Long", action="Say", note="ü" * 1000)
        await until(lambda: recorder.dropped == 1)
    (event,) = await events(client, namespace)
    assert event["note"] == "ü" * 510 + "…"
