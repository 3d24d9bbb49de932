"""Writes down what the leader hears: every object there is, then each change, until the file is full.

Objects are compared and encoded a few at a time between other tasks; files are compressed and written by a thread.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NoReturn, TypeVar

import msgspec

from reconciler.recording.folder import RecordingFolder
from reconciler.recording.heard import Heard, HeardObjects
from reconciler.report.recording_metrics import RecordingMetrics
from shared.cluster.watches import LIVE
from shared.kube.client import Client
from shared.kube.errors import ApiError, NotFound
from shared.kube.resources import PODS, Resource
from shared.kube.watch.watching import Watch
from shared.quota.measure.inputs.world import World
from shared.recording.lines import LogLine
from shared.recording.recorder import ClusterObject, ObjectRecorder
from shared.telemetry import get_logger

T = TypeVar("T")
_AT_ONCE: Final = 20
"""Objects between which no other task runs; two milliseconds."""
_GATHERED: Final = timedelta(milliseconds=200)
"""How long changes are gathered before they are written."""
_ENOUGH: Final = 64 * 1024
"""Bytes of lines that are written without gathering more."""
_GIVEN_WAY: Final = timedelta(milliseconds=20)
_LONGEST_WAIT: Final = timedelta(seconds=1)
_BETWEEN_LISTS: Final = timedelta(minutes=1)
_RETRY: Final = timedelta(seconds=10)
_NOT_OF_JOBS: Final = "!batch.kubernetes.io/job-name"
"""The pods that no Job has made."""

log = get_logger(__name__)


class Recording:
    """Records what watches hear while this process leads.

    `may_write`: whether it still does.
    """

    def __init__(
        self,
        client: Client,
        folder: RecordingFolder,
        metrics: RecordingMetrics,
        watches: Sequence[Watch[Any]],
        may_write: Callable[[], bool],
    ) -> None:
        self._client = client
        self._folder = folder
        self._metrics = metrics
        self._watches = watches
        self._may_write = may_write
        self.gives_way: Callable[[], bool] = lambda: False
        """Whether something more urgent is under way."""
        self._heard = HeardObjects()
        self._recorder = ObjectRecorder()
        self._text = bytearray()
        """Lines that are not written yet."""
        self._touched = set[str]()
        """Objects of which a change was taken since the list that is read now began."""
        self._listed = 0.0
        """When the last list began, by the monotonic clock."""
        self._thread = ThreadPoolExecutor(1, "recording")

    async def run(self) -> NoReturn:
        """Record indefinitely; after a fault, in another file."""
        resources = list(dict.fromkeys(each.resource for each in self._watches))
        try:
            with self._heard.listening(self._watches):
                while True:
                    await self._record_file_or_wait(resources)
        finally:
            self._thread.submit(self._folder.end)
            self._thread.shutdown(wait=False)

    async def _record_file_or_wait(self, resources: list[Resource]) -> None:
        try:
            await self._record_file(resources)
        except (ApiError, OSError) as error:
            log.warning("Not recorded", error=str(error))
        except Exception as error:
            log.critical("Not recorded: our own bug", exc_info=error)
        else:
            return
        self._metrics.failed.inc()
        await asyncio.sleep(_RETRY.total_seconds())

    async def _record_file(self, resources: list[Resource]) -> None:
        """Fill one file."""
        self._recorder.forget()
        self._text.clear()
        now = datetime.now(UTC)
        await self._in_thread(lambda: self._folder.begin(now))
        before = self._recorder.lines
        await self._list(resources, now)
        self._text += self._recorder.whole(now, self._recorder.lines - before)
        await self._write()
        self._folder.has_listed()
        while not self._folder.is_full:
            await self._heard.wait()
            await asyncio.sleep(_GATHERED.total_seconds())
            await self._take_heard()
            if self._heard.has_gap and time.monotonic() - self._listed > _BETWEEN_LISTS.total_seconds():
                await self._list(resources, datetime.now(UTC))
            await self._write()

    async def _list(self, resources: list[Resource], now: datetime) -> None:
        """Take in every object that has changed since it was taken in last, and what has gone."""
        self._listed = time.monotonic()
        self._heard.has_gap = False
        self._touched.clear()
        seen = set[str]()
        for resource in resources:
            await self._list_kind(resource, now, seen)
        for name in self._recorder.unseen(seen | self._touched):
            self._text += self._recorder.deleted(now, name)

    async def _list_kind(self, resource: Resource, now: datetime, seen: set[str]) -> None:
        labels, fields = (_NOT_OF_JOBS, LIVE) if resource is PODS else ("", "")
        try:
            async for page in self._client.list_pages(resource, labels=labels, fields=fields):
                for first in range(0, len(page.items), _AT_ONCE):
                    for raw in page.items[first : first + _AT_ONCE]:
                        self._take_listed(_object(resource, bytes(raw)), now, seen)
                    await self._pause()
                await self._take_heard()
        except NotFound:
            return  # The kind is not installed.

    def _take_listed(self, found: ClusterObject, now: datetime, seen: set[str]) -> None:
        # What was heard since the list was made is later than the list.
        if found.name not in self._touched:
            self._text += self._recorder.changed(now, found, seen)

    async def _take_heard(self) -> None:
        while heard := self._heard.take(_AT_ONCE):
            for each in heard:
                self._take(each)
            await self._pause()

    def decided(self, world: World, now: datetime) -> None:
        """Take in that the leader has decided on `world` at `now`, knowing all that the watches have heard."""
        self._heard.decided(world, now)

    def _take(self, heard: Heard | LogLine) -> None:
        if isinstance(heard, LogLine):
            self._text += self._recorder.decided(heard)
            return
        found = _object(heard.resource, heard.raw)
        self._touched.add(found.name)
        if heard.is_gone:
            self._text += self._recorder.deleted(heard.time, found.name)
        else:
            self._text += self._recorder.changed(heard.time, found)

    async def _pause(self) -> None:
        """Let other tasks run, what is more urgent to its end; then write what is enough for a write."""
        await asyncio.sleep(0)
        for _ in range(_LONGEST_WAIT // _GIVEN_WAY):
            if not self.gives_way():
                break
            await asyncio.sleep(_GIVEN_WAY.total_seconds())
        if len(self._text) >= _ENOUGH:
            await self._write()

    async def _write(self) -> None:
        """Write the lines, unless this process leads no more."""
        self._metrics.dropped.inc(self._heard.take_dropped())
        text = bytes(self._text)
        self._text.clear()
        if not text or not self._may_write():
            return
        self._metrics.bytes.inc(await self._in_thread(lambda: self._folder.write(text)))
        self._metrics.lines.inc(text.count(b"\n"))
        self._metrics.last.set_to_current_time()

    async def _in_thread(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)


def _object(resource: Resource, raw: bytes) -> ClusterObject:
    return ClusterObject(resource.api_version, resource.kind, msgspec.json.decode(raw))
