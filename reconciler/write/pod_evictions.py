"""The evictions of pods that were marked for it: each asked for in its own task until the API server agrees."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from reconciler.state.workload_reader import WorkloadObject
from reconciler.write.workload_writer import WorkloadWriter, WriteOutcome
from reconciler.write.write_queue import Spawn
from shared.api.core.pod import Pod
from shared.telemetry import get_logger

log = get_logger(__name__)


class PodEvictions:
    """One for each pod, however often it is asked for; a PodDisruptionBudget may hold it for long.

    `lives`: whether the pod has not ended meanwhile. One that has is its owner's to look at, and is let alone.
    """

    def __init__(self, writer: WorkloadWriter, lives: Callable[[Pod], bool], spawn: Spawn) -> None:
        self._writer = writer
        self._lives = lives
        self._spawn = spawn
        self._asking: dict[str, asyncio.Task[None]] = {}

    def begin(self, objects: Sequence[WorkloadObject]) -> None:
        """Evict all pods of a unit at once: one that a disruption budget holds must not keep the others."""
        for pod in objects:
            uid = pod.metadata.uid
            if isinstance(pod, Pod) and not pod.is_gated and not pod.metadata.is_deleting and uid not in self._asking:
                self._asking[uid] = task = self._spawn(self._evict(pod))
                task.add_done_callback(partial(self._done, uid))

    def cancel(self) -> None:
        """Ask no more."""
        for task in self._asking.values():
            task.cancel()

    def _done(self, uid: str, _: "asyncio.Task[None]") -> None:
        del self._asking[uid]

    async def _evict(self, pod: Pod) -> None:
        outcome = await self._writer.evict_pod(pod, lambda: self._lives(pod))
        if outcome.fate in (WriteOutcome.REFUSED, WriteOutcome.INVALID):
            log.warning("Pod not evicted", pod=pod.metadata.key, why=outcome.message)
