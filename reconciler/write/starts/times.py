"""Resets the start time of suspended Jobs where Kubernetes keeps it, as it does before 1.36.

Until it is reset, the API server refuses another placement of their pods, and nothing would show that the Job
controller has noted their next start. See docs/specification.md §5.4.
"""

from typing import Final

from reconciler.write import patches
from reconciler.write.write_queue import DONE, WriteQueue
from shared.cluster.state.expected.assumptions import Mark
from shared.cluster.state.workloads.cache import WorkloadCache

_NO_ANNOTATION: Final[Mark] = ("start-time", "")
"""The name of these writes in metrics; they leave no mark on the object."""


class StartTimes:
    """Each is reset by a write of its own, beside the cycle."""

    def __init__(self, work: WorkloadCache, writes: WriteQueue) -> None:
        self._work = work
        self._writes = writes

    def reset_kept(self) -> None:
        """Reset those of all Jobs that can be written now."""
        for key in list(self._work.follow_ups.kept_start_times):
            with self._work.readings.set_aside_if_fails(key):
                self._reset(key)

    def _reset(self, key: str) -> None:
        workload, objects = self._work.index.workload(key), self._writes.free_objects(key)
        if workload is None or not objects:
            return
        group = workload.group

        async def write() -> None:
            outcome = await self._writes.patch(
                key,
                objects,
                lambda each: patches.reset_start_time(each.metadata, group),
                _NO_ANNOTATION,
                subresource="status",
            )
            if outcome.fate in DONE:
                self._work.follow_ups.kept_start_times.discard(key)

        self._writes.begin(key, write())
