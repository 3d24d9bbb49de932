"""One leaf's own usage during a cycle: what it uses, what is reserved in it, and which workloads it could recycle.

Entitlement and over-runtime are judged on these; the room on the path is judged on the usage views.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from shared.quota.decide.state.usage import Path, Quantities, quantities_of
from shared.quota.measure.group_usage import NO_NUMBERS, GroupNumbers, Numbers
from shared.quota.measure.snapshot import LeafSnapshot
from shared.quota.model.tree import Preemption
from shared.quota.model.workload import Flavors, Workload, WorkloadId
from shared.resources import Amount, FlavorResource

Sums = dict[FlavorResource, Amount]
_END = datetime.max.replace(tzinfo=UTC)


class RunningWorkload(NamedTuple):
    """Running work, what it takes and since when."""

    workload: Workload
    quantities: Quantities
    since: datetime

    @property
    def rank(self) -> tuple[int, timedelta]:
        """Lowest first to be recycled: lowest priority, then latest started."""
        return (self.workload.priority, _END - self.since)


class LeafUsage:
    """What one leaf holds while a cycle plans."""

    __slots__ = (
        "_lower",
        "_numbers",
        "_running",
        "_unanswered",
        "claimed",
        "fresh",
        "gone",
        "leaf",
        "name",
        "non_preemptible",
        "path",
        "touched",
        "used",
    )

    def __init__(self, leaf: LeafSnapshot, numbers: GroupNumbers) -> None:
        self.leaf = leaf
        self.name = leaf.group.name
        self.path: Path = leaf.path
        self.used: Sums = {key: each.used for key, each in numbers.items()}
        """Present: admitted, being evicted, and started in this cycle."""
        self.claimed: Sums = {}
        """Reserved for its own pending workloads: claims, and room kept."""
        self.non_preemptible: Sums = {key: each.non_preemptible for key, each in numbers.items()}
        """The part of used and claimed that is not preemptible."""
        self.gone: set[WorkloadId] = set()
        """Its work that this cycle evicts."""
        self.fresh: list[RunningWorkload] = []
        """Preemptible work that this cycle starts."""
        self.touched = False
        """Whether this cycle has changed anything here."""
        self._numbers = numbers
        self._running: tuple[RunningWorkload, ...] | None = None
        self._unanswered: tuple[Workload, ...] | None = None
        self._lower: dict[int, Sums] = {}

    def numbers(self, key: FlavorResource) -> Numbers:
        """The leaf's frozen numbers."""
        return self._numbers.get(key, NO_NUMBERS)

    @property
    def running(self) -> tuple[RunningWorkload, ...]:
        """Running preemptible work, first the one to be recycled first; what this cycle starts is not among it.

        Work of one priority started at one moment goes in the order opposite to the leaf's queue.
        """
        if self._running is None:
            last_in_line_first = (running_workload(each) for each in reversed(self.leaf.admitted) if each.preemptible)
            self._running = tuple(sorted(last_in_line_first, key=lambda each: each.rank))
        return self._running

    @property
    def unanswered(self) -> tuple[Workload, ...]:
        """Running work whose start the Job controller has not noted."""
        if self._unanswered is None:
            self._unanswered = tuple(each for each in self.leaf.admitted if not each.is_answered)
        return self._unanswered

    def start(self, quantities: Quantities, workload: Workload, now: datetime) -> None:
        """Count work as present from now on."""
        self.touched = True
        _add(self.used, quantities)
        if workload.preemptible:
            self.fresh.append(RunningWorkload(workload, quantities, now))
        else:
            _add(self.non_preemptible, quantities)

    def least_important(self, key: FlavorResource) -> RunningWorkload | None:
        """Of all preemptible work that uses `key` and is not going, also what started now, the first to recycle."""
        present = (each for each in (*self.fresh, *self.running) if each.workload.id not in self.gone)
        using = (each for each in present if any(used == key for used, _ in each.quantities))
        return min(using, key=lambda each: each.rank, default=None)

    def reserve(self, quantities: Quantities, workload: Workload) -> None:
        """Count a claim, or room kept, for work of this leaf."""
        self.touched = True
        _add(self.claimed, quantities)
        if not workload.preemptible:
            _add(self.non_preemptible, quantities)

    def release(self, quantities: Quantities, workload: Workload) -> None:
        """Undo `reserve`."""
        back = tuple((key, -amount) for key, amount in quantities)
        _add(self.claimed, back)
        if not workload.preemptible:
            _add(self.non_preemptible, back)

    def vacate(self, workload: Workload) -> None:
        """Work of this leaf is going."""
        self.touched = True
        self.gone.add(workload.id)

    def restore(self, workload: Workload) -> None:
        """Undo `vacate`."""
        self.gone.discard(workload.id)

    def preemptible_below(self, priority: int) -> Mapping[FlavorResource, Amount]:
        """What running work of lower priority uses that could be preempted in the group, or goes in this cycle."""
        if self.leaf.group.preemption is Preemption.NEVER:
            return {}
        found = self._lower.get(priority)
        if found is None:
            found = {}
            for each in reversed(self.leaf.admitted):
                if each.priority >= priority:
                    break
                if each.preemptible:
                    _add(found, quantities_of(each, flavors_of(each)))
            self._lower[priority] = found
        return found

    def is_entitled(self, quantities: Quantities, workload: Workload) -> bool:
        """Whether what the leaf uses and cannot preempt for this work, and this work, are within its runtime."""
        below = self.preemptible_below(workload.priority)
        for key, amount in quantities:
            non_preemptible = self.used.get(key, 0) + self.claimed.get(key, 0) - below.get(key, 0)
            if non_preemptible + amount > self.numbers(key).runtime:
                return False
        return True

    def may_hold(self, quantities: Quantities, workload: Workload) -> bool:
        """Whether work that is not preemptible stays within effectiveMin together; always for preemptible work."""
        return workload.preemptible or all(
            self.non_preemptible.get(key, 0) + amount <= self.numbers(key).effective_min for key, amount in quantities
        )

    def stays_within_min(self, quantities: Quantities) -> bool:
        """Whether with this the leaf's used stays within effectiveMin on every key."""
        return all(self.used.get(key, 0) + amount <= self.numbers(key).effective_min for key, amount in quantities)

    def is_below_runtime(self, quantities: Quantities) -> bool:
        """Whether the leaf's use, reservations included, is below its runtime on every key."""
        return all(
            self.used.get(key, 0) + self.claimed.get(key, 0) < self.numbers(key).runtime for key, _ in quantities
        )


def running_workload(workload: Workload) -> RunningWorkload:
    """Running work as it stands."""
    return RunningWorkload(workload, quantities_of(workload, flavors_of(workload)), started(workload))


def started(workload: Workload) -> datetime:
    """When admitted work was started last; its creation for work that is not admitted."""
    return workload.admission.since if workload.admission else workload.created


def flavors_of(workload: Workload) -> Flavors:
    """The flavors that admitted work holds; none for work that is not admitted."""
    return workload.admission.flavors if workload.admission else {}


def _add(sums: Sums, quantities: Quantities) -> None:
    for key, amount in quantities:
        sums[key] = sums.get(key, 0) + amount
