"""Which workloads must be evicted to bring a group back within its runtime. docs/specification.md §7.3 and §7.4.

A search returns one victim at a time, because each eviction changes which leaves are over. While it lasts, workloads
are evicted and none is restored: so a group is less and less over, and a group without a victim stays without one.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from heapq import heapify, heappop, heapreplace

from shared.api.durations import later
from shared.quota.decide.decisions import EvictionRule
from shared.quota.decide.recycling_order import RunningWorkload
from shared.quota.decide.state.eviction_plan import Victim
from shared.quota.decide.state.leaf_usage import LeafUsage
from shared.quota.decide.state.round_usage import RoundUsage
from shared.quota.decide.state.usage import GroupKey
from shared.quota.measure.fair_share import EXACT
from shared.quota.measure.inputs.world import OverSince
from shared.quota.model.tree import ROOT, SYSTEM
from shared.quota.model.workload import EvictionReason, Workload, WorkloadId
from shared.resources import Amount, FlavorResource


@dataclass(frozen=True, slots=True)
class EvictionDelays:
    """What can delay an eviction: since when leaves are over; or nothing, in a round that is only a trial."""

    over_since: OverSince
    ignored: bool


Branch = tuple[bool, int, str]
"""A child that is over its runtime: whether it has a weight, minus its excess in proportion to that, its name."""


class VictimSearch:
    """Which victims are searched: only those evictable now, or also those whose eviction is only delayed."""

    __slots__ = ("_branches", "_delayed", "_delays", "_has_turns", "_open", "spared_until", "spares_for_turns", "usage")

    def __init__(self, usage: RoundUsage, delays: EvictionDelays, *, delayed: bool = False) -> None:
        self.usage = usage
        self._delays = delays
        self._delayed = delayed
        self._has_turns = bool(usage.snapshot.turns.holders)
        self._branches: dict[tuple[str, FlavorResource, bool], list[Branch]] = {}
        """(group, key, for a min) -> heap of its children that may have a victim, each with how far it was over when
        last seen."""
        self._open: set[GroupKey] = set()
        """The leaves that are active, and over their runtime on the key for their grace period."""
        self.spares_for_turns = False
        """Whether some were passed over because only turns put them over their runtime."""
        self.spared_until: list[datetime] = []
        """When those who were passed over for a delay alone could go."""

    @property
    def spares(self) -> bool:
        """Whether some could go later that are passed over now."""
        return self.spares_for_turns or bool(self.spared_until)

    def excess(self, group: str, key: FlavorResource, *, for_min: bool = False) -> Amount:
        """Return by how much the group is over what it may keep.

        That is its runtime, and what turns of others take from it unless a min needs that back.
        """
        found = self.usage.planned.charges[key].over_runtime(group)
        if not self._has_turns:
            return found
        spared = self.usage.planned.charges[key].numbers[group].spared
        if self._delayed or for_min:
            return found + spared
        self.spares_for_turns = self.spares_for_turns or found <= 0 < found + spared
        return found

    def in_branches(self, group: str, spared: str, key: FlavorResource, *, for_min: bool = False) -> Victim | None:
        """Return a victim below `group`, outside the branch `spared`, in a leaf over runtime on `key` at every level.

        First of the branch furthest over its runtime in proportion to weight; weight 0 before all, then by name.
        """
        branches = self._branches.get((group, key, for_min))
        if branches is None:
            children = (each for each in self.usage.snapshot.world.tree.children(group) if each not in (spared, SYSTEM))
            found = (self._branch(child, key, for_min) for child in children)
            branches = self._branches[group, key, for_min] = [each for each in found if each is not None]
            heapify(branches)
        while branches:
            child = branches[0][-1]
            current = self._branch(child, key, for_min)
            if current is None:
                heappop(branches)
                continue
            heapreplace(branches, current)
            if branches[0] is not current:
                continue
            is_leaf = child in self.usage.snapshot.leaves
            victim = (
                self._in_leaf_over(child, key) if is_leaf else self.in_branches(child, spared, key, for_min=for_min)
            )
            if victim is not None:
                return victim
            heappop(branches)
        return None

    def _branch(self, child: str, key: FlavorResource, for_min: bool) -> Branch | None:
        excess = self.excess(child, key, for_min=for_min)
        if excess <= 0:
            return None
        weight = self.usage.planned.charges[key].numbers[child].weight
        return (weight > 0, -(excess << EXACT) // weight if weight else 0, child)

    def _in_leaf_over(self, leaf: str, key: FlavorResource) -> Victim | None:
        leaf_usage = self.usage.leaf(leaf)
        if (leaf, key) not in self._open:
            if leaf_usage.leaf.inactive is not None or not self._grace_is_over(leaf_usage, leaf, key):
                return None
            self._open.add((leaf, key))
        running = self.least_important(leaf_usage, key)
        if running is None:
            return None
        return Victim(running, leaf_usage, EvictionReason.RECLAIMED, EvictionRule.RECLAIM, leaf, key)

    def below_priority(self, leaf_usage: LeafUsage, priority: int, key: FlavorResource) -> Victim | None:
        """Return a victim of lower priority in the preemptor's own leaf."""
        if not leaf_usage.running.preemptible_below(priority):
            return None
        running = self.least_important(leaf_usage, key)
        if running is None or running.workload.priority >= priority:
            return None
        return Victim(running, leaf_usage, EvictionReason.PREEMPTED, EvictionRule.PREEMPTION, leaf_usage.name, key)

    def keys_over_ceiling(
        self, leaf_usage: LeafUsage, group: str, keys: Iterable[FlavorResource]
    ) -> frozenset[FlavorResource]:
        """Return the keys for which this leaf must shrink by now when `group`, on its path, is over its ceiling."""
        return frozenset(key for key in keys if self._grace_is_over(leaf_usage, group, key))

    def keys_lost(self, group: str, keys: Iterable[FlavorResource]) -> frozenset[FlavorResource]:
        """Return the keys of which `group` has lost capacity long enough ago."""
        grace, now = self.usage.snapshot.world.settings.loss_grace_period, self.usage.now
        return frozenset(
            key for key in keys if self._is_past(later(self._delays.over_since.get((group, key), now), grace))
        )

    def without_a_place(self, leaf_usage: LeafUsage) -> frozenset[WorkloadId]:
        """Return the workloads of this leaf that have had pods without a node for long enough."""
        grace, now = self.usage.snapshot.world.settings.loss_grace_period, self.usage.now
        return frozenset(
            each.id for each in leaf_usage.leaf.without_place if self._is_past(later(_lost(each, now), grace))
        )

    def may_go(self, leaf_usage: LeafUsage, running: RunningWorkload, key: FlavorResource) -> bool:
        """Return whether grace and exemptAfterStart let it be evicted; never what this cycle has started."""
        if running in leaf_usage.running.started_now:
            return False
        grace = self._grace_is_over(leaf_usage, leaf_usage.name, key)
        return self.has_run_long_enough(leaf_usage, running) and grace

    def least_important(self, leaf_usage: LeafUsage, key: FlavorResource) -> RunningWorkload | None:
        """Return the least important evictable workload of the leaf that uses `key`.

        While root is short of it, what frees none is passed over: it runs on nodes that take no more pods.
        """
        order = leaf_usage.running.order(self.usage.now)
        if self.usage.snapshot.world.on_closed_nodes and self.usage.planned.excess(ROOT, key) > 0:
            order = leaf_usage.running.freeing(self.usage.now)
        first = order.first(key)
        if first is None or not order.is_exempt(first) or self._is_past(order.exempt_ends(key)):
            return first
        return order.first_ready(key)

    def has_run_long_enough(self, leaf_usage: LeafUsage, running: RunningWorkload) -> bool:
        """Return whether the exemption after start since its start is over, or delays do not matter here."""
        return self._is_past(leaf_usage.running.order(self.usage.now).exempt_until(running))

    def _grace_is_over(self, leaf_usage: LeafUsage, group: str, key: FlavorResource) -> bool:
        return self._is_past(graced_until(leaf_usage, (group, key), self._delays.over_since, self.usage.now))

    def _is_past(self, until: datetime) -> bool:
        if until <= self.usage.now or self._delays.ignored:
            return True
        self.spared_until.append(until)
        return self._delayed


def graced_until(leaf_usage: LeafUsage, over: GroupKey, over_since: OverSince, now: datetime) -> datetime:
    """Return when the group has been over on the key for the leaf's grace period without a break.

    The period begins when the group is first seen over: now, for one that was not seen so yet.
    """
    return later(over_since.get(over, now), leaf_usage.leaf.reclaim.grace_period)


def _lost(workload: Workload, now: datetime) -> datetime:
    """Return since when pods of this workload have no place: since its start, or since it was not ready any more."""
    admission = workload.admission
    if admission is None or (admission.was_ready and admission.unready_since is None):
        return now
    return admission.unready_since or admission.since
