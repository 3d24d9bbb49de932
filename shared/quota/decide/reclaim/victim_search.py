"""Which workloads must be evicted to bring a group back within its runtime. docs/specification.md §7.3 and §7.4.

A search returns victims of one leaf: as many as would also be found one by one, for as long as that leaf comes first.
The caller evicts them and searches again. While a search lasts, workloads are evicted and none is restored: so a group
is less and less over, and a group without a victim stays without one.

    b is over by 7 and c by 4, with equal weights: 4 workloads of b that use 1 each go together, for then c comes first.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from heapq import heapify, heappop, heapreplace
from itertools import takewhile
from typing import NamedTuple

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


class Branch(NamedTuple):
    """A child that is over its runtime, as it was when last looked at; the lowest is searched first."""

    has_weight: bool
    rank: int
    """Minus its excess in proportion to its weight."""
    name: str
    excess: Amount
    weight: int


class VictimSearch:
    """Which victims are searched: only those evictable now, or also those whose eviction is only delayed."""

    __slots__ = ("_branches", "_delayed", "_delays", "_has_turns", "_open", "spared_until", "spares_for_turns", "usage")

    def __init__(self, usage: RoundUsage, delays: EvictionDelays, *, delayed: bool = False) -> None:
        self.usage = usage
        self._delays = delays
        self._delayed = delayed
        self._has_turns = bool(usage.snapshot.turns.holders)
        self._branches: dict[tuple[str, FlavorResource, bool], list[Branch]] = {}
        """(group, key, for a min) -> heap of its children that may have a victim."""
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

    def in_branches(
        self, group: str, spared: str, key: FlavorResource, amount: Amount = 1, *, for_min: bool = False
    ) -> Sequence[Victim]:
        """Return victims below `group`, outside the branch `spared`, in a leaf over runtime on `key` at every level.

        First of the branch furthest over its runtime in proportion to weight; weight 0 before all, then by name.
        `amount`: as many as use that much of the key, where so many come first. Nobody may go where none is returned.
        """
        branches = self._branches.get((group, key, for_min))
        if branches is None:
            children = (each for each in self.usage.snapshot.world.tree.children(group) if each not in (spared, SYSTEM))
            found = (self._branch(child, key, for_min) for child in children)
            branches = self._branches[group, key, for_min] = [each for each in found if each is not None]
            heapify(branches)
        while branches:
            child = branches[0].name
            current = self._branch(child, key, for_min)
            if current is None:
                heappop(branches)
                continue
            heapreplace(branches, current)
            if branches[0] is not current:
                continue
            wanted = min(amount, _lead(branches))
            if child in self.usage.snapshot.leaves:
                victims = self._in_leaf_over(child, key, wanted)
            else:
                victims = self.in_branches(child, spared, key, wanted, for_min=for_min)
            if victims:
                return victims
            heappop(branches)
        return ()

    def _branch(self, child: str, key: FlavorResource, for_min: bool) -> Branch | None:
        excess = self.excess(child, key, for_min=for_min)
        if excess <= 0:
            return None
        weight = self.usage.planned.charges[key].numbers[child].weight
        return Branch(weight > 0, -(excess << EXACT) // weight if weight else 0, child, excess, weight)

    def _in_leaf_over(self, leaf: str, key: FlavorResource, amount: Amount) -> Sequence[Victim]:
        leaf_usage = self.usage.leaf(leaf)
        if (leaf, key) not in self._open:
            if leaf_usage.leaf.inactive is not None or not self._grace_is_over(leaf_usage, leaf, key):
                return ()
            self._open.add((leaf, key))
        reason, rule = EvictionReason.RECLAIMED, EvictionRule.RECLAIM
        return [
            Victim(each, leaf_usage, reason, rule, leaf, key) for each in self.least_important(leaf_usage, key, amount)
        ]

    def below_priority(
        self, leaf_usage: LeafUsage, priority: int, key: FlavorResource, amount: Amount
    ) -> Sequence[Victim]:
        """Return victims of lower priority in the preemptor's own leaf: as many as use that amount of the key."""
        if not leaf_usage.running.preemptible_below(priority):
            return ()
        reason, rule = EvictionReason.PREEMPTED, EvictionRule.PREEMPTION
        found = self.less_important(leaf_usage, priority, key, amount)
        return [Victim(each, leaf_usage, reason, rule, leaf_usage.name, key) for each in found]

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

    def least_important(
        self, leaf_usage: LeafUsage, key: FlavorResource, amount: Amount = 1
    ) -> Sequence[RunningWorkload]:
        """Return the least important evictable workloads of the leaf that use `key`: as many as use that amount.

        While root is short of it, what frees none is passed over: it runs on nodes that take no more pods.
        """
        order = leaf_usage.running.order(self.usage.now)
        if self.usage.snapshot.world.on_closed_nodes and (short := self.usage.planned.excess(ROOT, key)) > 0:
            order, amount = leaf_usage.running.freeing(self.usage.now), min(amount, short)
        found = order.first(key, amount)
        if not found or not order.is_exempt(found[0]) or self._is_past(order.exempt_ends(key)):
            return found
        return order.first_ready(key, amount)

    def less_important(
        self, leaf_usage: LeafUsage, priority: int, key: FlavorResource, amount: Amount
    ) -> Sequence[RunningWorkload]:
        """Return those of them that have a lower priority than this."""
        found = self.least_important(leaf_usage, key, amount)
        return list(takewhile(lambda each: each.workload.priority < priority, found))

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


def _lead(branches: Sequence[Branch]) -> Amount:
    """Return how much the first branch can give before it is not over any more, or another comes first."""
    first, following = branches[0], min(branches[1:3], default=None)
    if following is None or not first.has_weight:
        return first.excess
    last_rank = following.rank if first.name < following.name else following.rank - 1
    return first.excess - (-(last_rank + 1) * first.weight >> EXACT)


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
