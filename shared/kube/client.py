"""The requests to the API server: one method per verb, typed answers, errors from `shared.kube.errors`.

Reads answer with raw JSON unless a type is given, and only the fields of that type are decoded. Writes ask the
server for metadata alone, which saves both sides the rest of the object.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from copy import copy
from datetime import timedelta
from functools import cache
from typing import Any

import msgspec

from shared.kube.connect.connection import Connection, connected
from shared.kube.connect.transport import METADATA_ONLY, Call, CallGuard, RequestObserver, StreamedBody, Transport
from shared.kube.errors import Gone, Invalid, PatchTestFailed, TooManyRequests
from shared.kube.patch_tests import first_failed_test
from shared.kube.resources import PODS, Resource
from shared.kube.shapes import DryRun, ListBody, ObjectMetadata, Page, WrittenMetadata

if sys.version_info >= (3, 13):
    from typing import TypeVar
else:
    from typing_extensions import TypeVar

__all__ = ["Body", "Client", "DryRun", "ObjectMetadata", "Page", "WrittenMetadata"]

T = TypeVar("T")
R = TypeVar("R", default=msgspec.Raw)
W = TypeVar("W", default="ObjectMetadata")
Body = Mapping[str, Any] | msgspec.Struct | bytes


_PUT_OFF_AT_MOST = 4
"""So many refusals of one page are waited for, each as long as the API server asks."""
_RAW: Any = msgspec.Raw
_METADATA: Any = ObjectMetadata
"""Defaults for the results of a read and a write; the type variables' own defaults say the same to a checker."""


