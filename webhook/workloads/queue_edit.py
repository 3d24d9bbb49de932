"""Whether an owner's edit of a pending workload gives it a new place in the queue. Pure.

An old small placeholder must not overtake all waiting workloads once it is released or enlarged. See
docs/specification.md §6.7.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import msgspec

from shared.api.annotations import BadAnnotation, RequeueAnnotation, read_requeue, write_annotation
from shared.api.core.metadata import Metadata
from shared.api.names import REQUEUE, is_held
from shared.quota.model.tree import Amounts

_MUTATED_WITHIN: Final = timedelta(minutes=2)
"""The possible clock difference between the replica that mutates and the one that validates."""


@dataclass(frozen=True, slots=True)
class QueueEdit:
    """An owner's edit. `waits`: pending before and after it; `is_more`: it requests more than before, or of another
    group.
    """

    old: Metadata
    new: Metadata
    waits: bool
    is_more: bool

    def requeue(self, now: datetime) -> RequeueAnnotation | None:
        """Return the requeue annotation after the edit; None: unchanged.

        Release from a hold resets the count of failed starts.
        """
        is_released = is_held(self.old.labels) and not is_held(self.new.labels)
        if not self.waits or not (is_released or self.is_more):
            return None
        requeue = _read(self.old) or RequeueAnnotation()
        if is_released and requeue.deactivated:
            requeue = msgspec.structs.replace(requeue, deactivated=False, failed_starts=0, not_before=None)
        return msgspec.structs.replace(requeue, released=now)

    def expected_text(self, now: datetime) -> str | None:
        """Return the annotation's text as validation expects it, or None: the mutation was a moment ago.

        It can also be unchanged: in an upgrade a replica of the previous version might mutate.
        """
        expected = self.requeue(now)
        if expected is None or self.old.annotations.get(REQUEUE) == self.new.annotations.get(REQUEUE):
            return None
        found = _read(self.new)
        if found is not None and found.released is not None and abs(found.released - now) < _MUTATED_WITHIN:
            expected = msgspec.structs.replace(expected, released=found.released)
        return write_annotation(expected)


def requests_more(before: Amounts, after: Amounts) -> bool:
    """Return whether `after` requests more of some resource."""
    return any(amount > before.get(resource, 0) for resource, amount in after.items())


def _read(metadata: Metadata) -> RequeueAnnotation | None:
    try:
        return read_requeue(metadata.annotations)
    except BadAnnotation:
        return None
