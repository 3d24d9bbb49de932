"""A guarded write is over when its time is: it has been answered, or its connection has been closed."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp import web

from shared.kube.errors import Fenced, Unavailable
from shared.kube.resources import CONFIG_MAPS
from tests.shared.kube.servers import client_of, until

BODY = {"metadata": {"name": "x"}}


async def test_write_times_out_with_the_lease(tmp_path: Path) -> None:
    hung_up: list[str] = []

    async def never(request: web.Request) -> web.Response:
        while request.transport is not None and not request.transport.is_closing():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        hung_up.append(request.method)
        return web.Response()

    async with client_of(never, tmp_path) as client:
        patient = client.within(timedelta(hours=1))
        with pytest.raises(Unavailable, match="no answer in time"):
            await patient.guarded(lambda: timedelta(seconds=0.2)).create(CONFIG_MAPS, BODY, "ns")
        await until(lambda: hung_up == ["POST"])


async def test_expired_lease_blocks_writes_but_not_reads(tmp_path: Path) -> None:
    seen: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append(request.method)
        return web.json_response({"metadata": {"name": "x"}})

    async with client_of(answer, tmp_path) as client:
        guarded = client.guarded(timedelta)
        with pytest.raises(Fenced):
            await guarded.create(CONFIG_MAPS, BODY, "ns")
        await guarded.get(CONFIG_MAPS, "x", "ns")
        assert seen == ["GET"]
