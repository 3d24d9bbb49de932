"""The TLS server in front of the endpoints: limited bodies, limited waiting, and shutdown without a dropped request.

It uses aiohttp's low-level server, because reviews need no router. The API server keeps idle connections open for 90 s,
also ones it has not used yet, and a request fails if its connection is closed at that moment. So this server keeps
connections open for longer. When there are many connections, those without a first request are closed after `PATIENCE`.
"""

import asyncio
import errno
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Any, Final

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from shared.problems import Problem
from webhook.http.body_budget import BodyBudget, BodyInFlight
from webhook.http.handler import Answer, Endpoints
from webhook.http.review_queue import ReviewQueue
from webhook.metrics import WebhookMetrics

MAX_BODY: Final = 8 << 20
"""Reviews carry the object twice; etcd stores 1.5 MiB."""
PATIENCE: Final = timedelta(seconds=10)
"""The limit for a handshake, for the head of a request, and for its body."""
IDLE: Final = timedelta(seconds=120)
FEW: Final = 100
"""Up to this many connections, one without a first request stays open like any other."""
MAX_CONNECTIONS: Final = 1000
_READ_BUFFER: Final = 1 << 14
"""Bytes that each connection buffers beside the budget; aiohttp pauses at twice that."""


class Server:
    """Accepts connections and answers requests until it is drained."""

    def __init__(
        self,
        endpoints: Endpoints,
        metrics: WebhookMetrics,
        max_waiting: int,
        patience: timedelta = PATIENCE,
        few: int = FEW,
    ) -> None:
        self._endpoints = endpoints
        self._metrics = metrics
        self._patience = patience.total_seconds()
        self._few = few
        self._draining = False
        self._under_way = 0
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._idle_since: dict[RequestHandler, float] = {}
        self._budget = BodyBudget()
        self._queue = ReviewQueue(max_waiting)
        self._served: dict[RequestHandler, int] = {}
        """connection -> number of its answered reviews."""
        self._http = web.Server(
            self._handle,
            request_factory=self._request,
            access_log=None,
            keepalive_timeout=IDLE.total_seconds(),
            auto_decompress=False,
            lingering_time=0,
            read_bufsize=_READ_BUFFER,
        )

    @asynccontextmanager
    async def listening(self, host: str, port: int, context: ssl.SSLContext) -> AsyncIterator[int]:
        """Serve while the block runs, and yield the port; at its end, answer the pending reviews.

        Raises Problem when the port is occupied.
        """
        loop = asyncio.get_running_loop()
        try:
            listener = await loop.create_server(
                self._http,
                host,
                port,
                ssl=context,
                backlog=1024,
                ssl_handshake_timeout=self._patience,
                ssl_shutdown_timeout=2,
            )
        except OSError as error:
            taken = error.errno == errno.EADDRINUSE
            reason = "the port is taken by another process" if taken else (error.strerror or str(error))
            raise Problem(f"cannot listen on {host}:{port} for reviews: {reason}; set listen.port") from error
        reaping = asyncio.create_task(self._reap(), name="idle connections")
        try:
            yield int(listener.sockets[0].getsockname()[1])
        finally:
            listener.close()
            await self._finish()
            reaping.cancel()

    async def _finish(self) -> None:
        """Answer the pending reviews, then close every connection."""
        self.leave()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience):
                await self._quiet.wait()
        self._http.pre_shutdown()
        await self._http.shutdown(timeout=1)

    def leave(self) -> None:
        """From now on close each connection after its response, so that clients use another replica."""
        self._draining = True

    def _request(self, message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
        loop = asyncio.get_running_loop()
        return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=MAX_BODY)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        connection = request.protocol
        self._idle_since.pop(connection, None)
        self._under_way += 1
        self._quiet.clear()
        try:
            answer = await self._answer(request)
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._quiet.set()
            self._idle_since[connection] = asyncio.get_running_loop().time()
        response = web.Response(body=answer.body, status=answer.status, content_type=answer.content_type)
        if self._draining or answer.status in (404, 408, 413, 503):
            response.force_close()
        return response

    async def _answer(self, request: web.BaseRequest) -> Answer:
        route = self._endpoints.check(request.method, request.path, request.headers.get("Content-Type", ""))
        if isinstance(route, Answer):
            return route
        if (request.content_length or 0) > MAX_BODY:
            return self._too_large()
        connection = request.protocol
        body = self._budget.begin(self._served.get(connection, 0), connection.force_close)
        try:
            return await self._read_and_answer(request, route, body)
        finally:
            self._budget.end(body)
            self._metrics.dropped_bodies.inc(body.is_dropped)
            self._served[connection] = self._served.get(connection, 0) + 1

    async def _read_and_answer(self, request: web.BaseRequest, route: str, body: BodyInFlight) -> Answer:
        chunks: list[bytes] = []
        try:
            async with asyncio.timeout(self._patience):
                while chunk := await request.content.readany():
                    chunks.append(chunk)
                    self._budget.grow(body, len(chunk))
                    if body.is_dropped:
                        return self._endpoints.refuse(503, "too many bytes are in flight; try again")
                    if body.size > MAX_BODY:
                        return self._too_large()
        except TimeoutError:
            return self._endpoints.refuse(408, f"the body did not come within {self._patience:.0f} s")
        except OSError:
            return self._endpoints.refuse(503, "the connection was closed")
        else:
            body.is_complete = True
            whole = b"".join(chunks)
        finally:
            # The stream of a closed connection keeps its error, and with that this frame, until garbage is collected.
            chunks.clear()
        if not await self._queue.turn():
            return self._endpoints.refuse_waiting(route, whole)
        return await self._endpoints.answer(route, whole)

    def _too_large(self) -> Answer:
        return self._endpoints.refuse(413, f"the body has more than {MAX_BODY} bytes")

    async def _reap(self) -> None:
        """Close connections that are idle for too long."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(min(1.0, self._patience / 2))
            now, connections = loop.time(), self._http.connections
            self._metrics.connections.set(len(connections))
            known = set(connections)
            for gone in [each for each in self._idle_since if each not in known]:
                del self._idle_since[gone]
                self._served.pop(gone, None)
            unused = IDLE.total_seconds() if len(connections) <= self._few else self._patience
            for at, connection in enumerate(connections):
                if connection._request_in_progress:
                    continue
                allowed = IDLE.total_seconds() if connection in self._served else unused
                if now - self._idle_since.setdefault(connection, now) > allowed or at >= MAX_CONNECTIONS:
                    connection.force_close()
