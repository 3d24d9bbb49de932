"""A proxy between clients and a real API server that commits faults: by rule, by client, repeatable by seed.

It speaks plain HTTP to the clients and TLS to the API server, passes the clients' tokens on, and runs on a thread of
its own, so that any test or process can use it. Each client has a port of its own and can be cut off from the rest.
"""

import asyncio
import contextlib
import json
import ssl
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
import yaml
from aiohttp import web
from yarl import URL

from tests.faults.kinds import Asked, CutAnswer, Delay, FallSilent, Fault, LoseAnswer, Refuse, Rule

_HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "host", "content-length", "upgrade", "te", "trailer"}


@dataclass(slots=True)
class Side:
    """One client's way to the API server. Its switches may be used from any thread."""

    name: str
    url: str
    _loop: asyncio.AbstractEventLoop
    _flowing: asyncio.Event
    _transports: set[asyncio.Transport] = field(default_factory=set)

    def partition(self) -> None:
        """From now on no byte passes either way; connections stay open, and what was sent arrives after `heal`.

        What a client has hung up on is dropped: its kernel resends nothing after a few seconds.
        """
        self._call(self._flowing.clear)

    def heal(self) -> None:
        """Let everything through again."""
        self._call(self._flowing.set)

    def cut(self) -> None:
        """Reset every open connection of this client."""
        self._call(self._abort_all)

    def kubeconfig(self, like: Path, into: Path) -> Path:
        """Write a kubeconfig as `like` (whose user has a token) that leads through this side; returns `into`."""
        document = yaml.safe_load(like.read_text())
        for cluster in document["clusters"]:
            cluster["cluster"] = {"server": self.url}
        into.write_text(yaml.safe_dump(document))
        return into

    def _abort_all(self) -> None:
        for transport in list(self._transports):
            transport.abort()

    def _call(self, function: Any) -> None:
        done = threading.Event()

        def run() -> None:
            function()
            done.set()

        self._loop.call_soon_threadsafe(run)
        if not done.wait(60):
            raise TimeoutError("the proxy's loop does not answer")


