"""Evictions of the pods of evicted workloads: each requested in its own task until the API server accepts it.

See docs/specification.md §5.6.
"""

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
    """One task for each pod, however often it is begun; a PodDisruptionBudget may refuse it for long.

    `is_alive`: whether the pod has not ended meanwhile. An ended pod is left to its owner.
    """

    def __init__(self, writer: WorkloadWriter, is_alive: Callable[[Pod], bool], spawn: Spawn) -> None:
        self._writer = writer
        self._is_alive = is_alive
        self._spawn = spawn
        self._evicting: dict[str, asyncio.Task[None]] = {}

    def begin(self, objects: Sequence[WorkloadObject]) -> None:
        """Evict all pods of a workload at once: a pod that a disruption budget protects must not delay the others."""
        for pod in objects:
            uid = pod.metadata.uid
            if isinstance(pod, Pod) and not pod.is_gated and not pod.metadata.is_deleting and uid not in self._evicting:
                self._evicting[uid] = task = self._spawn(self._evict(pod))
                task.add_done_callback(partial(self._done, uid))

    def cancel(self) -> None:
        """Stop all tasks."""
        for task in self._evicting.values():
            task.cancel()

    def _done(self, uid: str, _: "asyncio.Task[None]") -> None:
        del self._evicting[uid]

    async def _evict(self, pod: Pod) -> None:
        outcome = await self._writer.evict_pod(pod, lambda: self._is_alive(pod))
        if outcome.fate in (WriteOutcome.REFUSED, WriteOutcome.INVALID):
            log.warning("Pod not evicted", pod=pod.metadata.key, why=outcome.message)
