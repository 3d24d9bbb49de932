"""Writes on workloads: one at a time on each, on all its objects, and a pause after one that failed."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

from reconciler.report.metrics import ReconcilerMetrics
from reconciler.write.workload_writer import WRITTEN, WorkloadWriter, WriteOutcome, WriteResult
from shared.api.durations import later
from shared.api.json.patches import Operation
from shared.cluster.state.expected.assumptions import Mark
from shared.cluster.state.sorts.sort import WorkloadObject
from shared.cluster.state.workloads.cache import WorkloadCache
from shared.quota.model.workload import Workload
from shared.telemetry import get_logger

WAITS: Final = {
    WriteOutcome.STALE: timedelta(seconds=1),
    WriteOutcome.UNANSWERED: timedelta(seconds=1),
    WriteOutcome.REFUSED: timedelta(seconds=15),
    WriteOutcome.INVALID: timedelta(milliseconds=10),
    WriteOutcome.TOO_LARGE: timedelta(seconds=15),
}
"""How long a workload is not written after a failed write; a change of its spec ends this earlier. An invalid start
is not repeated as it was: the workload gets other flavors or none.
"""

DONE: Final = (WriteOutcome.WRITTEN, WriteOutcome.REDUCED)
_NOT_STORABLE: Final = (WriteOutcome.INVALID, WriteOutcome.TOO_LARGE)
_WORST_LAST: Final = (*DONE, WriteOutcome.STALE, WriteOutcome.UNANSWERED, WriteOutcome.REFUSED, *_NOT_STORABLE)

LeastWrite = Callable[[WorkloadObject], list[Operation]]
Spawn = Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]

log = get_logger(__name__)


class WriteQueue:
    """The only caller of the writer's patches. `spawn` runs a write beside the cycle; `wake` asks for another cycle."""

    def __init__(
        self,
        work: WorkloadCache,
        writer: WorkloadWriter,
        metrics: ReconcilerMetrics,
        spawn: Spawn,
        wake: Callable[[], None],
    ) -> None:
        self.now = datetime.min.replace(tzinfo=UTC)
        """The time of the cycle."""
        self.begun = 0
        """How many writes were begun."""
        self._work = work
        self._writer = writer
        self._metrics = metrics
        self._spawn = spawn
        self._wake = wake
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._wanted: set[str] = set()
        """Workloads that were busy when a write was due."""
        self._paused: dict[str, tuple[datetime, int]] = {}
        self._stale_tries: dict[str, int] = {}

    @property
    def is_busy(self) -> bool:
        """Whether any write is under way."""
        return bool(self._under_way)

    def free_key(self, workload: Workload) -> str | None:
        """Return the key of this workload; None if it is deleted, or a write to it is pending or has just failed."""
        key = self._work.index.key_of(workload)
        return None if key is None or not self.free_objects(key) else key

    def free_objects(self, key: str) -> list[WorkloadObject]:
        """The objects of a workload that can be written now; else empty, and a cycle is requested when they can."""
        objects = self._work.objects.of(key)
        if key in self._under_way:
            self._wanted.add(key)
            return []
        if not objects:
            return []
        until, generation = self._paused.get(key, (self.now, 0))
        if until > self.now and objects[0].metadata.generation == generation:
            return []
        self._paused.pop(key, None)
        return objects

    def stale_tries(self, key: str) -> int:
        """Return how many writes in a row found an object changed since the decision."""
        return self._stale_tries.get(key, 0)

    def begin(self, key: str, write: Coroutine[Any, Any, None]) -> None:
        """Run `write`, which calls `patch`."""
        self.begun += 1
        self._under_way[key] = task = self._spawn(self._run(key, write))
        task.add_done_callback(partial(self._end, key))

    async def _run(self, key: str, write: Coroutine[Any, Any, None]) -> None:
        with self._work.readings.set_aside_if_fails(key):
            await write

    def _end(self, key: str, _: "asyncio.Task[None]") -> None:
        del self._under_way[key]
        if self._work.index.workload(key) is None:
            self._stale_tries.pop(key, None)
        if key in self._wanted or key in self._paused or key in self._work.follow_ups.incomplete:
            self._wanted.discard(key)
            self._wake()

    async def patch(  # noqa: PLR0913
        self,
        key: str,
        objects: Sequence[WorkloadObject],
        patch: Callable[[WorkloadObject], list[Operation]],
        mark: Mark,
        least: LeastWrite | None = None,
        *,
        subresource: str | None = None,
    ) -> WriteResult:
        """Patch these objects of a workload; the worst outcome counts. Where it failed nothing is assumed any more.

        `least`: what is sent instead to an object that cannot store the patch; no operations: nothing is.
        """
        began = time.perf_counter()
        writes = [self._patch(each, patch(each), mark, least, subresource) for each in objects]
        # A workload is one object most of the time, and without another task its start is sent sooner.
        outcomes = await asyncio.gather(*writes) if len(writes) > 1 else [await each for each in writes]
        outcome = max(outcomes, key=lambda each: _WORST_LAST.index(each.fate), default=WRITTEN)
        self._metrics.writes.wrote(mark[0], outcome.fate.value, time.perf_counter() - began)
        if outcome.fate is WriteOutcome.STALE:
            self._stale_tries[key] = self.stale_tries(key) + 1
        elif outcome.fate in DONE:
            self._stale_tries.pop(key, None)
        if outcome.fate not in DONE:
            log.info("Write not carried out", key=key, what=mark[0], fate=outcome.fate.value, why=outcome.message)
            results = zip(objects, outcomes, strict=True)
            self._work.decided.forget(
                key, mark, [each.metadata.uid for each, result in results if result.fate not in DONE]
            )
            self._pause(key, objects[0].metadata.generation, WAITS[outcome.fate])
        return outcome

    async def say(self, target: WorkloadObject, operations: list[Operation], what: str) -> None:
        """Patch one object with what only people read: a failure is counted, and changes nothing."""
        began = time.perf_counter()
        outcome = await self._writer.patch(target, operations, (what, None), None)
        self._metrics.writes.wrote(what, outcome.fate.value, time.perf_counter() - began)

    async def _patch(
        self,
        target: WorkloadObject,
        operations: list[Operation],
        mark: Mark,
        least: LeastWrite | None,
        subresource: str | None,
    ) -> WriteResult:
        outcome = await self._writer.patch(target, operations, mark, subresource)
        if least is None or outcome.fate not in _NOT_STORABLE:
            return outcome
        reduced = least(target)
        again = await self._writer.patch(target, reduced, mark) if reduced else WRITTEN
        if again.fate is not WriteOutcome.WRITTEN:
            return again
        log.warning("Written without annotations", name=target.metadata.key, what=mark[0], why=outcome.message)
        return WriteResult(WriteOutcome.REDUCED, outcome.message)

    def _pause(self, key: str, generation: int, wait: timedelta) -> None:
        self._paused[key] = (later(self.now, wait), generation)
        asyncio.get_running_loop().call_later(wait.total_seconds(), self._wake)

    async def finish(self, within: timedelta) -> bool:
        """Wait for the writes and cancel slow ones; return whether all ended in time."""
        if not self._under_way:
            return True
        _, late = await asyncio.wait([*self._under_way.values()], timeout=within.total_seconds())
        for task in late:
            task.cancel()
        return not late