class FaultProxy:
    """The proxy; `rules` may be changed at any time. `committed` counts faults by name and client."""

    def __init__(self, upstream: str, ca_file: Path | str | None = None, *, seed: int = 0) -> None:
        self.rules: list[Rule] = []
        self.committed: Counter[tuple[str, str]] = Counter()
        self.requests: Counter[tuple[str, str]] = Counter()
        self.dropped: Counter[str] = Counter()
        """Requests that were never passed on, for their client had hung up by then; by client."""
        self.random = Random(seed)
        self._upstream = upstream.rstrip("/")
        self._tls = ssl.create_default_context(cafile=str(ca_file)) if ca_file else None
        self._sides: dict[str, Side] = {}
        self._loop = asyncio.new_event_loop()
        self._session: aiohttp.ClientSession | None = None
        self._runners: list[web.ServerRunner] = []

    @contextlib.contextmanager
    def running(self) -> Iterator["FaultProxy"]:
        """The proxy at work, on its own thread."""
        thread = threading.Thread(target=self._loop.run_forever, name="fault proxy", daemon=True)
        thread.start()
        try:
            self._await(self._open_session())
            yield self
        finally:
            self._await(self._close())
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join(60)
            self._loop.close()

    def side(self, name: str) -> Side:
        """The way in for the client `name`, made at first use."""
        if name not in self._sides:
            self._sides[name] = self._await(self._listen(name))
        return self._sides[name]

    def faults(self) -> int:
        """How many were committed so far."""
        return self.committed.total()

    def _await(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    async def _open_session(self) -> None:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=self._tls or False),
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(),
        )

    async def _close(self) -> None:
        for side in self._sides.values():
            side._flowing.set()
            side._abort_all()
        for runner in self._runners:
            await runner.cleanup()
        if self._session:
            await self._session.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(0.05)

    async def _listen(self, name: str) -> Side:
        flowing = asyncio.Event()
        flowing.set()
        side = Side(name, "", self._loop, flowing)

        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            return await self._handle(side, request)

        runner = web.ServerRunner(web.Server(handle, access_log=None), shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self._runners.append(runner)
        side.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        return side

    async def _handle(self, side: Side, request: web.BaseRequest) -> web.StreamResponse:
        transport = request.transport
        assert isinstance(transport, asyncio.Transport)
        side._transports.add(transport)
        try:
            body = await request.read()
            await side._flowing.wait()
            if _is_gone(request):
                return self._dropped(side)
            asked = Asked(side.name, request.method, request.path, dict(request.query), body)
            self.requests[side.name, request.method] += 1
            fault = await self._pick(asked)
            if isinstance(fault, Refuse):
                return _refusal(fault)
            if _is_gone(request):
                return self._dropped(side)
            return await self._pass_on(side, request, asked, fault)
        except (aiohttp.ClientError, ConnectionError, OSError):
            return _cut(transport)
        finally:
            side._transports.discard(transport)

    def _dropped(self, side: Side) -> web.Response:
        self.dropped[side.name] += 1
        return web.Response(status=500)

    async def _pick(self, asked: Asked) -> Fault | None:
        """The first fault that strikes; delays strike as well and go on."""
        for rule in self.rules:
            if (rule.times is not None and rule.committed >= rule.times) or not rule.when(asked):
                continue
            if self.random.random() >= rule.chance:
                continue
            rule.committed += 1
            self.committed[type(rule.fault).__name__, asked.client] += 1
            if not isinstance(rule.fault, Delay):
                return rule.fault
            await asyncio.sleep(self.random.uniform(rule.fault.least, rule.fault.most))
        return None

    async def _pass_on(
        self, side: Side, request: web.BaseRequest, asked: Asked, fault: Fault | None
    ) -> web.StreamResponse:
        assert self._session is not None
        headers = {key: value for key, value in request.headers.items() if key.lower() not in _HOP_BY_HOP}
        url = URL(self._upstream + request.raw_path, encoded=True)
        async with self._session.request(
            request.method, url, data=asked.body or None, headers=headers, allow_redirects=False
        ) as answer:
            await side._flowing.wait()
            if request.transport is None or isinstance(fault, LoseAnswer):
                # The client has gone, but its late write was carried out.
                return _cut(request.transport)
            response = web.StreamResponse(status=answer.status, reason=answer.reason)
            for key, value in answer.headers.items():
                if key.lower() not in _HOP_BY_HOP:
                    response.headers[key] = value
            if answer.content_length is not None:
                response.content_length = answer.content_length
            await response.prepare(request)
            return await self._stream(side, request, response, answer, fault)

    async def _stream(
        self,
        side: Side,
        request: web.BaseRequest,
        response: web.StreamResponse,
        answer: aiohttp.ClientResponse,
        fault: Fault | None,
    ) -> web.StreamResponse:
        passed, limit = 0, _limit(fault, answer)
        while chunk := await answer.content.readany():
            await side._flowing.wait()
            if limit is not None and passed + len(chunk) >= limit:
                await response.write(chunk[: max(limit - passed, 0)])
                if isinstance(fault, FallSilent):
                    await asyncio.Event().wait()
                return _cut(request.transport)
            passed += len(chunk)
            await response.write(chunk)
        await side._flowing.wait()
        await response.write_eof()
        return response


def _limit(fault: Fault | None, answer: aiohttp.ClientResponse) -> int | None:
    if isinstance(fault, FallSilent):
        return fault.after
    if isinstance(fault, CutAnswer):
        return fault.after if answer.content_length is None else answer.content_length // 2
    return None


def _is_gone(request: web.BaseRequest) -> bool:
    return request.transport is None or request.transport.is_closing()


def _cut(transport: asyncio.BaseTransport | None) -> web.StreamResponse:
    if isinstance(transport, asyncio.Transport):
        transport.abort()
    return web.Response(status=500)


def _refusal(fault: Refuse) -> web.Response:
    headers = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
    body = json.dumps(fault.status()).encode()
    return web.Response(status=fault.code, body=body, headers=headers, content_type="application/json")
