"""Evictions of the pods of evicted workloads: each requested in its own task until the API server accepts it.

A PodDisruptionBudget can refuse an eviction. It protects a workload against many disruptions at one time, but not
indefinitely: after `reclaim.evictionTimeout` the pod is deleted. So is a pod that no eviction is possible for, because
two budgets select it: the API server answers 500. See docs/specification.md §5.6.
"""

import asyncio
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import partial

from reconciler.write.workload_writer import UNWANTED, WorkloadWriter, WriteOutcome
from reconciler.write.write_queue import Spawn
from shared.api.durations import later
from shared.cluster.state.workloads.object_store import PodRef
from shared.telemetry import get_logger

log = get_logger(__name__)


class PodEvictions:
    """One task for each pod, however often it is begun.

    `is_alive`: whether the pod has not ended meanwhile. An ended pod is left to its owner. `failing` is called with a
    pod and why, where its eviction fails each time; `timed_out` with a pod that is deleted because its eviction was
    refused, or has failed, for too long.
    """

    def __init__(  # noqa: PLR0913
        self,
        writer: WorkloadWriter,
        is_alive: Callable[[PodRef], bool],
        failing: Callable[[PodRef, str], None],
        timed_out: Callable[[PodRef], None],
        *,
        spawn: Spawn,
        timeout: timedelta,
    ) -> None:
        self._writer = writer
        self._is_alive = is_alive
        self._failing = failing
        self._timed_out = timed_out
        self._spawn = spawn
        self._timeout = timeout
        self._evicting: dict[str, asyncio.Task[None]] = {}

    def begin(self, pods: Iterable[PodRef], since: datetime) -> None:
        """Evict these pods at once: a pod that a disruption budget protects must not delay the others.

        `since`: when their workload was evicted; a restarted process goes on counting from there.
        """
        for pod in pods:
            if pod.uid not in self._evicting:
                self._evicting[pod.uid] = task = self._spawn(self._evict(pod, later(since, self._timeout)))
                task.add_done_callback(partial(self._done, pod.uid))

    def cancel(self) -> None:
        """Stop all tasks."""
        for task in self._evicting.values():
            task.cancel()

    def _done(self, uid: str, _: "asyncio.Task[None]") -> None:
        del self._evicting[uid]

    async def _evict(self, pod: PodRef, until: datetime) -> None:
        outcome = await self._writer.evict_pod(
            pod, lambda: self._is_alive(pod) and datetime.now(UTC) < until, partial(self._failing, pod)
        )
        if outcome is UNWANTED and self._is_alive(pod):
            self._timed_out(pod)
            log.warning("Pod deleted: its eviction was refused for too long", namespace=pod.namespace, pod=pod.name)
            outcome = await self._writer.delete_pod(pod, lambda: self._is_alive(pod))
        if outcome.fate in (WriteOutcome.REFUSED, WriteOutcome.INVALID, WriteOutcome.TOO_LARGE):
            log.warning("Pod not evicted", namespace=pod.namespace, pod=pod.name, why=outcome.message)
