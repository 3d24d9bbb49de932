"""A small HTTP server that answers as a test says, and a client of it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import msgspec
from aiohttp import web

from shared.kube.client import Client, ObjectMetadata, WrittenMetadata
from shared.kube.connect.connection import ConnectionSettings, connected

T = TypeVar("T")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_read = msgspec.json.Decoder(ObjectMetadata).decode


@contextlib.asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[str]:
    """A server that answers /version itself and leaves the rest to `handler`; gives its address."""

    async def version(_: web.Request) -> web.Response:
        return web.json_response({"gitVersion": "v1.37.2"})

    app = web.Application()
    app.router.add_get("/version", version)
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def write_kubeconfig(folder: Path, server: str, user: str = "token: t") -> Path:
    """A kubeconfig with one context, `only`."""
    path = folder / "kubeconfig"
    path.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: only\n"
        "contexts: [{name: only, context: {cluster: c, user: u}}]\n"
        f"clusters: [{{name: c, cluster: {{server: '{server}'}}}}]\n"
        f"users: [{{name: u, user: {{{user}}}}}]\n"
    )
    return path


@contextlib.asynccontextmanager
async def client_of(handler: Handler, folder: Path) -> AsyncIterator[Client]:
    """A client of such a server."""
    async with serving(handler) as server:
        settings = ConnectionSettings(kubeconfig=str(write_kubeconfig(folder, server)))
        async with connected(settings) as connection:
            yield Client(connection)


async def until(condition: Callable[[], bool], seconds: float = 120) -> None:
    """Wait until it holds; TimeoutError when it never does."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - what is waited for happens in other processes
            await asyncio.sleep(0.02)


async def eventually(ask: Callable[[], Awaitable[T]], good: Callable[[T], object] = bool, seconds: float = 120) -> T:
    """Ask again and again until the answer is good; returns it. TimeoutError when it never is."""
    async with asyncio.timeout(seconds):
        while not good(answer := await ask()):  # noqa: ASYNC110 - the same
            await asyncio.sleep(0.05)
    return answer


def project_metadata(raw: bytes) -> WrittenMetadata:
    """Keeps an object's metadata."""
    return _read(raw).metadata
