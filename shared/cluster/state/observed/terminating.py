"""Deleted objects that still count: pods of Jobs, and claims whose victims are gone. Pure.

Both are workloads like others. Their kinds contain a uid: the next Job of the same name is another workload, and so are
the pods that it leaves.

See docs/specification.md §5.5.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from shared.quota.model.tree import Amounts
from shared.quota.model.workload import Eviction, EvictionReason, PreemptorId, Workload

TERMINATING: Final = "TerminatingJob"
"""Prefix of the kind of a Job's terminating pods: all pods of a deleted or finished Job, deleted pods of another."""
ORPHANED: Final = "OrphanedClaim"
"""The kind of a deleted victim whose preemptor still waits. It uses and requests nothing."""


def as_terminating(workload: Workload, request: Amounts | None = None, pods: int | None = None) -> Workload | None:
    """Return what a Job leaves while its pods run; None: it was never admitted, so that its pods are not counted.

    It counts as evicting: for every start, and for no eviction. `request`, `pods`: of those pods; None: the workload's.
    """
    if workload.admission is None:
        return None
    ending = workload.eviction or Eviction(EvictionReason.SUSPENDED, workload.admission.since)
    request = workload.request if request is None else request
    pods = workload.pods if pods is None else pods
    kind = f"{TERMINATING}/{workload.uid}"
    return replace(workload, kind=kind, eviction=ending, request=request, pods=pods, notice=None, turn=None)


def is_orphaned(workload: Workload) -> bool:
    """Return whether the workload stands for the claim of a deleted victim."""
    return workload.kind.startswith(ORPHANED)


@dataclass(slots=True)
class OrphanedClaims:
    """preemptor -> its deleted victims; kept until the preemptor no longer waits or the claim ends."""

    _keys: dict[PreemptorId, set[str]] = field(default_factory=dict)

    def leave(self, key: str, gone: Workload) -> tuple[str, Workload] | None:
        """Return the key and the workload that represent the claim of a deleted victim, if it has one."""
        if gone.claim is None or is_orphaned(gone):
            return None
        left = f"claim on {key}"
        self._keys.setdefault(gone.claim.preemptor_id, set()).add(left)
        kind = f"{ORPHANED}/{gone.uid}"
        return left, replace(
            gone, kind=kind, request={}, pods=0, pod_sets=(), admission=None, notice=None, turn=None, hold=True
        )

    def served(self, preemptor: Workload | None, is_assumed: bool) -> Iterator[str]:
        """Yield the keys of this preemptor's claims that end because its start has been observed."""
        if self._keys and preemptor is not None and preemptor.admission is not None and not is_assumed:
            yield from self._keys.pop(preemptor.preemptor_id, ())

    def end(self, key: str, claim: Workload) -> None:
        """End the claim according to the plan."""
        keys = self._keys.get(claim.claim.preemptor_id, set()) if claim.claim is not None else set()
        keys.discard(key)
