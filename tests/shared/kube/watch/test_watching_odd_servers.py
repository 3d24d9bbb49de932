"""A watch copes with servers that a real API server rarely is: small servers that misbehave on purpose."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from aiohttp import web

from shared.kube.client import WrittenMetadata
from shared.kube.resources import NODES
from shared.kube.watch.watching import Change, Changed, Watch, WatchSettings
from tests.shared.kube.servers import client_of, project_metadata, until

QUICK = WatchSettings(silence=timedelta(seconds=2))
Answer = tuple[str, Any]
"""What to do next: ("events", list), ("status", code), ("list", (names, version)), ("silence", None), ("cut", None)."""


def node(name: str, version: str = "1") -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": version}}


def event(kind: str, name: str, version: str = "1") -> dict[str, Any]:
    return {"type": kind, "object": node(name, version)}


def bookmark(version: str, *, ends_list: bool = False) -> dict[str, Any]:
    annotations = {"k8s.io/initial-events-end": "true"} if ends_list else {}
    return {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": version, "annotations": annotations}}}


def error(code: int, reason: str) -> dict[str, Any]:
    return {"type": "ERROR", "object": {"kind": "Status", "code": code, "reason": reason, "message": "m"}}


class Script:
    """Answers the n-th request with the n-th answer; the last one again and again."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, str]] = []
        self.at: list[float] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(dict(request.query))
        self.at.append(asyncio.get_running_loop().time())
        kind, what = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if kind == "status":
            return web.json_response({"kind": "Status", "code": what, "message": "m"}, status=what)
        if kind == "list":
            names, version = what
            body = {"metadata": {"resourceVersion": version}, "items": [node(name) for name in names]}
            return web.json_response(body)
        response = web.StreamResponse()
        await response.prepare(request)
        if kind == "raw":
            await response.write(what)
        for each in what if kind == "events" else []:
            if each == "stay":
                await asyncio.sleep(30)
            await response.write(json.dumps(each).encode() + b"\n")
        if kind == "silence":
            await asyncio.sleep(30)
        return response

    def versions(self) -> list[str]:
        """From which version each request watched; a list is `list`, a streaming one `all`."""
        return [
            "all" if "sendInitialEvents" in query else query["resourceVersion"] if "watch" in query else "list"
            for query in self.asked
        ]


class Recorded:
    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def __call__(self, changes: Any) -> None:
        self.batches.append([describe(change) for change in changes])

    def __len__(self) -> int:
        return sum(map(len, self.batches))


def describe(change: Change[WrittenMetadata]) -> str:
    assert isinstance(change, Changed)
    before, after = change.before, change.after
    sign = "~" if before and after else "+" if after else "-"
    return sign + (after or before or WrittenMetadata()).name


@asynccontextmanager
async def watching(script: Script, folder: Path) -> AsyncIterator[tuple[Watch[WrittenMetadata], Recorded]]:
    recorded = Recorded()
    async with client_of(script.answer, folder) as client:
        watch = Watch(client, NODES, project_metadata, recorded, settings=QUICK)
        task = asyncio.create_task(watch.run())
        try:
            yield watch, recorded
        finally:
            task.cancel()
            await asyncio.wait({task})
            assert task.cancelled(), task.exception()


async def batches_of(
    script: Script, folder: Path, done: Callable[[Recorded], object], seconds: float = 15
) -> list[list[str]]:
    async with watching(script, folder) as (_, recorded):
        await until(lambda: bool(done(recorded)), seconds)
        return recorded.batches


START = [event("ADDED", "a"), event("ADDED", "b"), bookmark("5", ends_list=True)]


async def test_no_batch_is_sent_before_the_list_is_complete(tmp_path: Path) -> None:
    script = Script(("events", START[:2]), ("events", [*START, "stay"]))
    assert await batches_of(script, tmp_path, lambda recorded: recorded.batches) == [["+a", "+b"]]
    assert script.versions() == ["all", "all"]


async def test_watch_resumes_from_the_last_event_or_bookmark(tmp_path: Path) -> None:
    script = Script(
        ("events", START),
        ("events", [event("MODIFIED", "a", "7")]),
        ("events", [bookmark("9")]),
        ("events", [event("DELETED", "b", "10"), "stay"]),
    )
    recorded = await batches_of(script, tmp_path, lambda recorded: len(recorded) == 4)
    assert recorded == [["+a", "+b"], ["~a"], ["-b"]]
    assert script.versions() == ["all", "5", "7", "9"]


