"""The TLS server of the visibility API: requests and watches are limited, and nothing waits for a slow client."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import msgspec
from aiohttp import web

from reconciler.visibility.copies.asking import TooBusy
from reconciler.visibility.front.answers.created import CreatedQuestions
from reconciler.visibility.front.answers.objects import Answers
from reconciler.visibility.front.answers.streams import watch_lines
from reconciler.visibility.front.callers import FrontProxy, refusal, sharer_of
from reconciler.visibility.front.discovery import content_type, discovery_document
from reconciler.visibility.front.metrics import VisibilityMetrics
from reconciler.visibility.front.open_requests import AllTaken, OpenRequests
from reconciler.visibility.front.requests import BadRequest, ReadRequest, failure, read_creation, read_request
from reconciler.visibility.objects.kinds import TABLE_TYPE, VisibleKind
from shared.problems import Problem
from shared.telemetry import get_logger

PATIENCE: Final = timedelta(seconds=10)
"""The limit for a handshake, and for a client to read a response."""
_IDLE: Final = timedelta(seconds=120)
MOST_REQUESTS: Final = 64
MOST_REQUESTS_OF_ONE: Final = 16
MOST_LONG_OF_ONE: Final = 4
"""The most that one user has of those that are computed one at a time, with a copy each."""
MOST_WATCHES: Final = 100
MOST_WATCHES_OF_ONE: Final = 20
_JSON: Final = "application/json"
_encode: Final = msgspec.json.Encoder().encode

log = get_logger(__name__)


@dataclass(slots=True)
class KnownProxy:
    """The API server's front proxy, from its ConfigMap; None: unknown, and every caller is refused."""

    proxy: FrontProxy | None = None


class VisibilityServer:
    """Answers the API server, and no other caller."""

    def __init__(
        self, answers: Answers, created: CreatedQuestions, known: KnownProxy, metrics: VisibilityMetrics
    ) -> None:
        self._answers = answers
        self._created = created
        self._known = known
        self._metrics = metrics
        self._requests = OpenRequests("requests", "try again", MOST_REQUESTS, MOST_REQUESTS_OF_ONE)
        self._long = OpenRequests("explanations or previews", "try again", MOST_REQUESTS, MOST_LONG_OF_ONE)
        self._watches = OpenRequests("watches", "close one", MOST_WATCHES, MOST_WATCHES_OF_ONE)
        metrics.watches.set_function(lambda: self._watches.count)
        self._http = web.Server(
            self._handle, access_log=None, keepalive_timeout=_IDLE.total_seconds(), auto_decompress=False
        )

    @asynccontextmanager
    async def listening(self, host: str, port: int, context: ssl.SSLContext) -> AsyncIterator[int]:
        """Serve while the block runs, and yield the port. Raises Problem when the port is occupied."""
        try:
            listener = await asyncio.get_running_loop().create_server(
                self._http,
                host,
                port,
                ssl=context,
                ssl_handshake_timeout=PATIENCE.total_seconds(),
                ssl_shutdown_timeout=2,
            )
        except OSError as error:
            raise Problem(f"cannot listen on {host}:{port} for the visibility API: {error.strerror}") from error
        try:
            yield int(listener.sockets[0].getsockname()[1])
        finally:
            listener.close()
            self._http.pre_shutdown()
            await self._http.shutdown(timeout=1)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            response = await self._answer(request)
        except BadRequest as error:
            response = _failure(error.code, "BadRequest" if error.code == 400 else "NotAcceptable", str(error))
        except AllTaken as error:
            response = _failure(429, "TooManyRequests", str(error))
        except TooBusy:
            response = _failure(429, "TooManyRequests", "too much is being computed, or this took too long; try again")
        except Exception:
            log.exception("Visibility request not answered", path=request.path)
            response = _failure(500, "InternalError", "the request cannot be answered; the reconciler's log says why")
        self._metrics.requests.labels(str(response.status)).inc()
        return response

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        refused = self._refusal(request)
        if refused is not None:
            return _failure(401, "Unauthorized", refused)
        created = read_creation(request.path) if request.method == "POST" else None
        if created is not None:
            return await self._create(request, *created)
        if request.method != "GET":
            return _failure(405, "MethodNotAllowed", "objects of this API are only read, but for those it answers")
        accept = request.headers.get("Accept", "")
        document = discovery_document(request.path, accept)
        if document is not None:
            return _response(_encode(document), content_type(document))
        wanted = read_request(request.path, request.query, accept)
        if wanted is None:
            return _failure(404, "NotFound", "there is no such path in this API")
        if wanted.watches:
            return await self._watch(request, wanted)
        long = wanted.selection.is_one_explanation
        with (self._long if long else self._requests).one_more(self._sharer(request)):
            return await self._read(wanted)

    async def _create(self, request: web.BaseRequest, kind: VisibleKind, namespace: str) -> web.Response:
        try:
            async with asyncio.timeout(PATIENCE.total_seconds()):
                body = await request.read()
        except (TimeoutError, web.HTTPRequestEntityTooLarge):
            return _failure(413, "RequestEntityTooLarge", "the objects are too large, or did not come in time")
        with self._long.one_more(self._sharer(request)):
            return _response(_encode(await self._created.answer(kind, namespace, body)), _JSON, 201)

    def _sharer(self, request: web.BaseRequest) -> str:
        proxy = self._known.proxy
        return "" if proxy is None else sharer_of(proxy, request.headers)

    def _refusal(self, request: web.BaseRequest) -> str | None:
        proxy = self._known.proxy
        if proxy is None:
            return "the API server's front proxy is not known yet"
        transport = request.transport
        certificate = None if transport is None else transport.get_extra_info("peercert")
        return refusal(proxy, certificate, request.headers)

    async def _read(self, wanted: ReadRequest) -> web.Response:
        selected = await self._answers.select(wanted.selection)
        if not wanted.is_get:
            return _response(selected.body(wanted), _type_of(wanted))
        body = selected.one(wanted)
        if body is None:
            kind, name = wanted.selection.kind, wanted.selection.name
            return _failure(404, "NotFound", f'{kind.plural}.visibility.quotree.dev "{name}" not found')
        return _response(body, _type_of(wanted))

    async def _watch(self, request: web.BaseRequest, wanted: ReadRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": _type_of(wanted)})
        with self._watches.one_more(self._sharer(request)):
            await response.prepare(request)
            try:
                async for line in watch_lines(self._answers, wanted):
                    async with asyncio.timeout(PATIENCE.total_seconds()):
                        await response.write(line)
            except (TimeoutError, ConnectionError):
                response.force_close()
                if request.transport is not None:
                    request.transport.abort()
        return response


def _type_of(wanted: ReadRequest) -> str:
    return TABLE_TYPE if wanted.as_table else _JSON


def _failure(code: int, reason: str, message: str) -> web.Response:
    response = _response(_encode(failure(code, reason, message)), _JSON, code)
    if code == 429:
        response.headers["Retry-After"] = "1"
    if code == 401:
        response.force_close()
    return response


def _response(body: bytes, form: str, code: int = 200) -> web.Response:
    return web.Response(body=body, status=code, headers={"Content-Type": form})
