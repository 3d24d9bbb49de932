"""The leaves that a pass must evaluate, and those that it can skip because nothing there could start.

Entitlement depends on the leaf alone. Borrowing also depends on what is available below its parent: a leaf in which no
workload could borrow is evaluated again only if more is available there than when the previous pass ended.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from itertools import pairwise

from shared.quota.decide.queue.fair_sharing import UNKNOWN, Contest, PredictedRank, QueueHead, Shares
from shared.quota.decide.queue.leaf_queue import LeafQueue
from shared.quota.decide.queue.predictions import Predictions
from shared.quota.decide.state.cycle_cache import CycleCache, Keys, LeafCache, Rank
from shared.quota.decide.state.round_input import RoundInput
from shared.quota.decide.state.round_usage import RoundUsage
from shared.quota.decide.state.smallest_requests import could_fit, is_within
from shared.quota.decide.state.usage import Path, UsedSums
from shared.quota.measure.group_usage import NO_NUMBERS
from shared.quota.model.tree import ROOT
from shared.resources import Amount, FlavorResource

_FIRST: Rank = (False, False, 0, 0, datetime.min.replace(tzinfo=UTC), "")
_LAST: Rank = (True, True, 0, 0, datetime.max.replace(tzinfo=UTC), "")


def leaves_with_entitled(cache: CycleCache, usage: RoundUsage) -> Iterable[str]:
    """Leaves in which some pending workload may be entitled."""
    return sorted(cache.maybe_entitled | (usage.touched.keys() & cache.waiting))


class EvaluatedLeaves(Contest):
    """Leaves whose heads are all evaluated before the first one is tried."""

    def __init__(self, queues: Iterable[LeafQueue]) -> None:
        self.queues = {queue.leaf_usage.name: queue for queue in queues}
        self._heads: dict[str, QueueHead] = {}
        self._children: dict[str, set[str]] = {}
        for name, queue in self.queues.items():
            head = queue.next_head()
            if head is not None:
                self._heads[name] = head
                for child, parent in pairwise(queue.leaf_usage.path):
                    self._children.setdefault(parent, set()).add(child)

    def children(self, parent: str) -> Iterable[str]:
        return self._children.get(parent, ())

    def bound(self, parent: str, child: str) -> Rank:
        return _FIRST

    def predicted(self, parent: str, child: str) -> PredictedRank:
        return UNKNOWN

    def is_out(self, group: str) -> bool:
        return False

    def head(self, leaf: str) -> QueueHead | None:
        return self._heads.get(leaf)


class BorrowingLeaves(Contest):
    """Leaves in which workloads may borrow, evaluated only when it is their turn.

    A head is chosen by what was available when the pass began, as if all had been evaluated then: so the order of
    starts does not depend on who was evaluated when. A group in which nothing fits any more is out.
    """

    def __init__(
        self, predictions: Predictions, inputs: RoundInput, usage: RoundUsage, queue_of: Callable[[str], LeafQueue]
    ) -> None:
        inputs.cache.update_requests(inputs.snapshot, usage.touched.keys())
        self.queues: dict[str, LeafQueue] = {}
        self._inputs = inputs
        self._usage = usage
        self._queue_of = queue_of
        self._tree = inputs.cache.tree
        self._shares = Shares(inputs.snapshot, inputs.cache.weights)
        self._at_start = UsedSums(inputs.snapshot.numbers)
        self._rooms: dict[str, tuple[int, dict[FlavorResource, Amount]]] = {}
        self._starts_before = len(usage.starts)
        self._places: dict[str, int] = {}
        """By leaf: the place in its queue before which nothing fitted when the pass began."""
        self._keys = tuple(inputs.snapshot.numbers[ROOT])
        self._at_first = predictions.views
        self._predictions = predictions
        self._ranks: dict[str, Rank] = {}
        """Predicted, by leaf."""

    def children(self, parent: str) -> Iterable[str]:
        if self._predictions.knows(parent):
            ranks = self._predictions.ranks_below(parent)
            self._ranks.update(ranks)
            return ranks.keys()
        known = self._predictions.knows
        return (child for child in self._tree.children.get(parent, ()) if known(child) or not self.is_out(child))

    def predicted(self, parent: str, child: str) -> PredictedRank:
        prediction = UNKNOWN if child in self._inputs.cache.leaves else self._predictions.of(parent, child)
        has_started = len(self._usage.starts) > self._starts_before
        return (
            PredictedRank(is_known=True) if prediction.is_known and has_started and self.is_out(child) else prediction
        )

    def bound(self, parent: str, child: str) -> Rank:
        """The predicted rank of a leaf; else the best of the sets of keys on which something could have fitted."""
        if child in self._ranks:
            return self._ranks[child]
        found = self._inputs.cache.rank_bounds.get(child)
        if found is None:
            found = self._inputs.cache.rank_bounds[child] = {
                keys: (each.beyond_min, *self._shares.of(parent, child, keys, self._at_start), each.oldest, child)
                for keys, each in self._tree.requests.get(child, {}).items()
            }
        if len(found) == 1 or self._tree.has_guarantee_below(parent) or self._predictions.knows(child):
            return min(found.values(), default=_LAST)
        path, requests = self._tree.paths[parent], self._tree.requests[child]
        fitting = (rank for keys, rank in found.items() if self._could_fit(path, keys, requests[keys].amounts))
        return min(fitting, default=_LAST)

    def _could_fit(self, path: Path, keys: Keys, amounts: tuple[Amount, ...]) -> bool:
        available = self._at_first.available
        return all(amount <= available(path, key) for key, amount in zip(keys, amounts, strict=True))

    def is_out(self, group: str) -> bool:
        cached, requests = self._inputs.cache.leaves.get(group), self._tree.requests.get(group)
        if not requests:
            return True
        if cached is None:
            return not self._tree.has_guarantee_below(group) and not could_fit(requests, self._below(group))
        room, is_touched = self._room(cached.leaf.path[1]), self._usage.is_touched(group)
        if cached.too_little is not None and not is_touched and is_within(room, cached.too_little):
            return True
        room = self._with_guarantee(cached, room)
        if not could_fit(requests, room.__getitem__):
            return True
        place = self._inputs.queue(group).first_within(room)
        if place is not None and len(self._usage.starts) == self._starts_before:
            self._places[group] = place
        return place is None

    def _with_guarantee(
        self, cached: LeafCache, room: Mapping[FlavorResource, Amount]
    ) -> Mapping[FlavorResource, Amount]:
        """Not less than what is available to the leaf: what its own guarantee keeps for it is added."""
        if not self._tree.has_guarantee(cached.leaf.group.name):
            return room
        return {key: amount + cached.numbers.get(key, NO_NUMBERS).guarantee for key, amount in room.items()}

    def _below(self, parent: str) -> Callable[[FlavorResource], Amount]:
        usage, path = self._usage, self._tree.paths[parent]
        return lambda key: usage.available(path, key)

    def _room(self, parent: str) -> Mapping[FlavorResource, Amount]:
        """What is available below `parent` now; nothing but a start changes it while leaves are evaluated lazily."""
        number = len(self._usage.starts)
        found = self._rooms.get(parent)
        if found is None or found[0] != number:
            below = self._below(parent)
            found = self._rooms[parent] = (number, {key: below(key) for key in self._keys})
        return found[1]

    def head(self, leaf: str) -> QueueHead | None:
        queue = self.queues[leaf] = self._queue_of(leaf)
        queue.skip_to(self._places.get(leaf, 0))
        with self._usage.looking_at(self._at_first):
            return queue.next_head()

    def leaves(self) -> list[str]:
        """All leaves that are not out, and those in which this cycle has changed something."""
        waiting = self._inputs.cache.waiting
        return [name for name in waiting if self._usage.is_touched(name) or not self.is_out(name)]


def remember_borrowing(cache: CycleCache, usage: RoundUsage, queues: Iterable[LeafQueue]) -> None:
    """Keep what was available when nothing in these leaves could borrow: at the end of a pass it is the least."""
    below: dict[str, dict[FlavorResource, Amount]] = {}
    for queue in queues:
        leaf_usage = queue.leaf_usage
        if queue.had_heads or leaf_usage.touched:
            continue
        parent = leaf_usage.path[1:]
        if parent[0] not in below:
            below[parent[0]] = {key: usage.available(parent, key) for key in usage.snapshot.numbers[ROOT]}
        cache.leaves[leaf_usage.name].too_little = below[parent[0]]
