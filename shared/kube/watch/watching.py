"""An informer that survives every way a watch can fail.

It starts with a streaming list (pages where the server has none), follows from the last resourceVersion of any event
or bookmark, and lists again only when that is too old. Silence is a failure: the API server sends a bookmark a minute.
The sink gets differences only, in batches, and never half a list.
"""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Any, Generic, NoReturn, TypeVar

import msgspec

from shared.kube.client import Client
from shared.kube.errors import ApiError, Gone, Invalid, NotFound, Status, Unavailable, error_from_status
from shared.kube.resources import Resource
from shared.kube.watch.backoff import Backoff
from shared.kube.watch.cache import Cache, Change, Changed, Project, Sink, State, Tap, Undecodable
from shared.kube.watch.delivery import Delivery
from shared.kube.watch.health import WatchHealth
from shared.kube.watch.pace import Pace
from shared.kube.watch.source import MAY_BE_ABSENT, WatchSettings, WatchSource
from shared.kube.watch.stream import EndlessLine, Lines, read_bookmark, split_event

__all__ = ["MAY_BE_ABSENT", "Change", "Changed", "Project", "Sink", "Undecodable", "Watch", "WatchSettings"]

R = TypeVar("R")
_log = logging.getLogger("quotree.kube.watching")
_YIELD_AFTER = 256 * 1024
"""Bytes of events; a thousand ordinary ones."""


_decode_status = msgspec.json.Decoder(Status).decode


class _NoStreamingList(Exception):
    """The server accepts the watch but does not send the existing objects."""


@dataclass(slots=True)
class WatchCounts:
    """How many lists were read, streams opened and events received, for metrics."""

    lists: int = 0
    streams: int = 0
    events: int = 0


