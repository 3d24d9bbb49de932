"""Receives the API server's spans: the one gRPC method of an OpenTelemetry collector, over HTTP/2 without TLS.

It answers every request with an empty message, so it need not understand heads, and keeps the messages as they come:
nothing is decoded while starts are measured.
"""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _SETTINGS, _PING, _WINDOW_UPDATE = 0, 1, 4, 6, 8
_END_STREAM, _ACK, _END_HEADERS = 1, 1, 4
_WINDOW: Final = (1 << 31) - 1
"""No client sends more bytes than that, so it never waits for an update."""
_INITIAL_WINDOW: Final = 65_535
_BEGIN: Final = b"\x88" + b"\x0f\x10\x10application/grpc"
""":status 200, and content-type, as HPACK writes them without a table."""
_END: Final = b"\x00\x0bgrpc-status\x010"
_EMPTY_MESSAGE: Final = bytes(5)
_PREFIX: Final = 5
"""Bytes before a gRPC message: whether it is compressed, and its length."""


def write_tracing(folder: Path, port: int) -> Path:
    """Write the API server's settings, by which it sends all its spans to that port."""
    path = folder / "tracing.json"
    settings = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "TracingConfiguration",
        "endpoint": f"127.0.0.1:{port}",
        "samplingRatePerMillion": 1_000_000,
    }
    path.write_text(json.dumps(settings))
    return path


@contextmanager
def collecting(port: int) -> Iterator[list[bytes]]:
    """Listen in a thread while the block runs; yield the list to which each ExportTraceServiceRequest is added."""
    found: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            await _serve(reader, writer, found)
        writer.close()

    with asyncio.Runner() as runner:
        server, loop = runner.run(asyncio.start_server(serve, "127.0.0.1", port)), runner.get_loop()
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()
        try:
            yield found
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            server.close()


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, found: list[bytes]) -> None:
    await reader.readexactly(len(_PREFACE))
    writer.write(_frame(_SETTINGS, 0, 0, b"\x00\x04" + _WINDOW.to_bytes(4)))
    writer.write(_frame(_WINDOW_UPDATE, 0, 0, (_WINDOW - _INITIAL_WINDOW).to_bytes(4)))
    bodies: dict[int, bytearray] = {}
    while True:
        head = await reader.readexactly(9)
        kind, flags, stream = head[3], head[4], int.from_bytes(head[5:]) & _WINDOW
        content = await reader.readexactly(int.from_bytes(head[:3]))
        if kind in (_SETTINGS, _PING) and not flags & _ACK:
            writer.write(_frame(kind, _ACK, 0, content if kind == _PING else b""))
        elif kind == _DATA:
            body = bodies.setdefault(stream, bytearray())
            body += content
            if flags & _END_STREAM:
                found.append(bytes(bodies.pop(stream)[_PREFIX:]))
                writer.write(_frame(_HEADERS, _END_HEADERS, stream, _BEGIN))
                writer.write(_frame(_DATA, 0, stream, _EMPTY_MESSAGE))
                writer.write(_frame(_HEADERS, _END_HEADERS | _END_STREAM, stream, _END))


def _frame(kind: int, flags: int, stream: int, content: bytes) -> bytes:
    return len(content).to_bytes(3) + bytes((kind, flags)) + stream.to_bytes(4) + content
