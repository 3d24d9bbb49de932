"""What one round of a cycle reads and never changes: a snapshot, and what the rounds before it decided."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from shared.quota.decide.decisions import Start
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.decide.state.equivalence import EquivalenceClasses
from shared.quota.decide.state.flavor_assignment import Assignments
from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.workload import Workload, WorkloadId


@dataclass(frozen=True, slots=True)
class TakenOver:
    """What one round of a cycle takes over from the rounds before it. docs/specification.md §6.1."""

    starts: tuple[Start, ...] = ()
    """Starts of the earlier rounds. The snapshot was measured again and contains them."""
    measured_after: tuple[int, ...] = ()
    """For each time the snapshot was measured again: how many of `starts` it contained."""
    may_not_borrow: frozenset[WorkloadId] = frozenset()
    """Workloads that must not borrow: an entitled workload would reclaim them at once."""
    barred_leaves: frozenset[str] = frozenset()
    """The leaves of `may_not_borrow`."""
    trial: frozenset[WorkloadId] = frozenset()
    """Those of `starts` that can be reclaimed here without any delay: the round is a trial and is not carried out."""

    @property
    def started(self) -> frozenset[WorkloadId]:
        """The workloads that `starts` starts."""
        return frozenset(each.workload.id for each in self.starts)


FIRST_ROUND: Final = TakenOver()


@dataclass(frozen=True, slots=True)
class RoundInput:
    """The input of one round. The cache is brought up to the snapshot when the round begins."""

    snapshot: Snapshot
    cache: CycleCache
    taken_over: TakenOver = FIRST_ROUND

    @property
    def now(self) -> datetime:
        """The moment for which the cycle decides."""
        return self.snapshot.now

    def without_borrowing(self, workloads: Sequence[Workload]) -> "RoundInput":
        """Return the same input; these workloads do not borrow."""
        before = self.taken_over
        taken_over = replace(
            before,
            may_not_borrow=before.may_not_borrow.union(each.id for each in workloads),
            barred_leaves=before.barred_leaves.union(each.group for each in workloads),
        )
        return replace(self, taken_over=taken_over)

    def carried_out(self) -> "RoundInput":
        """Return the same input after a trial: its starts stay."""
        return replace(self, taken_over=replace(self.taken_over, trial=frozenset()))

    def classes(self, leaf: str) -> EquivalenceClasses:
        """Return the equivalence classes of the leaf's pending workloads."""
        return self.cache.leaves[leaf].classes

    def assignments(self, leaf: str, workload: Workload) -> Assignments | None:
        """Return what this workload can take there, in order of preference; None if it can never start in that leaf."""
        return self.classes(leaf).class_of(workload).assignments
