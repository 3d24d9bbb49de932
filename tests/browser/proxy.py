"""An authenticating proxy, as far as the dashboard sees one: it adds the user's token to what a browser asks for."""

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp
from aiohttp import web


@contextmanager
def proxied(upstream: str, token: str) -> Iterator[str]:
    """Forward to `upstream` with this user's token until the end of the block; yield the proxy's address."""
    addresses: list[str] = []
    loops: list[asyncio.AbstractEventLoop] = []
    began, over = threading.Event(), asyncio.Event()

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        async with aiohttp.ClientSession(upstream, connector=aiohttp.TCPConnector(ssl=trusting)) as session:

            async def forward(request: web.Request) -> web.StreamResponse:
                return await _forward(session, token, request)

            app = web.Application()
            app.router.add_route("*", "/{path:.*}", forward)
            runner = web.AppRunner(app, shutdown_timeout=0.1)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            addresses.append(f"http://127.0.0.1:{runner.addresses[0][1]}/")
            began.set()
            await over.wait()
            await runner.cleanup()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert began.wait(60)
    try:
        yield addresses[0]
    finally:
        loops[0].call_soon_threadsafe(over.set)
        thread.join()


async def _forward(session: aiohttp.ClientSession, token: str, request: web.Request) -> web.StreamResponse:
    headers = {name: value for name, value in request.headers.items() if name.startswith(("Sec-", "Content-Type"))}
    headers["Authorization"] = f"Bearer {token}"
    body = await request.read()
    async with session.request(request.method, request.rel_url, headers=headers, data=body or None) as answer:
        kept = {name: value for name, value in answer.headers.items() if name.lower() not in _OF_THE_CONNECTION}
        response = web.StreamResponse(status=answer.status, headers=kept)
        await response.prepare(request)
        async for chunk in answer.content.iter_any():
            await response.write(chunk)
        await response.write_eof()
        return response


_OF_THE_CONNECTION = {"transfer-encoding", "content-length", "connection", "content-encoding", "date", "server"}
