"""Events for `kubectl get events`: written once, repeats counted, and never delaying the caller.

Callers only queue; one task sends. The same text about the same object is one Event whose series is incremented,
patched at most every half minute, and again after six quiet minutes. New ones wait a while for what is more urgent.
What cannot be sent in time is dropped: the API server's own limits and a bounded memory come before completeness.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import NoReturn
from uuid import uuid4

import msgspec

from shared.kube.client import Client
from shared.kube.errors import AlreadyExists, ApiError, NotFound, TooManyRequests, Unavailable
from shared.kube.events.note import LONGEST_NAME, EventNote, EventType, NoteKey, Regarding, cut_note
from shared.kube.events.note_queue import NoteQueue
from shared.kube.events.token_buckets import ObjectBuckets, TokenBucket
from shared.kube.resources import EVENTS

_log = logging.getLogger("quotree.kube.events")
_PAUSE_AFTER_FAILURE = 5.0
_GIVEN_WAY = 0.05
"""Seconds until it is checked again whether events must wait."""


class EventSettings(msgspec.Struct, frozen=True, rename="camel"):
    """`capacity`: notes remembered at once. `rate`, `burst`: Events written per second, all objects together.
    `object_burst`, `object_refill`: Events created about one object, and how long until one more. `longest_wait`: for
    how long a new Event waits for what is more urgent."""

    capacity: int = 4096
    rate: float = 100.0
    burst: int = 200
    object_burst: int = 25
    object_refill: timedelta = timedelta(minutes=5)
    repeat_after: timedelta = timedelta(seconds=30)
    forget_after: timedelta = timedelta(minutes=6)
    longest_wait: timedelta = timedelta(seconds=3)


def _never() -> bool:
    return False


class EventRecorder:
    """Queues events and, in `run`, sends them."""

    def __init__(  # noqa: PLR0913
        self,
        client: Client,
        controller: str,
        instance: str,
        settings: EventSettings = EventSettings(),  # noqa: B008 - frozen
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.gives_way: Callable[[], bool] = _never
        """Whether something is under way now that is more urgent than a new Event."""
        self._client = client.reserved(4).within(timedelta(seconds=5))
        self._controller = controller[:LONGEST_NAME]
        self._instance = instance[:LONGEST_NAME]
        self._settings = settings
        self._clock = clock
        self._monotonic = monotonic
        self._notes = NoteQueue(settings.capacity, settings.repeat_after)
        self._buckets = ObjectBuckets(
            settings.object_burst, 1 / settings.object_refill.total_seconds(), settings.capacity
        )
        self._overall = TokenBucket(settings.burst, monotonic())
        self._woken = asyncio.Event()

    @property
    def dropped(self) -> int:
        """How many events were never sent."""
        return self._notes.dropped

    def record(
        self,
        regarding: Regarding,
        event_type: EventType = EventType.NORMAL,
        *,
        reason: str,
        action: str,
        note: str,
    ) -> None:
        """Record an event. Returns at once, whatever the API server does."""
        note = cut_note(note)
        key = (regarding.uid or regarding.kind, regarding.namespace, regarding.name, reason, action, note)
        now, at = self._monotonic(), self._clock()
        known = self._notes.get(key)
        if known is not None and now - known.heard < self._settings.forget_after.total_seconds():
            known.count += 1
            known.last, known.heard = at, now
            self._notes.repeat(key, known)
        else:
            new = EventNote(regarding, event_type, reason[:LONGEST_NAME], action[:LONGEST_NAME], note, at, at, now)
            self._notes.add(key, new)
        self._woken.set()

    async def run(self) -> NoReturn:
        """Send indefinitely; on cancellation, send new events for at most two seconds more."""
        try:
            while True:
                await self._send_next()
        finally:
            self.gives_way = _never
            with suppress(TimeoutError):
                async with asyncio.timeout(2):
                    while self._notes.oldest_new:
                        await self._send_next()

    async def _send_next(self) -> None:
        self._woken.clear()
        pause = self._overall.seconds_to_token(self._monotonic(), self._settings.burst, self._settings.rate)
        if pause > 0 or (pause := self._seconds_given_way()) > 0:
            await asyncio.sleep(pause)
        elif key := self._next_new() or self._notes.take_repeat(self._monotonic()):
            self._overall.tokens -= 1
            if note := self._notes.get(key):
                await self._send(key, note)
        else:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._notes.seconds_to_repeat(self._monotonic())):
                    await self._woken.wait()

    def _seconds_given_way(self) -> float:
        """Return the seconds for which the oldest new Event must wait for what is more urgent; 0: it need not."""
        oldest = self._notes.oldest_new
        if oldest is None or not self.gives_way():
            return 0.0
        waited = self._clock() - oldest.first
        return _GIVEN_WAY if waited < self._settings.longest_wait else 0.0

    def _next_new(self) -> NoteKey | None:
        while (note := self._notes.oldest_new) is not None:
            key = self._notes.take_new()
            if self._may_create(note):
                return key
            self._notes.forget(key)
        return None

    def _may_create(self, note: EventNote) -> bool:
        about = note.regarding.uid or f"{note.regarding.kind}/{note.regarding.namespace}/{note.regarding.name}"
        return self._buckets.take(about, self._monotonic())

    async def _send(self, key: NoteKey, note: EventNote) -> None:
        """Create the Event or increment its series; wait when the API server cannot take it now."""
        count, note.scheduled = note.count, False
        try:
            with suppress(AlreadyExists):  # Created by an earlier try whose response was lost.
                await self._write(note)
        except (Unavailable, TooManyRequests) as error:
            self._notes.put_back(key, note, self._monotonic())
            await asyncio.sleep(error.retry_after.total_seconds() if error.retry_after else _PAUSE_AFTER_FAILURE)
        except asyncio.CancelledError:
            self._notes.put_back(key, note, self._monotonic())
            raise
        except NotFound:
            self._notes.forget(key)
        except ApiError as error:
            _log.warning("event refused", extra={"reason": note.reason, "error": str(error)})
            self._notes.forget(key)
        else:
            note.told, note.told_at = count, self._monotonic()
            if note.count > count:
                self._notes.schedule(key, note)

    async def _write(self, note: EventNote) -> None:
        if note.told:
            await self._client.patch_merge(EVENTS, note.name, {"series": note.series}, note.namespace)
        else:
            stem = note.regarding.name[:200].rstrip(".-")
            note.name = note.name or f"{stem}.{uuid4().hex[:16]}"
            await self._client.create(EVENTS, note.event(self._controller, self._instance), note.namespace)
