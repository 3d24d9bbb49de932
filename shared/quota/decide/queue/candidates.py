"""The leaves that a pass must evaluate, and those that it can skip because nothing there could start.

Entitlement depends on the leaf alone. Borrowing also depends on what is available below its parent: a leaf in which no
workload could borrow is evaluated again only if more is available there than when the previous pass ended.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from itertools import pairwise

from shared.quota.decide.queue.fair_sharing import (
    NOTHING_FITS,
    UNKNOWN,
    Contest,
    ExpectedHead,
    PredictedRank,
    QueueHead,
    Shares,
)
from shared.quota.decide.queue.leaf_queue import LeafQueue
from shared.quota.decide.queue.predictions import Predictions
from shared.quota.decide.queue.room_for_borrowers import RoomForBorrowers
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.decide.state.eviction_plan import Preemptor
from shared.quota.decide.state.first_fits import FirstFit
from shared.quota.decide.state.leaves_in_order import Rank
from shared.quota.decide.state.round_input import RoundInput
from shared.quota.decide.state.round_usage import RoundUsage
from shared.quota.decide.state.usage_views import UsedSums
from shared.quota.model.tree import ROOT
from shared.quota.model.workload import WorkloadId
from shared.resources import Amount, FlavorResource

_FIRST: Rank = (False, False, 0, 0, datetime.min.replace(tzinfo=UTC), "")
_LAST: Rank = (True, True, 0, 0, datetime.max.replace(tzinfo=UTC), "")


def leaves_with_entitled(cache: CycleCache, usage: RoundUsage) -> Iterable[str]:
    """Leaves in which some pending workload might be entitled."""
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

    def is_skipped(self, parent: str, child: str) -> bool:
        return False

    def is_out(self, group: str) -> bool:
        return False

    def expected(self, leaf: str) -> ExpectedHead | None:
        return None

    def head(self, leaf: str) -> QueueHead | None:
        return self._heads.get(leaf)


class BorrowingLeaves(Contest):
    """Leaves in which workloads may borrow, evaluated only when it is their turn.

    A head is chosen by what was available when the pass began, as if all had been evaluated then: so the order of
    starts does not depend on who was evaluated when. A child of root in which nothing fits any more is out; further
    down a head that no longer fits still ranks the groups above it until it is tried.

    `deferred`: workloads that are tried whether or not they fit. While one is left, no group is out, because what is
    kept for it may become available.
    """

    def __init__(
        self,
        predictions: Predictions,
        inputs: RoundInput,
        usage: RoundUsage,
        queue_of: Callable[[str], LeafQueue],
        deferred: Mapping[WorkloadId, Preemptor],
    ) -> None:
        self.queues: dict[str, LeafQueue] = {}
        self._inputs = inputs
        self._leaves = inputs.cache.leaves
        self._usage = usage
        self._queue_of = queue_of
        self._tree = inputs.cache.tree
        self._shares = Shares(inputs.snapshot, inputs.cache.weights)
        self._at_start = UsedSums(inputs.snapshot.numbers)
        self._predictions = predictions
        self._room = RoomForBorrowers(predictions, inputs, usage, deferred)
        self._certain = {name for each in deferred.values() for name in each.leaf_usage.path}
        """Groups that have a head whether or not anything fits."""
        self._heads: dict[str, tuple[Rank, FirstFit]] = {}
        """Predicted, by leaf."""

    def children(self, parent: str) -> Iterable[str]:
        predictions, children = self._predictions, self._tree.children.get(parent, ())
        heads = predictions.heads_below(parent)
        self._heads.update(heads)
        others = (child for child in children if child not in heads and not self._is_known_leaf(child))
        return [*heads, *(child for child in others if self._may_have_head(child))]

    def _may_have_head(self, group: str) -> bool:
        if group in self._certain or (group not in self._leaves and self._predictions.knows(group)):
            return True
        return self._room.could_have_fitted(group)

    def _is_known_leaf(self, name: str) -> bool:
        return name in self._leaves and self._predictions.knows_leaf(name)

    def predicted(self, parent: str, child: str) -> PredictedRank:
        if child in self._leaves or not self._predictions.knows(child):
            return UNKNOWN
        return NOTHING_FITS if self.is_skipped(parent, child) else self._predictions.of(parent, child)

    def is_skipped(self, parent: str, child: str) -> bool:
        if child in self._leaves:
            return child not in self._heads and self._first_place(child) is None
        return parent == ROOT and not self._room.is_as_it_was and self.is_out(child)

    def bound(self, parent: str, child: str) -> Rank:
        """The predicted rank of a leaf; else the best of the sets of keys on which something could have fitted."""
        if child in self._heads:
            return self._heads[child][0]
        if child in self._certain:
            return _FIRST
        if child not in self._leaves and self._predictions.knows(child):
            return self._predictions.bound(parent, child) or _LAST
        found = self._inputs.cache.rank_bounds.get(child)
        if found is None:
            found = self._inputs.cache.rank_bounds[child] = {
                keys: (each.beyond_min, *self._shares.of(parent, child, keys, self._at_start), each.oldest, child)
                for keys, each in self._tree.requests.get(child, {}).items()
            }
        if len(found) == 1 or self._tree.has_guarantee_below(parent):
            return min(found.values(), default=_LAST)
        path, requests = self._tree.paths[parent], self._tree.requests[child]
        fitting = (rank for keys, rank in found.items() if self._room.had_room(path, keys, requests[keys].amounts))
        best = min(fitting, default=_LAST)
        if best[0] or child not in self._leaves or self._room.fits_within_min(child):
            return best
        return (True, *best[1:])

    def is_out(self, group: str) -> bool:
        return self._room.is_out(group)

    def expected(self, leaf: str) -> ExpectedHead | None:
        if leaf not in self._heads:
            return None
        _, step = self._heads[leaf]
        return ExpectedHead(self._leaves[leaf].leaf.path, step.keys, step.beyond_min, step.queued)

    def _first_place(self, leaf: str) -> int | None:
        return 0 if leaf in self._certain else self._room.first_place(leaf)

    def head(self, leaf: str) -> QueueHead | None:
        queue = self.queues[leaf] = self._queue_of(leaf)
        if leaf in self._heads:
            _, step = self._heads[leaf]
            return queue.head_at(step.queue_place, step.quantities)
        place = self._first_place(leaf)
        queue.skip_to(len(queue.leaf_usage.leaf.pending) if place is None else place)
        with self._usage.looking_at(self._predictions.views):
            return queue.next_head()


def remember_borrowing(cache: CycleCache, usage: RoundUsage, queues: Iterable[LeafQueue]) -> None:
    """Keep what was available when nothing in these leaves could borrow: at the end of a pass it is the least."""
    below: dict[str, dict[FlavorResource, Amount]] = {}
    for queue in queues:
        leaf_usage = queue.leaf_usage
        if queue.had_heads or leaf_usage.touched:
            continue
        parent = leaf_usage.path[1:]
        if parent[0] not in below:
            room = usage.room(parent)
            below[parent[0]] = {key: room(key) for key in usage.snapshot.numbers[ROOT]}
        cache.leaves[leaf_usage.name].too_little = below[parent[0]]
