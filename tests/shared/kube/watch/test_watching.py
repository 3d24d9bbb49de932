"""A watch knows what there is, whatever happens to its server and the way to it. Against a real API server."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from shared.kube.client import Client
from shared.kube.resources import CONFIG_MAPS, Resource
from shared.kube.watch.watches import Watches
from shared.kube.watch.watching import Change, Changed, Undecodable, Watch, WatchSettings
from tests.faults.kinds import CutAnswer, FallSilent, Refuse, Rule, watches
from tests.faults.proxy import FaultProxy
from tests.shared.kube.servers import until

QUICK = WatchSettings(silence=timedelta(seconds=3))


class Thing(msgspec.Struct, frozen=True):
    name: str
    value: str


class _Metadata(msgspec.Struct):
    name: str


class _ConfigMap(msgspec.Struct):
    metadata: _Metadata
    data: dict[str, str] = {}


_decode = msgspec.json.Decoder(_ConfigMap).decode


def project(raw: bytes) -> Thing | None:
    found = _decode(raw)
    if found.data.get("value") == "hidden":
        return None
    if found.data.get("value") == "poison":
        raise ValueError("value is poison")
    return Thing(found.metadata.name, found.data.get("value", ""))


class Seen:
    """A sink that keeps every batch, and what they add up to."""

    def __init__(self) -> None:
        self.batches: list[list[Change[Thing]]] = []
        self.things: dict[str, str] = {}
        self.undecodable: list[Undecodable] = []

    def __call__(self, changes: Sequence[Change[Thing]]) -> None:
        self.batches.append(list(changes))
        for change in changes:
            if isinstance(change, Undecodable):
                self.undecodable.append(change)
                continue
            if change.before is not None:
                assert self.things.pop(change.before.name) == change.before.value
            if change.after is not None:
                self.things[change.after.name] = change.after.value


@asynccontextmanager
async def watching(
    client: Client, namespace: str, settings: WatchSettings = QUICK, **options: Any
) -> AsyncIterator[tuple[Watch[Thing], Seen]]:
    seen = Seen()
    watch = Watch(client, CONFIG_MAPS, project, seen, namespace=namespace, settings=settings, **options)
    task = asyncio.create_task(watch.run())
    try:
        async with asyncio.timeout(120):
            await watch.synced.wait()
        yield watch, seen
    finally:
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            task.result()


async def put(client: Client, namespace: str, name: str, value: str) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"value": value}}
    await client.apply(CONFIG_MAPS, name, body, namespace)


async def test_first_batch_is_complete_and_later_ones_are_differences(client: Client, namespace: str) -> None:
    for number in range(5):
        await put(client, namespace, f"c{number}", "1")
    async with watching(client, namespace) as (watch, seen):
        assert [len(batch) for batch in seen.batches] == [5]
        await put(client, namespace, "c0", "2")
        await client.delete(CONFIG_MAPS, "c1", namespace)
        await put(client, namespace, "new", "3")
        await until(lambda: "new" in seen.things)
        assert seen.things == {"c0": "2", "c2": "1", "c3": "1", "c4": "1", "new": "3"}
        assert [change for batch in seen.batches[1:] for change in batch] == [
            Changed(Thing("c0", "1"), Thing("c0", "2")),
            Changed(Thing("c1", "1"), None),
            Changed(None, Thing("new", "3")),
        ]
        assert sorted(thing.name for thing in watch.records.values()) == sorted(seen.things)


async def test_event_without_a_change_of_kept_fields_is_dropped(client: Client, namespace: str) -> None:
    await put(client, namespace, "a", "1")
    async with watching(client, namespace) as (_, seen):
        await client.patch_merge(CONFIG_MAPS, "a", {"metadata": {"labels": {"x": "y"}}}, namespace)
        await put(client, namespace, "b", "1")
        await until(lambda: "b" in seen.things)
        assert seen.batches[1:] == [[Changed(None, Thing("b", "1"))]]


async def test_filtered_object_is_absent_until_it_matches(client: Client, namespace: str) -> None:
    await put(client, namespace, "a", "hidden")
    async with watching(client, namespace) as (_, seen):
        assert seen.batches == []
        await put(client, namespace, "a", "1")
        await until(lambda: "a" in seen.things)
        await put(client, namespace, "a", "hidden")
        await until(lambda: "a" not in seen.things)


async def test_unreadable_object_is_reported_once_and_keeps_its_record(client: Client, namespace: str) -> None:
    await put(client, namespace, "a", "1")
    await put(client, namespace, "born-bad", "poison")
    async with watching(client, namespace) as (watch, seen):
        await put(client, namespace, "a", "poison")
        await client.patch_merge(CONFIG_MAPS, "a", {"metadata": {"labels": {"x": "y"}}}, namespace)
        await put(client, namespace, "z", "1")
        await until(lambda: "z" in seen.things)
        assert [(bad.namespace, bad.name, bad.reason) for bad in seen.undecodable] == [
            (namespace, "born-bad", "ValueError: value is poison"),
            (namespace, "a", "ValueError: value is poison"),
        ]
        assert seen.things["a"] == "1"
        assert sorted(bad.name for bad in watch.undecodable.values()) == ["a", "born-bad"]
        await put(client, namespace, "a", "2")
        await client.delete(CONFIG_MAPS, "born-bad", namespace)
        await until(lambda: seen.things.get("a") == "2" and not watch.undecodable)


async def test_selectors_are_applied_by_the_server(client: Client, namespace: str) -> None:
    await put(client, namespace, "a", "1")
    await put(client, namespace, "b", "1")
    async with watching(client, namespace, fields="metadata.name=b") as (_, seen):
        assert seen.things == {"b": "1"}


async def test_object_whose_change_the_sink_cannot_take_is_set_aside_until_it_changes(
    client: Client, namespace: str
) -> None:
    class Bitter(Seen):
        def __call__(self, changes: Sequence[Change[Thing]]) -> None:
            if any(isinstance(each, Changed) and each.after and each.after.value == "bitter" for each in changes):
                raise LookupError("bitter")
            super().__call__(changes)

    for name, value in (("a", "1"), ("b", "bitter"), ("c", "1")):
        await put(client, namespace, name, value)
    seen = Bitter()
    watch = Watch(client, CONFIG_MAPS, project, seen, namespace=namespace, settings=QUICK)
    task = asyncio.create_task(watch.run())
    try:
        await until(lambda: len(watch.undecodable) == 1)
        assert seen.things == {"a": "1", "c": "1"}
        (problem,) = seen.undecodable
        assert problem.name == "b"
        assert re.fullmatch(
            r"LookupError: bitter at shared/kube/watch/delivery.py:\d+ _tell_one_by_one", problem.reason
        )
        await put(client, namespace, "a", "bitter")
        await until(lambda: "a" not in seen.things)
        await put(client, namespace, "b", "2")
        await put(client, namespace, "a", "3")
        await until(lambda: seen.things == {"a": "3", "b": "2", "c": "1"})
        assert watch.undecodable == {}
    finally:
        task.cancel()
        await asyncio.wait({task})


async def test_server_without_streaming_lists_is_listed_in_pages(
    client: Client, through: Client, proxy: FaultProxy, namespace: str
) -> None:
    for number in range(7):
        await put(client, namespace, f"c{number}", "1")
    refusal = Rule(Refuse(422, "Invalid"), lambda asked: "sendInitialEvents" in asked.query)
    proxy.rules.append(refusal)
    pages = proxy.requests["watcher", "GET"]
    async with watching(through, namespace, WatchSettings(silence=timedelta(seconds=60), page=2)) as (_, seen):
        await put(client, namespace, "later", "1")
        await until(lambda: "later" in seen.things)
        assert [len(batch) for batch in seen.batches] == [7, 1]
        assert proxy.requests["watcher", "GET"] - pages == 1 + 4 + 1
        proxy.side("watcher").cut()
        await put(client, namespace, "last", "1")
        await until(lambda: "last" in seen.things)
        assert refusal.committed == 1


async def test_silent_stream_is_replaced_without_loss(
    client: Client, through: Client, proxy: FaultProxy, namespace: str
) -> None:
    quick = WatchSettings(silence=timedelta(seconds=1))
    async with watching(through, namespace, quick) as (watch, seen):
        proxy.rules.append(Rule(FallSilent(), watches, times=2))
        proxy.side("watcher").cut()
        await put(client, namespace, "a", "1")
        await until(lambda: seen.things == {"a": "1"})
        assert proxy.committed["FallSilent", "watcher"] == 2
        assert watch.counts.lists == 1


async def test_stream_closed_inside_a_line_neither_loses_nor_repeats_events(
    client: Client, through: Client, proxy: FaultProxy, namespace: str
) -> None:
    proxy.rules.append(Rule(CutAnswer(after=2000), watches, times=6))
    async with watching(through, namespace) as (watch, seen):
        for number in range(30):
            await put(client, namespace, f"c{number}", str(number))
        await until(lambda: len(seen.things) == 30)
        assert seen.things == {f"c{number}": str(number) for number in range(30)}
        assert proxy.committed["CutAnswer", "watcher"] >= 4
        assert watch.health.trouble is None


@pytest.mark.parametrize("code", [429, 500, 503])
async def test_refused_watch_is_retried_after_the_requested_delay(
    client: Client, through: Client, proxy: FaultProxy, namespace: str, code: int
) -> None:
    async with watching(through, namespace) as (watch, seen):
        rule = Rule(Refuse(code, retry_after=1), watches, times=2)
        proxy.rules.append(rule)
        loop = asyncio.get_running_loop()
        started = loop.time()
        proxy.side("watcher").cut()
        await put(client, namespace, "a", "1")
        await until(lambda: seen.things == {"a": "1"})
        assert rule.committed == 2
        assert loop.time() - started >= 2
        assert watch.counts.lists == 1


async def test_first_list_is_made_after_the_requested_delay(
    client: Client, through: Client, proxy: FaultProxy, namespace: str
) -> None:
    await put(client, namespace, "a", "1")
    rule = Rule(Refuse(429, retry_after=1), lambda asked: not asked.is_write, times=2)
    proxy.rules.append(rule)
    loop = asyncio.get_running_loop()
    started = loop.time()
    async with watching(through, namespace) as (watch, seen):
        await until(lambda: seen.things == {"a": "1"})
        assert rule.committed == 2
        assert loop.time() - started >= 2
        assert watch.counts.lists == 1


async def test_expired_version_leads_to_a_new_list_and_only_differences_are_reported(
    client: Client, through: Client, proxy: FaultProxy, namespace: str
) -> None:
    for name in ("stays", "goes", "changes"):
        await put(client, namespace, name, "1")
    async with watching(through, namespace) as (watch, seen):
        proxy.rules.append(
            Rule(Refuse(410), lambda asked: watches(asked) and "resourceVersion" in asked.query, times=1)
        )
        proxy.side("watcher").partition()
        await client.delete(CONFIG_MAPS, "goes", namespace)
        await put(client, namespace, "changes", "2")
        proxy.side("watcher").cut()
        proxy.side("watcher").heal()
        await until(lambda: watch.counts.lists == 2 and len(seen.batches) == 2)
        assert seen.batches[1:] == [
            [Changed(Thing("goes", "1"), None), Changed(Thing("changes", "1"), Thing("changes", "2"))]
        ]


async def test_readiness_names_the_watch_that_has_not_synced(client: Client) -> None:
    nowhere = Resource("nowhere.example.com", "v1", "things", "Thing", namespaced=False)
    all_watches = Watches()
    watch = all_watches.add(Watch(client, nowhere, project, Seen()))
    task = asyncio.create_task(all_watches.run())
    await until(lambda: watch.health.trouble is not None)
    problem = "watch of things has not synced: GET things.nowhere.example.com: 404: 404 page not found"
    assert all_watches.problem() == problem
    task.cancel()
    await asyncio.wait({task})


async def test_exception_of_the_sink_ends_the_watch(client: Client, namespace: str) -> None:
    await put(client, namespace, "a", "1")

    def broken(_: Sequence[Change[Thing]]) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await asyncio.wait_for(Watch(client, CONFIG_MAPS, project, broken, namespace=namespace).run(), 60)