async def test_expired_version_inside_the_stream_leads_to_a_new_list(tmp_path: Path) -> None:
    script = Script(
        ("events", START),
        ("events", [event("MODIFIED", "a", "7"), error(410, "Expired")]),
        ("events", [event("ADDED", "b"), event("ADDED", "c"), bookmark("20", ends_list=True), "stay"]),
    )
    recorded = await batches_of(script, tmp_path, lambda recorded: len(recorded) == 5)
    assert recorded == [["+a", "+b"], ["~a"], ["-a", "+c"]]
    assert script.versions() == ["all", "5", "all"]


async def test_server_restored_to_an_older_version_is_listed_again(tmp_path: Path) -> None:
    script = Script(
        ("events", START),
        ("events", [bookmark("4")]),
        ("events", [event("ADDED", "a"), bookmark("4", ends_list=True), "stay"]),
    )
    assert await batches_of(script, tmp_path, lambda recorded: len(recorded) == 3) == [["+a", "+b"], ["-b"]]
    assert script.versions() == ["all", "5", "all"]


async def test_failed_streaming_list_falls_back_to_pages_once(tmp_path: Path) -> None:
    script = Script(
        ("events", [event("ADDED", "a"), error(500, "InternalError")]),
        ("list", (["a", "b"], "5")),
        ("events", [error(410, "Expired")]),
        ("events", [*START, "stay"]),
    )
    async with watching(script, tmp_path) as (watch, recorded):
        await until(lambda: watch.counts.lists == 2)
        assert recorded.batches == [["+a", "+b"]]
    assert script.versions() == ["all", "list", "5", "all"]


async def test_server_without_streaming_lists_is_asked_only_once(tmp_path: Path) -> None:
    for first in (("status", 422), ("events", [event("ADDED", "a"), bookmark("3")])):
        script = Script(
            first,
            ("list", (["a"], "5")),
            ("events", [error(410, "Expired")]),
            ("list", (["a", "b"], "6")),
            ("events", ["stay"]),
        )
        assert await batches_of(script, tmp_path, lambda recorded: len(recorded) == 2) == [["+a"], ["+b"]]
        assert script.versions()[:4] == ["all", "list", "5", "list"]


async def test_stream_closed_at_once_is_retried_with_back_off(tmp_path: Path) -> None:
    script = Script(("events", START), ("events", []))
    async with watching(script, tmp_path) as (watch, _):
        await watch.synced.wait()
        await asyncio.sleep(3)
        # 0.1 + 0.2 + 0.4 + 0.8 + 1.6 s, each ±25 %.
        assert len(script.asked) <= 7
        await until(lambda: len(script.asked) >= 4)
    assert set(script.versions()[1:]) == {"5"}


async def test_stream_without_any_byte_is_detected(tmp_path: Path) -> None:
    script = Script(("silence", None), ("events", [*START, "stay"]))
    async with watching(script, tmp_path) as (watch, recorded):
        await until(watch.synced.is_set)
        assert script.at[1] - script.at[0] >= 2
        assert recorded.batches == [["+a", "+b"]]


async def test_garbage_in_the_stream_causes_a_reconnection_without_loss(tmp_path: Path) -> None:
    good = json.dumps(event("ADDED", "c", "6")).encode()
    script = Script(
        ("events", START),
        ("raw", good + b'\n{"type":"ADDED","object":{"metadata":\xff\n'),
        ("raw", b"<html>\n"),
        ("raw", b'{"type":"ADDED","object":{"metadata":{"uid":5}}}\n'),
        ("events", [event("ADDED", "d", "7"), "stay"]),
    )
    recorded = await batches_of(script, tmp_path, lambda recorded: len(recorded) == 4)
    assert recorded == [["+a", "+b"], ["+c"], ["+d"]]
    assert script.versions() == ["all", "5", "6", "6", "6"]


async def test_health_reports_the_last_error_until_it_is_resolved(tmp_path: Path) -> None:
    script = Script(("events", START), ("status", 403), ("events", [bookmark("6"), "stay"]))
    async with watching(script, tmp_path) as (watch, _):
        await until(lambda: watch.health.trouble is not None)
        troubled = time.monotonic()
        assert watch.health.trouble == "GET nodes: 403: m"
        await until(lambda: watch.health.trouble is None)
        assert watch.health.quiet_seconds() <= time.monotonic() - troubled