class Watch(Generic[R]):
    """The watch of one kind. `run` never returns; everything else can be read at any time from the same loop."""

    def __init__(  # noqa: PLR0913
        self,
        client: Client,
        resource: Resource,
        project: Project[R],
        sink: Sink[R],
        *,
        namespace: str | None = None,
        labels: str = "",
        fields: str = "",
        name: str = "",
        settings: WatchSettings = WatchSettings(),  # noqa: B008 - frozen
    ) -> None:
        self.resource = resource
        self.name = name or resource.plural
        """The name in metrics: several watches of one kind need names of their own."""
        self.synced = asyncio.Event()
        self.counts = WatchCounts()
        spread = Random()  # noqa: S311 - spreads load, guards nothing
        self._source = WatchSource(client, resource, namespace, labels, fields, settings, spread)
        self.health = WatchHealth(self._source.describe())
        self._cache = Cache(project)
        self._delivery = Delivery(sink, self._cache, self._source.describe())
        self._streaming_lists = True
        self._version: str | None = None
        self._fresh: State[R] | None = None
        self._is_absent = False

    @property
    def records(self) -> Mapping[str, R]:
        """The records by uid, as last reported to the sink."""
        return self._cache.records

    @property
    def undecodable(self) -> Mapping[str, Undecodable]:
        """The objects that exist but could not be projected, by uid."""
        return self._cache.undecodable

    @property
    def is_absent(self) -> bool:
        """Whether the API server does not know the kind."""
        return self._is_absent

    @property
    def version(self) -> str:
        """The resourceVersion of the records as last reported to the sink; empty before the first list."""
        return self._version or ""

    def tell_all(self, tap: Tap | None) -> None:
        """Tell `tap` of each object as it comes, from now on; None: nobody."""
        self._cache.tap = tap

    async def run(self) -> NoReturn:
        """Watch indefinitely. Raises only the sink's own exceptions."""
        backoff, absent = Backoff(self._source.random), self._source.settings.absent
        while True:
            self.health.begin()
            wait = timedelta()
            try:
                await self._watch_once()
            except ApiError as error:
                wait = error.retry_after or wait
                if isinstance(error, Gone):
                    self._version = None
                if isinstance(error, NotFound) and absent is not None:
                    self._wait_for_kind()
                    await asyncio.sleep(absent.total_seconds())
                    continue
                self.health.report(error)
            await asyncio.sleep(max(wait.total_seconds(), backoff.delay_after(self.health.lived())))

    def _wait_for_kind(self) -> None:
        """Report an empty list: the API server does not know the kind, so there is no object of it."""
        self.health.hear()
        if not self._is_absent:
            _log.info("this kind is not installed; waiting for it", extra=self._facts())
        self._is_absent = True
        self._fresh = self._version = None
        self._tell(self._cache.replace(State()))

    async def _watch_once(self) -> None:
        if self._version is None and self._streaming_lists:
            try:
                return await self._follow(State())
            except (_NoStreamingList, Invalid) as error:
                self._streaming_lists = False
                _log.info("streaming list not offered, listing in pages", extra=self._facts(reason=str(error)))
            except ApiError as error:
                if error.status < 500 and error.status != 400:
                    raise
        if self._version is None:
            await self._list()
        return await self._follow(None)

    async def _list(self) -> None:
        fresh: State[R] = State()
        version = ""
        async for page in self._source.pages():
            self.health.hear()
            self._gather(fresh, page.items)
            version = page.resource_version
        self._fresh = None
        self._tell(self._adopt(fresh, version))

    def _gather(self, fresh: State[R], items: list[msgspec.Raw]) -> None:
        with _broken_stream():
            for raw in items:
                self._cache.gather(fresh, bytes(raw))

    async def _follow(self, fresh: State[R] | None) -> None:
        """Read one stream to its end; with `fresh`, one that begins with all existing objects."""
        self._fresh = fresh
        self.counts.streams += 1
        lines, pace = Lines(), Pace()
        async with self._source.stream(None if fresh is not None else self._version or "") as body:
            # An accepted watch is healthy before its first event: of a quiet kind, that may be a minute later.
            self.health.hear()
            while chunk := await body.read():
                self.health.hear()
                events = await self._take(lines, chunk)
                if self._fresh is None and (moment := pace.wait_after(self.health.heard, events)):
                    await body.leave(moment)

    async def _take(self, lines: Lines, chunk: bytes) -> int:
        """Apply the events of one read and call the sink; return how many there were.

        Raises what an ERROR event says, after the rest. Large objects let other tasks run between them: decoding many
        at once would delay decisions and the Lease.
        """
        changes: list[Change[R]] = []
        before, decoded = self.counts.events, 0
        try:
            with _broken_stream():
                for line in lines.feed(chunk):
                    self._take_event(line, changes)
                    decoded += len(line)
                    if decoded > _YIELD_AFTER:
                        decoded = 0
                        told, changes = changes, []
                        self._tell(told)
                        await asyncio.sleep(0)
        finally:
            self._tell(changes)
        return self.counts.events - before

    def _take_event(self, line: bytes, changes: list[Change[R]]) -> None:
        kind, raw = split_event(line)
        if kind == "BOOKMARK":
            self._take_bookmark(raw, changes)
        elif kind == "ERROR":
            raise error_from_status(_decode_status(raw), request=f"WATCH {self._source.describe()}")
        elif self._fresh is not None:
            self.counts.events += 1
            self._cache.gather(self._fresh, raw)
        else:
            self.counts.events += 1
            version, change = self._cache.drop(raw) if kind == "DELETED" else self._cache.put(raw)
            self._version = version
            if change is not None:
                changes.append(change)

    def _take_bookmark(self, raw: bytes, changes: list[Change[R]]) -> None:
        version, ends_list = read_bookmark(raw)
        if self._fresh is not None:
            if not ends_list:
                raise _NoStreamingList("a bookmark came before the end of the initial events")
            fresh, self._fresh = self._fresh, None
            changes += self._adopt(fresh, version)
        elif _is_older(version, self._version):
            raise Gone(410, "Expired", f"the server is at {version}, before {self._version}: restored from a backup?")
        else:
            self._version = version

    def _adopt(self, fresh: State[R], version: str) -> list[Change[R]]:
        self._version = version
        self._is_absent = False
        self.counts.lists += 1
        return self._cache.replace(fresh)

    def _tell(self, changes: list[Change[R]]) -> None:
        self._delivery.tell(changes)
        if self._fresh is None:
            self.synced.set()

    def _facts(self, **more: Any) -> dict[str, Any]:
        return {"resource": self._source.describe(), **more}


@contextmanager
def _broken_stream() -> Iterator[None]:
    try:
        yield
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, EndlessLine) as error:
        raise Unavailable(0, "BrokenStream", f"an answer is not what the API promises: {error}") from error


def _is_older(version: str, than: str | None) -> bool:
    return than is not None and version.isdigit() and than.isdigit() and int(version) < int(than)
