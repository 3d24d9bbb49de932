"""One request to the API server: send, check the status, decode only the wanted type.

The status of every response is checked here, and every failure becomes one of `shared.kube.errors`. Nothing is sent
twice, except once after a 401 with renewed credentials: only the caller knows whether to retry.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import cache
from typing import Any, TypeVar, cast
from urllib.parse import urlencode

import aiohttp
import msgspec
from yarl import URL

from shared.kube.connect.access import Access
from shared.kube.connect.connection import Connection
from shared.kube.errors import ApiError, ConnectionProblem, Fenced, Unavailable, error_from_answer
from shared.kube.resources import Resource

T = TypeVar("T")
RequestObserver = Callable[[str, str, int, float], None]
"""Called for each finished request: method, resource, HTTP status (0: no response), seconds."""
CallGuard = Callable[[], timedelta]
"""Called right before a write is sent; returns its time limit. Zero: it must not be sent."""

JSON = "application/json"
METADATA_ONLY = f"{JSON};as=PartialObjectMetadata;g=meta.k8s.io;v=v1,{JSON}"
_READ_BUFFER = 1 << 20
_NETWORK_ERRORS = (aiohttp.ClientError, TimeoutError, OSError)


class Call(msgspec.Struct, frozen=True):
    """A request to the API server. Empty query values are left out."""

    method: str
    resource: Resource
    namespace: str | None
    name: str | None = None
    subresource: str | None = None
    query: Mapping[str, str] = {}
    content: bytes | None = None
    content_type: str = JSON
    accept: str = JSON

    def target(self) -> str:
        """Path and query, escaped."""
        path = self.resource.path(self.namespace, self.name, self.subresource)
        query = urlencode({key: value for key, value in self.query.items() if value})
        return f"{path}?{query}" if query else path

    def headers(self) -> dict[str, str]:
        """Without credentials."""
        return {"Accept": self.accept, "Content-Type": self.content_type} if self.content else {"Accept": self.accept}

    def describe(self) -> str:
        """For messages: `PATCH jobs.batch team-a/train-7`."""
        return f"{self.method} {self.resource.describe(self.namespace, self.name, self.subresource)}"


class StreamedBody:
    """The bytes of a response that does not end by itself."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self._answer = answer

    async def read(self) -> bytes:
        """Return what has come, as soon as there is anything; nothing: the response has ended."""
        return await self._answer.content.readany()

    async def leave(self, seconds: float) -> None:
        """Let bytes gather for so long. Decrypting them piece by piece as they come costs more than all at once."""
        connection = self._answer.connection
        transport = connection.transport if connection else None
        if transport is None or transport.is_closing():
            return await asyncio.sleep(seconds)
        transport.pause_reading()
        try:
            await asyncio.sleep(seconds)
        finally:
            if not transport.is_closing():
                transport.resume_reading()


class Transport:
    """Sends calls over a connection; at most `concurrency` at a time, watches not counted."""

    def __init__(self, connection: Connection, concurrency: int, on_request: RequestObserver | None) -> None:
        self.connection = connection
        self._concurrency = concurrency
        self._room = asyncio.Semaphore(concurrency)
        self._on_request = on_request

    def reserved(self, concurrency: int) -> "Transport":
        """A transport over the same connection with a concurrency limit of its own."""
        return Transport(self.connection, concurrency, self._on_request)

    def over(self, connection: Connection) -> "Transport":
        """A transport over that connection."""
        return Transport(connection, self._concurrency, self._on_request)

    async def send(self, call: Call, into: type[T], limit: timedelta, guard: CallGuard | None = None) -> T:
        """The body of the response as `into`. `limit` does not include waiting for a free slot.

        The guard's time covers everything: when it is over, the connection has been closed.
        """
        async with self._room:
            left = None if guard is None else min(limit, guard()).total_seconds()
            if left is not None and left <= 0:
                raise Fenced(0, "Fenced", "this process must not write now", request=call.describe())
            timeout = aiohttp.ClientTimeout(total=limit.total_seconds())
            started, status = time.monotonic(), 0
            try:
                async with asyncio.timeout(left), await self._open(call, timeout) as answer:
                    body = await answer.read()
                    status = answer.status
            except _NETWORK_ERRORS as error:
                raise _unavailable(call, error) from error
            finally:
                if self._on_request:
                    self._on_request(call.method, call.resource.plural, status, time.monotonic() - started)
        if not 200 <= status < 300:
            raise error_from_answer(status, body, answer.headers.get("Retry-After"), call.describe())
        return _decode(call, status, body, into)

    @asynccontextmanager
    async def stream(self, call: Call, silence: timedelta) -> AsyncIterator[StreamedBody]:
        """The body of the response as endless bytes. Raises Unavailable when closed, or after `silence` without a
        byte.
        """
        timeout = aiohttp.ClientTimeout(sock_connect=10, sock_read=silence.total_seconds())
        try:
            async with await self._open(call, timeout) as answer:
                if answer.status != 200:
                    body = await answer.read()
                    raise error_from_answer(answer.status, body, answer.headers.get("Retry-After"), call.describe())
                try:
                    yield StreamedBody(answer)
                finally:
                    _abort(answer)
        except _NETWORK_ERRORS as error:
            raise _unavailable(call, error) from error

    async def _open(self, call: Call, timeout: aiohttp.ClientTimeout) -> aiohttp.ClientResponse:  # noqa: ASYNC109
        try:
            access = await self.connection.access()
            answer = await self._request(call, timeout, access)
            if answer.status != 401:
                return answer
            await answer.read()
            access = await self.connection.renew(access)
        except ConnectionProblem as problem:
            raise Unavailable(0, "NoCredentials", str(problem), request=call.describe()) from problem
        return await self._request(call, timeout, access)

    async def _request(
        self,
        call: Call,
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109
        access: Access,
    ) -> aiohttp.ClientResponse:
        return await self.connection.session.request(
            call.method,
            URL(self.connection.base_url + call.target(), encoded=True),
            data=call.content,
            headers={**call.headers(), **access.headers},
            timeout=timeout,
            allow_redirects=False,
            read_bufsize=_READ_BUFFER,
            **access.options,
        )


def _abort(answer: aiohttp.ClientResponse) -> None:
    """Drop a stream that has not ended: a graceful close waits half a minute for a peer that might be dead."""
    transport = answer.connection.transport if answer.connection else None
    if transport is not None:
        transport.abort()


def _decode(call: Call, status: int, body: bytes, into: type[T]) -> T:
    try:
        return cast("T", _decoder(into).decode(body))  # type: ignore[arg-type]  # types are hashable
    except msgspec.ValidationError as error:
        raise ApiError(status, "UnexpectedShape", str(error), request=call.describe()) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unavailable(0, "CutAnswer", "the answer is not JSON", request=call.describe()) from error


@cache
def _decoder(into: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(into)


def _unavailable(call: Call, error: BaseException) -> Unavailable:
    text = str(error) or ("no answer in time" if isinstance(error, TimeoutError) else type(error).__name__)
    return Unavailable(0, type(error).__name__, text, request=call.describe())
