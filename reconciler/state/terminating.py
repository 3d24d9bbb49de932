"""Work that is gone and still counts: deleted Jobs whose pods run, and claims that no victim carries any more. Pure.

Both are workloads like others, of kinds of their own: the next Job of the same name is another.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from shared.quota.model.workload import Eviction, EvictionReason, PreemptorId, Workload

DEPARTED: Final = "DepartedJob"
"""Its Job is deleted, its pods still run."""
ORPHANED: Final = "OrphanedClaim"
"""It was evicted for a preemptor that still waits. It uses nothing and asks for nothing."""


def as_departed(workload: Workload) -> Workload | None:
    """What a deleted Job leaves while its pods run; None: it was never admitted, so that they are nothing of ours."""
    if workload.admission is None:
        return None
    ending = workload.eviction or Eviction(EvictionReason.SUSPENDED, workload.admission.since)
    return replace(workload, kind=DEPARTED, eviction=ending)


@dataclass(slots=True)
class OrphanedClaims:
    """preemptor -> the victims that are gone; kept until the preemptor waits no more or the claim ends."""

    _units: dict[PreemptorId, set[str]] = field(default_factory=dict)

    def leave(self, unit: str, gone: Workload) -> tuple[str, Workload] | None:
        """The unit and the workload that stand for the claim of a victim that has just gone, if it bears one."""
        if gone.claim is None or gone.kind == ORPHANED:
            return None
        left = f"claim on {unit}"
        self._units.setdefault(gone.claim.preemptor_id, set()).add(left)
        return left, replace(gone, kind=ORPHANED, request={}, admission=None, notice=None, hold=True)

    def served(self, preemptor: Workload | None, is_assumed: bool) -> Iterator[str]:
        """The units of claims of this preemptor that are over because it has started, and has been seen to."""
        if self._units and preemptor is not None and preemptor.admission is not None and not is_assumed:
            yield from self._units.pop(preemptor.preemptor_id, ())

    def end(self, unit: str, claim: Workload) -> None:
        """The engine has ended this one."""
        units = self._units.get(claim.claim.preemptor_id, set()) if claim.claim is not None else set()
        units.discard(unit)
