"""What work one group has, sorted by what state it is in; immutable, and cheap to change by one workload.

A bucket does not know the time: work with a `not_before` stays in `backing_off` also when that moment is past.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from shared.quota.model.workload import Workload, WorkloadId

Place = tuple[int, datetime, datetime, str, str]


def place_in_line(workload: Workload) -> Place:
    """The sort key of a leaf's queue: priority from high to low, then queued, created, key, uid."""
    return (-workload.priority, workload.queued, workload.created, workload.key, workload.uid)


@dataclass(frozen=True, slots=True)
class Bucket:
    """One group's work. Every tuple is in the order of `place_in_line`."""

    queue: tuple[Workload, ...] = ()
    """Pending, not held, not deactivated, never told to wait."""
    backing_off: tuple[Workload, ...] = ()
    """Pending with a `not_before`, past or not."""
    set_aside: tuple[Workload, ...] = ()
    """Held by its owner, or deactivated."""
    admitted: tuple[Workload, ...] = ()
    """Admitted and not being evicted."""
    evicting: tuple[Workload, ...] = ()
    """Admitted, being evicted; its pods have not all ended."""
    by_id: Mapping[WorkloadId, Workload] = field(default_factory=lambda: MappingProxyType({}))

    @staticmethod
    def of(workloads: Iterable[Workload]) -> "Bucket":
        """Sort `workloads` into a bucket; the last of two with one id wins."""
        by_id = {workload.id: workload for workload in workloads}
        lists: dict[str, list[Workload]] = {name: [] for name in _STATES}
        for workload in by_id.values():
            lists[state_of(workload)].append(workload)
        return Bucket(by_id=by_id, **{name: tuple(sorted(found, key=place_in_line)) for name, found in lists.items()})


_STATES = ("queue", "backing_off", "set_aside", "admitted", "evicting")


def state_of(workload: Workload) -> str:
    """The name of the bucket's tuple that `workload` belongs in."""
    if workload.admission is not None:
        return "admitted" if workload.eviction is None else "evicting"
    if workload.hold or workload.deactivated:
        return "set_aside"
    return "queue" if workload.not_before is None else "backing_off"


EMPTY = Bucket()
