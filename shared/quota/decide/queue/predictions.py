"""Which leaf below a group would borrow first, and with what rank, without evaluating a queue.

Known for a group directly above leaves that this round has not changed, none of whose workloads is entitled: there,
the first workload that fits is the head. Everything that does not depend on the room is kept in the cycle cache.
"""

from collections.abc import Mapping
from operator import itemgetter

from shared.quota.decide.queue.fair_sharing import UNKNOWN, PredictedRank, Shares
from shared.quota.decide.state.cycle_cache import LeavesInOrder, Rank
from shared.quota.decide.state.first_fits import FirstFit, FirstFits, Rooms, first_within, least_needs
from shared.quota.decide.state.pods_ready import AdmissionBlock
from shared.quota.decide.state.round_input import RoundInput
from shared.quota.decide.state.round_usage import RoundUsage
from shared.quota.decide.state.usage import NOTHING_AVAILABLE, GroupKey, Path, UsageViews, UsedSums
from shared.quota.measure.group_usage import NO_NUMBERS
from shared.resources import Amount, FlavorResource


class Predictions:
    """Predictions for one borrowing pass, by what is available when it begins."""

    __slots__ = ("_cache", "_changed", "_known", "_shares", "_snapshot", "_used", "views")

    def __init__(self, inputs: RoundInput, usage: RoundUsage, block: AdmissionBlock, views: UsageViews) -> None:
        cache = inputs.cache
        self._cache = cache
        self._snapshot = inputs.snapshot
        self.views = views
        """Usage as it was when the pass began."""
        self._shares = Shares(inputs.snapshot, cache.weights)
        self._used = UsedSums(inputs.snapshot.numbers)
        self._known: dict[GroupKey, Amount] = {}
        """What is available to a parent."""
        changed = (*usage.touched, *block.leaves, *cache.maybe_entitled, *cache.evicting)
        self._changed = {inputs.snapshot.leaves[name].path[1] for name in changed}

    def knows(self, group: str) -> bool:
        """Whether `of` and `ranks_below` know this group."""
        return group not in self._changed and self._order(group) is not None

    def of(self, parent: str, group: str) -> PredictedRank:
        """The rank of the best head of `group` among the children of `parent`."""
        order = None if group in self._changed else self._order(group)
        if order is None:
            return UNKNOWN
        best: tuple[Rank, FirstFit] | None = None
        rooms = self._rooms(group, order)
        for at_best, leaf, steps in order.leaves if rooms else ():
            if best is not None and at_best >= best[0]:
                break
            step = first_within(steps, rooms)
            if step is not None:
                rank = self._rank(group, leaf, step)
                if best is None or rank < best[0]:
                    best = rank, step
        return PredictedRank(is_known=True, rank=None if best is None else self._rank(parent, group, best[1]))

    def ranks_below(self, group: str) -> Mapping[str, Rank]:
        """The ranks of the heads of all leaves that have one, below a group that is known."""
        order = self._order(group)
        if order is None:
            return {}
        rooms = self._rooms(group, order)
        found = ((leaf, first_within(steps, rooms)) for _, leaf, steps in order.leaves)
        return {leaf: self._rank(group, leaf, step) for leaf, step in found if step is not None}

    def _rooms(self, group: str, order: LeavesInOrder) -> Rooms:
        """What is available below `group`, by what a step takes; only where the least that one needs is there."""
        found: Rooms = {}
        for keys, least in order.least.items():
            room = []
            for key, amount in zip(keys, least, strict=True):
                available = self._available(group, key)
                if amount > available:
                    break
                room.append(available)
            else:
                found[keys] = tuple(room)
        return found

    def _available(self, group: str, key: FlavorResource) -> Amount:
        """What is available to an unchanged group: below root, it is charged the same in all views."""
        path = self._cache.tree.paths[group]
        if len(path) == 1:
            return self.views.available(path, key)
        above = self._above(path[1:], key)
        numbers = self._snapshot.numbers[group].get(key, NO_NUMBERS)
        margin = numbers.ceiling - numbers.charge
        if margin < 0 or above < 0:
            return NOTHING_AVAILABLE
        return min(margin, above + max(0, min(numbers.guarantee, numbers.runtime) - numbers.charge))

    def _above(self, path: Path, key: FlavorResource) -> Amount:
        found = self._known.get((path[0], key))
        if found is None:
            found = self._known[path[0], key] = self.views.available(path, key)
        return found

    def _order(self, group: str) -> LeavesInOrder | None:
        """The leaves below, by the best rank that any of their workloads could have; None if one is not predictable."""
        cache = self._cache
        known = cache.orders.get(group)
        if group not in cache.orders or (known is not None and known.until and known.until <= self._snapshot.now):
            known = cache.orders[group] = self._put_in_order(group)
        return known

    def _put_in_order(self, group: str) -> LeavesInOrder | None:
        found, changes = [], []
        for leaf in self._cache.tree.children.get(group, ()):
            steps = self._cache.first_fits(leaf, self._snapshot) if leaf in self._cache.leaves else None
            if steps is None:
                return None
            if steps.until is not None:
                changes.append(steps.until)
            if steps.steps:
                found.append((self._best_rank(group, leaf, steps), leaf, steps))
        return LeavesInOrder(
            sorted(found, key=itemgetter(0)), least_needs(steps for _, _, steps in found), min(changes, default=None)
        )

    def _best_rank(self, group: str, leaf: str, fits: FirstFits) -> Rank:
        found = self._cache.best_ranks.get(leaf)
        if found is None:
            found = min(self._rank(group, leaf, step) for steps in fits.steps.values() for step in steps)
            self._cache.best_ranks[leaf] = found
        return found

    def _rank(self, parent: str, child: str, step: FirstFit) -> Rank:
        by_keys = self._cache.shares.setdefault(child, {})
        share = by_keys.get(step.keys)
        if share is None:
            share = by_keys[step.keys] = self._shares.of(parent, child, step.keys, self._used)
        return (step.beyond_min, *share, step.queued, child)
