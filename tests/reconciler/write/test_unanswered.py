"""Writes that the API server fails or does not answer: evictions are given up and decided again, starts repeated."""

import asyncio
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp import web

from reconciler.write import workload_writer
from reconciler.write.workload_writer import WorkloadWriter, WriteOutcome
from shared.api.names import ADMISSION, EVICTION
from tests.shared.cluster.state.objects import running_job
from tests.shared.kube.servers import client_of, until

LIMIT = timedelta(seconds=0.5)
MARK = (EVICTION, "text")


@pytest.fixture(autouse=True)
def _with_short_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workload_writer, "_REFUSED_LIMIT", LIMIT)


def _an_hour() -> timedelta:
    return timedelta(hours=1)


async def _unavailable(_: web.Request) -> web.Response:
    return web.json_response({"kind": "Status", "code": 503, "reason": "ServiceUnavailable"}, status=503)


async def _never(request: web.Request) -> web.Response:
    while request.transport is not None and not request.transport.is_closing():  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    return web.Response()


@pytest.mark.parametrize("handler", [_unavailable, _never])
async def test_eviction_is_given_up_when_it_is_not_answered(handler: object, tmp_path: Path) -> None:
    async with client_of(handler, tmp_path) as client:  # type: ignore[arg-type]
        outcome = await WorkloadWriter(client, _an_hour).patch(running_job(), [], MARK)
        assert outcome.fate is WriteOutcome.UNANSWERED


async def test_eviction_that_was_carried_out_without_an_answer_is_known_by_its_mark(tmp_path: Path) -> None:
    async def once(request: web.Request) -> web.Response:
        seen[request.method] += 1
        if request.method == "GET":
            return web.json_response({"metadata": {"name": "a", "uid": "u1", "annotations": dict([MARK])}})
        if seen["PATCH"] == 1:
            return await _unavailable(request)
        return web.json_response({"kind": "Status", "code": 409, "reason": "Conflict"}, status=409)

    seen = Counter[str]()
    async with client_of(once, tmp_path) as client:
        outcome = await WorkloadWriter(client, _an_hour).patch(running_job(), [], MARK)
    assert (outcome.fate, seen) == (WriteOutcome.WRITTEN, {"PATCH": 2, "GET": 1})


async def test_start_is_repeated_until_it_is_answered(tmp_path: Path) -> None:
    """Otherwise its quota would be given to others while it might have been started."""
    tries = []

    async def later(request: web.Request) -> web.Response:
        tries.append(time.monotonic())
        return await _unavailable(request) if is_down else web.json_response({"metadata": {"name": "a"}})

    is_down = True
    async with client_of(later, tmp_path) as client:
        write = asyncio.create_task(WorkloadWriter(client, _an_hour).patch(running_job(), [], (ADMISSION, "text")))
        await until(lambda: bool(tries) and time.monotonic() - tries[0] > 2 * LIMIT.total_seconds())
        assert not write.done()
        is_down = False
        assert (await write).fate is WriteOutcome.WRITTEN
