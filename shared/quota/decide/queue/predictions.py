"""Which leaf below a group would borrow first, and with what rank, without evaluating a queue.

Known for leaves that this round has not changed and none of whose workloads is entitled: there, the first workload that
fits is the head. Everything that does not depend on the room is kept in the cycle cache.
"""

from collections.abc import Mapping, Set
from datetime import datetime
from operator import itemgetter

from shared.quota.decide.queue.fair_sharing import UNKNOWN, PredictedRank, Shares
from shared.quota.decide.state.first_fits import FirstFit, FirstFits, Rooms, first_within
from shared.quota.decide.state.leaves_in_order import (
    NO_MARGIN,
    LeavesInOrder,
    Margins,
    Rank,
    least_needs,
    lowest_needs,
    margins_of,
    oldest_queued,
)
from shared.quota.decide.state.pods_ready import AdmissionBlock
from shared.quota.decide.state.round_input import RoundInput
from shared.quota.decide.state.round_usage import RoundUsage
from shared.quota.decide.state.usage import NOTHING_AVAILABLE, Available, Keys
from shared.quota.decide.state.usage_views import UsageViews, UsedSums
from shared.resources import Amount, FlavorResource


class Predictions:
    """Predictions for one borrowing pass, by what is available when it begins."""

    __slots__ = (
        "_cache",
        "_changed",
        "_changed_parents",
        "_rooms_of",
        "_shares",
        "_snapshot",
        "_used",
        "views",
    )

    def __init__(self, inputs: RoundInput, usage: RoundUsage, block: AdmissionBlock, views: UsageViews) -> None:
        cache = inputs.cache
        self._cache = cache
        self._snapshot = inputs.snapshot
        self.views = views
        """Usage as it was when the pass began."""
        self._shares = Shares(inputs.snapshot, cache.weights)
        self._used = UsedSums(inputs.snapshot.numbers)
        self._rooms_of: dict[str, Rooms] = {}
        barred, started = inputs.taken_over.barred_leaves, _not_simple(inputs)
        self._changed = {*usage.touched, *block.leaves, *cache.maybe_entitled, *cache.evicting, *barred, *started}
        self._changed_parents = {inputs.snapshot.leaves[name].path[1] for name in self._changed}

    def knows(self, group: str) -> bool:
        """Whether all below this group is predictable: `of` and `bound` know it."""
        order = None if group in self._changed_parents else self._order(group)
        return order is not None and not order.others

    def knows_leaf(self, leaf: str) -> bool:
        """Whether this leaf's first head is predictable."""
        order = None if leaf in self._changed else self._order(self._snapshot.leaves[leaf].path[1])
        return order is not None and leaf not in order.others

    def prepare(self) -> None:
        """Find out all that does not depend on what is available, so that the next cycle need not."""
        for group in self._cache.tree.children:
            self._order(group)

    def of(self, parent: str, group: str) -> PredictedRank:
        """The rank of the best head of a group that is known among the children of `parent`."""
        order = self._order(group)
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

    def bound(self, parent: str, group: str) -> Rank | None:
        """A rank that no head of a group that is known comes before, whatever is available; None: nothing could fit.

        What is available is looked at only when it is the group's turn.
        """
        order = self._order(group)
        if order is None:
            return None
        known = self._cache.first_ranks
        if group not in known:
            ranks = (
                self._rank_of(parent, group, keys, keys not in order.within_min, oldest)
                for keys, oldest in order.oldest.items()
            )
            known[group] = min(ranks, default=None)
        return known[group]

    def could_fit(self, group: str, available: Available) -> bool | None:
        """See `LeavesInOrder.could_fit`; None also for a group that is not directly above leaves only."""
        order = self._order(group)
        return None if order is None else order.could_fit(available)

    def heads_below(self, group: str) -> Mapping[str, tuple[Rank, FirstFit]]:
        """The heads of all predictable leaves directly below `group` that have one, and their ranks."""
        order = self._order(group)
        if order is None:
            return {}
        rooms = self._rooms(group, order)
        found = ((leaf, first_within(steps, rooms)) for _, leaf, steps in order.leaves if leaf not in self._changed)
        return {leaf: (self._rank(group, leaf, step), step) for leaf, step in found if step is not None}

    def first_within(self, leaf: str, available: Available) -> int | None:
        """The place in its queue of the first workload of a leaf that is known for which that much is available."""
        steps = self._cache.first_fits(leaf, self._snapshot)
        if steps is None:
            return None
        step = first_within(steps, {keys: tuple([available(key) for key in keys]) for keys in steps.steps})
        return None if step is None else step.queue_place

    def _rooms(self, group: str, order: LeavesInOrder) -> Rooms:
        """What is available below `group`, by what a step takes; only where there is room for some step."""
        found = self._rooms_of.get(group)
        if found is None:
            found = self._rooms_of[group] = dict(order.rooms(self._available(group)))
        return found

    def _available(self, group: str) -> Available:
        """What is available below a group; one without changed leaves is charged the same in all views."""
        path = self._cache.tree.paths[group]
        if group in self._changed_parents or len(path) == 1:
            return self.views.room(path)
        margins, above = self._margins(group), self.views.room(path[1:])

        def available(key: FlavorResource) -> Amount:
            margin, kept = margins.get(key, NO_MARGIN)
            left = above(key)
            return min(margin, left + kept) if margin >= 0 and left >= 0 else NOTHING_AVAILABLE

        return available

    def _margins(self, group: str) -> Margins:
        found = self._cache.margins.get(group)
        if found is None:
            found = self._cache.margins[group] = margins_of(self._snapshot.numbers[group])
        return found

    def _order(self, group: str) -> LeavesInOrder | None:
        """The predictable leaves below, by the best rank that any of their workloads could have."""
        cache = self._cache
        known = cache.orders.get(group)
        if known is None or (known.until is not None and known.until <= self._snapshot.now):
            known = self._put_in_order(group)
            cache.first_ranks.pop(group, None)
            if known is not None:
                cache.orders[group] = known
        return known

    def _put_in_order(self, group: str) -> LeavesInOrder | None:
        """None: there are other groups below it than leaves."""
        found, changes, others = [], [], []
        for leaf in self._cache.tree.children.get(group, ()):
            if leaf not in self._cache.leaves:
                return None
            steps = self._cache.first_fits(leaf, self._snapshot)
            if steps is None:
                others.append(leaf)
                continue
            if steps.until is not None:
                changes.append(steps.until)
            if steps.steps:
                found.append((self._best_rank(group, leaf, steps), leaf, steps))
        every = [steps for _, _, steps in found]
        return LeavesInOrder(
            leaves=sorted(found, key=itemgetter(0)),
            least=least_needs(every),
            lowest=lowest_needs(every),
            within_min=frozenset().union(*(each.within_min for each in every)),
            oldest=oldest_queued(every),
            others=frozenset(others),
            until=min(changes, default=None),
        )

    def _best_rank(self, group: str, leaf: str, fits: FirstFits) -> Rank:
        found = self._cache.best_ranks.get(leaf)
        if found is None:
            found = min(self._rank(group, leaf, step) for steps in fits.steps.values() for step in steps)
            self._cache.best_ranks[leaf] = found
        return found

    def _rank(self, parent: str, child: str, step: FirstFit) -> Rank:
        return self._rank_of(parent, child, step.keys, step.beyond_min, step.queued)

    def _rank_of(self, parent: str, child: str, keys: Keys, beyond_min: bool, queued: datetime) -> Rank:
        by_keys = self._cache.shares.setdefault(child, {})
        share = by_keys.get(keys)
        if share is None:
            share = by_keys[keys] = self._shares.of(parent, child, keys, self._used)
        return (beyond_min, *share, queued, child)


def _not_simple(inputs: RoundInput) -> Set[str]:
    """Leaves with starts of earlier rounds, where it depends on these in which order workloads try assignments."""
    started = {each.workload.group for each in inputs.taken_over.starts}
    return {leaf for leaf in started & inputs.cache.waiting if not inputs.queue(leaf).are_simple}
