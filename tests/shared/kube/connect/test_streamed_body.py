"""A response that does not end by itself, of which bytes are left to gather for a moment."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp import web

from shared.kube.client import Client
from shared.kube.errors import Unavailable
from shared.kube.resources import JOBS
from tests.shared.kube.servers import client_of

SILENCE = timedelta(seconds=20)
PIECES = [b"a" * 1000, b"b" * 1000, b"c" * 1000]


async def _begin(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(b"first")
    return response


async def test_what_gathers_while_a_stream_is_left_is_read_afterwards(tmp_path: Path) -> None:
    is_left, is_sent = asyncio.Event(), asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        response = await _begin(request)
        await is_left.wait()
        for each in PIECES:
            await response.write(each)
        is_sent.set()
        return response

    async with client_of(answer, tmp_path) as client, client.stream(JOBS, None, {}, silence=SILENCE) as body:
        assert await body.read() == b"first"
        leaving = asyncio.create_task(body.leave(0.05))
        is_left.set()
        await asyncio.gather(is_sent.wait(), leaving)
        found = b""
        while piece := await body.read():
            found += piece
        assert found == b"".join(PIECES)


async def test_a_stream_that_breaks_while_it_is_left_is_unavailable(tmp_path: Path) -> None:
    is_left = asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        response = await _begin(request)
        await is_left.wait()
        assert request.transport is not None
        request.transport.abort()
        return response

    async def read_all(client: Client) -> None:
        async with client.stream(JOBS, None, {}, silence=SILENCE) as body:
            assert await body.read() == b"first"
            leaving = asyncio.create_task(body.leave(0.05))
            is_left.set()
            await leaving
            while await body.read():
                pass

    async with client_of(answer, tmp_path) as client:
        with pytest.raises(Unavailable):
            await read_all(client)
