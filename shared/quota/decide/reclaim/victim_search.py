"""Which workloads must be evicted to bring a group back within its runtime. docs/specification.md §7.3 and §7.4.

A search returns one victim at a time, because each eviction changes which leaves are over.
"""

from collections.abc import Iterable, Set
from dataclasses import dataclass
from datetime import datetime

from shared.api.durations import later
from shared.quota.decide.decisions import EvictionRule, OverSince
from shared.quota.decide.state.eviction_plan import Victim
from shared.quota.decide.state.leaf_usage import LeafUsage, RunningWorkload
from shared.quota.decide.state.round_usage import RoundUsage
from shared.quota.measure.fair_share import EXACT
from shared.quota.model.tree import SYSTEM
from shared.quota.model.workload import EvictionReason, Workload, WorkloadId
from shared.resources import FlavorResource


@dataclass(frozen=True, slots=True)
class EvictionDelays:
    """What can delay an eviction: since when leaves are over; or nothing, in a round that is only a trial."""

    over_since: OverSince
    ignored: bool


class VictimSearch:
    """Which victims are searched: only those evictable now, or also those whose eviction is only delayed."""

    __slots__ = ("_delayed", "_delays", "spared_until", "usage")

    def __init__(self, usage: RoundUsage, delays: EvictionDelays, *, delayed: bool = False) -> None:
        self.usage = usage
        self._delays = delays
        self._delayed = delayed
        self.spared_until: list[datetime] = []
        """When those who were passed over for a delay alone could go."""

    def in_branches(self, group: str, spared: str, key: FlavorResource) -> Victim | None:
        """A victim below `group`, outside the branch `spared`, in a leaf over runtime on `key` at every level."""
        for child in self._over(group, key):
            if child == spared:
                continue
            if child in self.usage.snapshot.leaves:
                found = self._in_leaf_over(child, key)
            else:
                found = self.in_branches(child, spared, key)
            if found is not None:
                return found
        return None

    def _over(self, group: str, key: FlavorResource) -> list[str]:
        """Children over their runtime, furthest in proportion to weight first, weight 0 before all, then by name."""
        after, found = self.usage.planned, []
        for child in self.usage.snapshot.world.tree.children(group):
            excess = after.over_runtime(child, key)
            if excess > 0 and child != SYSTEM:
                weight = after.numbers(child, key).weight
                found.append((weight > 0, -(excess << EXACT) // weight if weight else 0, child))
        return [child for _, _, child in sorted(found)]

    def _in_leaf_over(self, leaf: str, key: FlavorResource) -> Victim | None:
        leaf_usage = self.usage.leaf(leaf)
        if leaf_usage.leaf.inactive is not None or not self._grace_is_over(leaf_usage, leaf, key):
            return None
        running = self.least_important(leaf_usage, key)
        if running is None:
            return None
        return Victim(running, leaf_usage, EvictionReason.RECLAIMED, EvictionRule.RECLAIM, leaf, key)

    def below_priority(self, leaf_usage: LeafUsage, priority: int, key: FlavorResource) -> Victim | None:
        """Return a victim of lower priority in the preemptor's own leaf."""
        if not leaf_usage.preemptible_below(priority):
            return None
        running = self.least_important(leaf_usage, key)
        if running is None or running.workload.priority >= priority:
            return None
        return Victim(running, leaf_usage, EvictionReason.PREEMPTED, EvictionRule.PREEMPTION, leaf_usage.name, key)

    def over_ceiling(self, leaf_usage: LeafUsage, group: str, keys: Iterable[FlavorResource]) -> RunningWorkload | None:
        """Return the first victim of this leaf when `group`, on its path, is over its ceiling on these keys."""
        return self._least_important_of(
            leaf_usage, frozenset(key for key in keys if self._grace_is_over(leaf_usage, group, key))
        )

    def without_a_place(
        self, leaf_usage: LeafUsage, group: str, keys: Iterable[FlavorResource]
    ) -> RunningWorkload | None:
        """Return the first victim of this leaf for lost capacity, among workloads with pods without a node."""
        grace, now = self.usage.snapshot.world.settings.loss_grace_period, self.usage.now
        lost = [key for key in keys if self._is_past(later(self._delays.over_since.get((group, key), now), grace))]
        unplaced = {
            each.id for each in leaf_usage.leaf.without_place if lost and self._is_past(later(_lost(each, now), grace))
        }
        return self._least_important_of(leaf_usage, frozenset(lost), unplaced) if unplaced else None

    def may_go(self, leaf_usage: LeafUsage, running: RunningWorkload, key: FlavorResource) -> bool:
        """Return whether grace and exemptAfterStart let it be evicted; never what this cycle has started."""
        if running in leaf_usage.started_now:
            return False
        grace = self._grace_is_over(leaf_usage, leaf_usage.name, key)
        return self.has_run_long_enough(leaf_usage, running) and grace

    def least_important(self, leaf_usage: LeafUsage, key: FlavorResource) -> RunningWorkload | None:
        """Return the least important evictable workload of the leaf that uses `key`."""
        return self._least_important_of(leaf_usage, frozenset((key,)))

    def _least_important_of(
        self, leaf_usage: LeafUsage, keys: Set[FlavorResource], only: Set[WorkloadId] | None = None
    ) -> RunningWorkload | None:
        for running in leaf_usage.running if keys else ():
            if only is not None and running.workload.id not in only:
                continue
            uses_one = running.workload.id not in leaf_usage.gone and any(
                each in keys for each, _ in running.quantities
            )
            if uses_one and self.has_run_long_enough(leaf_usage, running):
                return running
        return None

    def has_run_long_enough(self, leaf_usage: LeafUsage, running: RunningWorkload) -> bool:
        """Return whether the exemption after start since its start is over, or delays do not matter here."""
        since = min(running.since, self.usage.now)
        return self._is_past(later(since, leaf_usage.leaf.reclaim.exempt_after_start))

    def _grace_is_over(self, leaf_usage: LeafUsage, group: str, key: FlavorResource) -> bool:
        """Whether `group` has been over for the leaf's grace period without a break; first seen now is since now."""
        since = self._delays.over_since.get((group, key), self.usage.now)
        return self._is_past(later(since, leaf_usage.leaf.reclaim.grace_period))

    def _is_past(self, until: datetime) -> bool:
        if until <= self.usage.now or self._delays.ignored:
            return True
        self.spared_until.append(until)
        return self._delayed


def _lost(workload: Workload, now: datetime) -> datetime:
    """Since when pods of this workload have no place: since its start, or since it was not ready any more."""
    admission = workload.admission
    if admission is None or (admission.was_ready and admission.unready_since is None):
        return now
    return admission.unready_since or admission.since
