"""Which work may be written on now: one write at a time on each unit, and a pause after one that failed."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from reconciler.reader import WorkObject
from reconciler.work import Work
from shared.quota.model.workload import Workload

Spawn = Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]


class UnderWay:
    """The writes that have begun. `spawn` runs one beside the cycle; `wake` asks for another cycle."""

    def __init__(self, work: Work, spawn: Spawn, wake: Callable[[], None]) -> None:
        self.now = datetime.min.replace(tzinfo=UTC)
        """The time of the cycle."""
        self._work = work
        self._spawn = spawn
        self._wake = wake
        self._writing: dict[str, asyncio.Task[None]] = {}
        self._wanted: set[str] = set()
        """Units that were not free when something was to be written on them."""
        self._left_alone: dict[str, tuple[datetime, int]] = {}

    def free_unit(self, workload: Workload) -> str | None:
        """The unit of this work, unless it has gone, or a write on it is under way or has just failed."""
        unit = self._work.unit_of(workload)
        return None if unit is None or not self.free_objects(unit) else unit

    def free_objects(self, unit: str) -> list[WorkObject]:
        """The objects of a unit that may be written on now; else nothing, and the cycle is woken when they may."""
        objects = self._work.objects(unit)
        if unit in self._writing:
            self._wanted.add(unit)
            return []
        if not objects:
            return []
        until, generation = self._left_alone.get(unit, (self.now, 0))
        if until > self.now and objects[0].metadata.generation == generation:
            return []
        self._left_alone.pop(unit, None)
        return objects

    def begin(self, unit: str, write: Coroutine[Any, Any, None]) -> None:
        """Let the write run."""
        self._writing[unit] = task = self._spawn(write)
        task.add_done_callback(partial(self._end, unit))

    def _end(self, unit: str, _: "asyncio.Task[None]") -> None:
        del self._writing[unit]
        if unit in self._wanted or unit in self._left_alone or unit in self._work.half_done:
            self._wanted.discard(unit)
            self._wake()

    def leave_alone(self, unit: str, generation: int, wait: timedelta) -> None:
        """Write nothing on it for so long, unless its spec changes before that."""
        self._left_alone[unit] = (self.now + wait, generation)
        asyncio.get_running_loop().call_later(wait.total_seconds(), self._wake)

    async def finish(self, within: timedelta) -> bool:
        """Let the writes come to their end; cancel those that have not by then. Whether all had."""
        if not self._writing:
            return True
        _, late = await asyncio.wait([*self._writing.values()], timeout=within.total_seconds())
        for task in late:
            task.cancel()
        return not late
