"""Connections that are slow, broken or no TLS at all are closed, and the next review is served."""

import asyncio
from datetime import timedelta

import pytest

from tests.webhook.http.test_handler import PATH
from tests.webhook.http.test_server import JSON, running, still_serves

PATIENCE = timedelta(milliseconds=1500)


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"POST ",
        b"POST /validate/jobs HTTP/1.1\r\nHost: x\r\nX: ",
        b"POST /validate/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
    ],
    ids=["nothing", "half a line", "half a header", "half a body"],
)
async def test_slow_loris_is_closed(sent: bytes) -> None:
    async with running(patience=PATIENCE) as it:
        reader, writer = await it.open()
        writer.write(sent)
        async with asyncio.timeout(60):
            answer = await reader.read()
        assert answer == b"" or b"408 Request Timeout" in answer
        writer.close()
        await still_serves(it)


async def test_slow_loris_that_sends_single_bytes_is_closed() -> None:
    async with running(patience=PATIENCE) as it:
        reader, writer = await it.open()

        async def drip() -> None:
            while True:
                writer.write(b"X-Drop: 1\r\n")
                await asyncio.sleep(0.1)

        writer.write(b"POST /validate/jobs HTTP/1.1\r\nHost: x\r\n")
        dripping = asyncio.create_task(drip())
        async with asyncio.timeout(60):
            assert await reader.read() == b""
        dripping.cancel()
        await still_serves(it)


async def test_plain_http_on_the_tls_port_is_closed() -> None:
    async with running(patience=PATIENCE) as it:
        reader, writer = await asyncio.open_connection("127.0.0.1", it.port)
        writer.write(b"POST /validate/jobs HTTP/1.1\r\nHost: x\r\n\r\n")
        async with asyncio.timeout(60):
            answer = await reader.read()
        assert b"HTTP" not in answer
        writer.close()
        await still_serves(it)


async def test_invalid_tls_handshake_is_closed() -> None:
    async with running(patience=PATIENCE) as it:
        reader, writer = await asyncio.open_connection("127.0.0.1", it.port)
        writer.write(b"\x16\x03\x01" + b"\xff" * 2000)
        async with asyncio.timeout(60):
            await reader.read()
        writer.close()
        await still_serves(it)


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00\xff\xfe rubbish\r\n\r\n",
        b"POST /validate/jobs HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /validate/jobs HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
    ],
    ids=["no HTTP", "negative length", "header of 100 kB"],
)
async def test_broken_http_is_answered_with_400(sent: bytes) -> None:
    async with running() as it:
        reader, writer = await it.open()
        writer.write(sent)
        async with asyncio.timeout(60):
            assert (await reader.readline()).startswith(b"HTTP/1.") is True
        writer.close()
        await still_serves(it)


async def test_compressed_body_is_refused() -> None:
    async with running() as it, it.client() as client:
        headers = {**JSON, "Content-Encoding": "gzip"}
        async with client.post(it.url, data=b"\x1f\x8b" + b"\0" * 1000, headers=headers) as answer:
            assert answer.status == 400


async def test_reviews_are_served_next_to_300_idle_connections() -> None:
    async with running(patience=timedelta(seconds=3)) as it:
        idle = [await asyncio.open_connection("127.0.0.1", it.port) for _ in range(200)]
        half = [await it.open() for _ in range(100)]
        for _, writer in half:
            writer.write(b"POST " + PATH.encode() + b" HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n")
        await still_serves(it)
        async with asyncio.timeout(60):
            await asyncio.gather(*(reader.read() for reader, _ in (*idle, *half)), return_exceptions=True)
        for _, writer in (*idle, *half):
            writer.transport.abort()
        await still_serves(it)