class Client:
    """Requests on one connection. `concurrency` bounds the requests in flight, except watches."""

    def __init__(
        self,
        connection: Connection,
        *,
        concurrency: int = 64,
        timeout: timedelta = timedelta(seconds=10),
        field_manager: str = "quotree",
        on_request: RequestObserver | None = None,
    ) -> None:
        self.field_manager = field_manager
        self._guard: CallGuard | None = None
        self._timeout = timeout
        self._transport = Transport(connection, concurrency, on_request)

    def within(self, timeout: timedelta) -> "Client":
        """Return the same client, with another time limit for each request."""
        other = copy(self)
        other._timeout = timeout
        return other

    def reserved(self, concurrency: int) -> "Client":
        """Return the same client with a concurrency limit of its own, which other requests do not use up."""
        other = copy(self)
        other._transport = self._transport.reserved(concurrency)
        return other

    @asynccontextmanager
    async def on_own_connection(self) -> AsyncIterator["Client"]:
        """The same client over a connection of its own, for another event loop. Raises ConnectionProblem."""
        async with connected(self._transport.connection.settings) as connection:
            other = copy(self)
            other._transport = self._transport.over(connection)
            yield other

    def guarded(self, time_left: CallGuard) -> "Client":
        """Return the same client; a write times out after `time_left` as of its sending, and raises Fenced at zero."""
        other = copy(self)
        other._guard = time_left
        return other

    async def get(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        into: type[R] = _RAW,
    ) -> R:
        """Read one object. Raises NotFound."""
        call = Call("GET", resource, namespace, name)
        return await self._send(call, into)

    async def list_pages(  # noqa: PLR0913
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        into: type[R] = _RAW,
        labels: str = "",
        fields: str = "",
        limit: int = 500,
    ) -> AsyncIterator[Page[R]]:
        """Yield all objects, page by page. Raises Gone when the list expires between two pages: start again.

        A page that the API server puts off is asked for again when it says, so that one refusal does not cost all
        pages before it.
        """
        token = ""
        body_type = _list_type(into)  # type: ignore[arg-type]  # types are hashable
        while True:
            query = {"labelSelector": labels, "fieldSelector": fields, "limit": str(limit), "continue": token}
            call = Call("GET", resource, namespace, query=query)
            body = await self._page(call, body_type)
            yield Page(body.items or [], body.metadata.resource_version)
            token = body.metadata.continue_
            if not token:
                return

    async def _page(self, call: Call, into: type[T]) -> T:
        """Read one page. Raises TooManyRequests if it was put off several times, or without a time."""
        for _ in range(_PUT_OFF_AT_MOST):
            try:
                return await self._send(call, into)
            except TooManyRequests as error:
                if error.retry_after is None:
                    raise
                await asyncio.sleep(error.retry_after.total_seconds())
        return await self._send(call, into)

    async def list_all(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        into: type[R] = _RAW,
        labels: str = "",
        fields: str = "",
    ) -> list[R]:
        """List all objects at once; start again, once, when the list expires between two pages."""
        for last_try in (False, True):
            items: list[R] = []
            try:
                async for page in self.list_pages(resource, namespace, into=into, labels=labels, fields=fields):
                    items += page.items
            except Gone:
                if last_try:
                    raise
            else:
                return items
        raise AssertionError("unreachable")

    async def create(
        self,
        resource: Resource,
        body: Body,
        namespace: str | None = None,
        *,
        into: type[W] = _METADATA,
        dry_run: DryRun = DryRun.OFF,
    ) -> W:
        """Create an object. Raises AlreadyExists, Invalid, Forbidden."""
        query = {"fieldManager": self.field_manager, "dryRun": dry_run.value}
        call = Call("POST", resource, namespace, query=query, content=_encode(body))
        return await self._send(call, into)

    async def replace(  # noqa: PLR0913
        self,
        resource: Resource,
        name: str,
        body: Body,
        namespace: str | None = None,
        *,
        subresource: str | None = None,
        into: type[W] = _METADATA,
    ) -> W:
        """Replace the whole object. With a resourceVersion in the body: Conflict unless it is still the stored one."""
        query = {"fieldManager": self.field_manager}
        call = Call("PUT", resource, namespace, name, subresource, query, _encode(body))
        return await self._send(call, into)

    async def patch_json(  # noqa: PLR0913
        self,
        resource: Resource,
        name: str,
        operations: Sequence[Mapping[str, Any]] | bytes,
        namespace: str | None = None,
        *,
        subresource: str | None = None,
        into: type[W] = _METADATA,
    ) -> W:
        """Send a JSON Patch. Raises PatchTestFailed (a Conflict) when a `test` does not hold, else Invalid."""
        content = operations if isinstance(operations, bytes) else msgspec.json.encode(operations)
        query = {"fieldManager": self.field_manager}
        call = Call("PATCH", resource, namespace, name, subresource, query, content, "application/json-patch+json")
        try:
            return await self._send(call, into)
        except Invalid as error:
            if any(cause.field for cause in error.causes):
                raise
            now = await self.get(resource, name, namespace, into=dict[str, Any])
            failed = first_failed_test(now, msgspec.json.decode(content))
            if failed is None:
                raise
            raise PatchTestFailed(422, "Conflict", failed, request=error.request) from error

    async def patch_merge(  # noqa: PLR0913
        self,
        resource: Resource,
        name: str,
        body: Body,
        namespace: str | None = None,
        *,
        subresource: str | None = None,
        into: type[W] = _METADATA,
    ) -> W:
        """Send a JSON Merge Patch (RFC 7386): null removes, lists are replaced."""
        query = {"fieldManager": self.field_manager}
        content_type = "application/merge-patch+json"
        call = Call("PATCH", resource, namespace, name, subresource, query, _encode(body), content_type)
        return await self._send(call, into)

    async def apply(  # noqa: PLR0913
        self,
        resource: Resource,
        name: str,
        body: Body,
        namespace: str | None = None,
        *,
        subresource: str | None = None,
        into: type[W] = _METADATA,
    ) -> W:
        """Server-side apply, taking over fields from other managers: creates or updates."""
        query = {"fieldManager": self.field_manager, "force": "true"}
        content_type = "application/apply-patch+yaml"
        call = Call("PATCH", resource, namespace, name, subresource, query, _encode(body), content_type)
        return await self._send(call, into)

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        propagation: str | None = None,
    ) -> None:
        """Delete one object. Raises NotFound; Conflict when `uid` is given and the object is another one now."""
        options: dict[str, Any] = {"preconditions": {"uid": uid}} if uid else {}
        if propagation:
            options["propagationPolicy"] = propagation
        await self._send(Call("DELETE", resource, namespace, name, content=_encode(options)), msgspec.Raw)

    async def evict(self, name: str, namespace: str, *, uid: str | None = None) -> None:
        """Evict a pod by the Eviction API. Raises TooManyRequests while a PodDisruptionBudget forbids it."""
        body: dict[str, Any] = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
        }
        if uid:
            body["deleteOptions"] = {"preconditions": {"uid": uid}}
        call = Call("POST", PODS, namespace, name, "eviction", content=_encode(body))
        await self._send(call, msgspec.Raw)

    def stream(
        self, resource: Resource, namespace: str | None, query: Mapping[str, str], *, silence: timedelta
    ) -> AbstractAsyncContextManager[StreamedBody]:
        """Open a watch, as bytes. Raises Unavailable when it is closed, or after `silence` without a byte."""
        return self._transport.stream(Call("GET", resource, namespace, query={**query, "watch": "true"}), silence)

    async def _send(self, call: Call, into: type[T]) -> T:
        if isinstance(into, type) and issubclass(into, ObjectMetadata):
            call = msgspec.structs.replace(call, accept=METADATA_ONLY)
        guard = self._guard if call.method != "GET" else None
        return await self._transport.send(call, into, self._timeout, guard)


@cache
def _list_type(into: Any) -> type[ListBody[Any]]:
    return ListBody[into]


def _encode(body: Body) -> bytes:
    return body if isinstance(body, bytes) else msgspec.json.encode(body)
