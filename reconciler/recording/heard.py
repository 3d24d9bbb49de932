"""What the watches hear while this process leads, until it is written: bounded, oldest first."""

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, NamedTuple

from reconciler.recording.pods import KnownByPods
from shared.kube.resources import PODS, Resource
from shared.kube.watch.watching import Watch
from shared.quota.measure.inputs.world import World
from shared.recording.lines import LogLine

MOST_BYTES: Final = 16 * 1024 * 1024
"""What waits at a time; some thousand objects."""
_CONTROLLED: Final = b'"controller":true'


class Heard(NamedTuple):
    """One event of a watch."""

    time: datetime
    resource: Resource
    raw: bytes
    is_gone: bool


class HeardObjects:
    """Events that are not written yet, lines of decisions that knew those before them, and how many had no room."""

    def __init__(self) -> None:
        self.has_gap = False
        """Whether what was written since the last list of all objects is not all that there was."""
        self._waiting = deque[Heard | LogLine]()
        self._bytes = 0
        self._dropped = 0
        self._came = asyncio.Event()
        self._known_by_pods = KnownByPods()
        self._is_decided = False
        """Whether a decision knew all that was there at the beginning, or was heard since."""

    @contextmanager
    def listening(self, watches: Iterable[Watch[Any]]) -> Iterator[None]:
        """Hear what these watches hear."""
        known = list(watches)
        for each in known:
            each.tell_all(partial(self.hear, each.resource))
        try:
            yield
        finally:
            for each in known:
                each.tell_all(None)

    def hear(self, resource: Resource, raw: bytes, is_gone: bool) -> None:
        """Keep an event, but of pods that a controller made. Empty: the watch has a new list, to be read here too."""
        if not raw:
            self.has_gap = True
        elif resource is PODS and _CONTROLLED in raw:
            return
        elif self._bytes + len(raw) > MOST_BYTES:
            self._dropped += 1
            self.has_gap = True
        else:
            self._waiting.append(Heard(datetime.now(UTC), resource, raw, is_gone))
            self._bytes += len(raw)
            self._is_decided = False
        self._came.set()

    def decided(self, world: World, now: datetime) -> None:
        """Keep that the leader decided on `world` at `now`, if it knew something then that it did not know before."""
        line = self._known_by_pods.take(world, now)
        if line.says_more or not self._is_decided:
            self._is_decided = True
            self._waiting.append(line)
            self._came.set()

    async def wait(self) -> None:
        """Return when something waits, or has been left out."""
        while not (self._waiting or self.has_gap):
            self._came.clear()
            await self._came.wait()

    def take(self, most: int) -> list[Heard | LogLine]:
        """Return the oldest ones, but no more than `most`."""
        found = [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]
        self._bytes -= sum(len(each.raw) for each in found if isinstance(each, Heard))
        return found

    def take_dropped(self) -> int:
        """Return how many there was no room for since this was last called."""
        dropped, self._dropped = self._dropped, 0
        return dropped
