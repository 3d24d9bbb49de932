"""Changes when the pods of started Jobs are replaced: after their end, or at once where they are lost.

A Job that Quotree starts has the right policy from its start on. What was running before, and what has lost pods, gets
it by a write of its own. See docs/decisions/0012-pods-are-replaced-when-they-have-ended.md.
"""

from datetime import datetime
from typing import Final

from reconciler.write.sorts.registry import writes_of
from reconciler.write.write_queue import DONE, WriteQueue
from shared.cluster.state.expected.assumptions import Mark
from shared.cluster.state.observed.pod_replacement import PolicyChange
from shared.cluster.state.workloads.cache import WorkloadCache

_NO_ANNOTATION: Final[Mark] = ("pod-replacement", "")
"""The name of these writes in metrics."""


class PolicyChanges:
    """Each is one write beside the cycle."""

    def __init__(self, work: WorkloadCache, writes: WriteQueue) -> None:
        self._work = work
        self._writes = writes
        self._written: dict[str, tuple[int, str]] = {}
        """key -> generation and policy of the last write: an API server that does not know the field ignores it."""

    def apply_due(self, now: datetime) -> None:
        """Begin the writes that are due; one that is not follows when it is."""
        for key, change in list(self._work.follow_ups.policy_changes.items()):
            if change.due <= now:
                with self._work.readings.set_aside_if_fails(key):
                    self._apply(key, change)

    def next_due(self, now: datetime) -> datetime | None:
        """Return when the next change is due that is not yet."""
        return min((each.due for each in self._work.follow_ups.policy_changes.values() if each.due > now), default=None)

    def _apply(self, key: str, change: PolicyChange) -> None:
        workload, policy = self._work.index.workload(key), change.policy
        objects = self._writes.free_objects(key)
        if workload is None or not objects or key in self._work.overlay.assumptions:
            return
        group, tried = workload.group, (objects[0].metadata.generation, policy)
        if self._written.get(key) == tried:
            return
        self._written = {
            known: each for known, each in self._written.items() if known in self._work.follow_ups.policy_changes
        }
        self._written[key] = tried

        async def write() -> None:
            outcome = await self._writes.patch(
                key,
                objects,
                lambda each: writes_of(each).change_policy(each, group, policy),
                _NO_ANNOTATION,
            )
            if outcome.fate not in DONE:
                self._written.pop(key, None)

        self._writes.begin(key, write())
