"""Which leaf starts next: a tournament between leaves, from the top of the tree. docs/specification.md §6.9 and §6.10.

Each node sends up the best head of its subtree; a node's children are compared by the class of those heads (leaf stays
within effectiveMin first), then by share, past use, age and name.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from heapq import heapify, heappop, heappush, heapreplace
from itertools import pairwise
from typing import Final, NamedTuple, Protocol

from shared.quota.decide.state.cycle_cache import WeightByKey
from shared.quota.decide.state.leaf_usage import LeafUsage
from shared.quota.decide.state.leaves_in_order import Rank
from shared.quota.decide.state.round_usage import RoundUsage
from shared.quota.decide.state.usage import GroupPath, Quantities
from shared.quota.decide.state.usage_views import UsedSums
from shared.quota.measure.group_usage import NO_NUMBERS
from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.tree import ROOT, SYSTEM
from shared.quota.model.workload import Workload
from shared.resources import Amount, FlavorResource

SHARP: Final = 320
"""Two different shares differ by more than 2^-SHARP, because amounts have 63 bits: whole numbers order them exactly."""


@dataclass(frozen=True, slots=True)
class QueueHead:
    """The workload that a leaf would start next, and the quantities it would most likely take."""

    workload: Workload
    quantities: Quantities
    leaf_usage: LeafUsage


class ExpectedHead(NamedTuple):
    """What the rank of a leaf's head depends on, and the head itself once it is evaluated."""

    path: GroupPath
    keys: tuple[FlavorResource, ...]
    beyond_min: bool
    """Whether it takes its leaf's used beyond effectiveMin."""
    queued: datetime
    evaluated: QueueHead | None = None


def expected_of(head: QueueHead) -> ExpectedHead:
    """Return the same of a head that is evaluated."""
    beyond_min = not head.leaf_usage.stays_within_min(head.quantities)
    keys = tuple([key for key, _ in head.quantities])
    return ExpectedHead(head.leaf_usage.path, keys, beyond_min, head.workload.queued, head)


class PredictedRank(NamedTuple):
    """The rank of the best head of a group, if it is known; None: nothing there fits."""

    is_known: bool
    rank: Rank | None = None


UNKNOWN: Final = PredictedRank(is_known=False)
NOTHING_FITS: Final = PredictedRank(is_known=True)


class Contest(Protocol):
    """The leaves that take part in a tournament."""

    def children(self, parent: str) -> Iterable[str]:
        """Return the groups below `parent` in which a workload might start."""

    def bound(self, parent: str, child: str) -> Rank:
        """Return a rank that is not above the one of the child's best head."""

    def predicted(self, parent: str, child: str) -> PredictedRank:
        """Return the rank of the child's best head, if it is known without evaluating any."""

    def is_skipped(self, parent: str, child: str) -> bool:
        """Return whether the child takes no part any more, or never had a head."""

    def is_out(self, group: str) -> bool:
        """Return whether nothing in that subtree can start any more."""

    def expected(self, leaf: str) -> ExpectedHead | None:
        """Return the leaf's first head, if it is known without evaluating the queue."""

    def head(self, leaf: str) -> QueueHead | None:
        """Return the leaf's first head; requested once for each leaf."""


class Tournament:
    """A tournament in which a head is evaluated only when its group might have the best one.

    Each parent has a heap of its children, by the rank of the child's best head; until that head is known by a bound
    for its rank, then by its predicted rank. `best` is the head to try next, `enter` replaces it once tried.
    """

    __slots__ = ("_contest", "_heaps", "_leaves", "_shares", "_used")

    def __init__(self, usage: RoundUsage, weights: WeightByKey, contest: Contest) -> None:
        self._contest = contest
        self._leaves = usage.snapshot.leaves
        self._used = usage.used
        self._shares = Shares(usage.snapshot, weights)
        self._heaps: dict[str, list[tuple[Rank, str, ExpectedHead | PredictedRank | None]]] = {}

    @property
    def best(self) -> QueueHead | None:
        """The head that comes first in the whole tree; None when no leaf has one."""
        if self._contest.is_out(ROOT):
            return None
        while (expected := self._best_below(ROOT)) is not None:
            if self._contest.is_out(expected.path[0]):
                self._drop(expected.path)
                continue
            head = expected.evaluated or self._contest.head(expected.path[0])
            if head is not None:
                return head
            self._replace(expected.path, None)
        return None

    def _drop(self, path: GroupPath) -> None:
        """Let a leaf in which nothing fits leave the tournament, and all others with it where nothing fits either."""
        if self._contest.is_out(path[-2]):
            heappop(self._heaps[ROOT])
        else:
            self._replace(path, None)

    def _best_below(self, parent: str) -> ExpectedHead | None:
        heap = self._heaps.get(parent)
        if heap is None:
            children = self._contest.children(parent)
            heap = self._heaps[parent] = [(self._contest.bound(parent, child), child, None) for child in children]
            heapify(heap)
        while heap:
            _, child, found = heap[0]
            if isinstance(found, ExpectedHead):
                return found
            heappop(heap)
            prediction = self._contest.predicted(parent, child) if found is None else UNKNOWN
            if not prediction.is_known:
                if not self._contest.is_skipped(parent, child):
                    self._push(parent, child)
            elif prediction.rank is not None:
                heappush(heap, (prediction.rank, child, prediction))
        return None

    def _push(self, parent: str, child: str) -> None:
        found = self._expected(child) if child in self._leaves else self._best_below(child)
        if found is not None:
            heappush(self._heaps[parent], (self._rank(parent, child, found), child, found))

    def _expected(self, leaf: str) -> ExpectedHead | None:
        expected = self._contest.expected(leaf)
        if expected is not None:
            return expected
        head = self._contest.head(leaf)
        return None if head is None else expected_of(head)

    def enter(self, leaf_usage: LeafUsage, head: QueueHead | None) -> None:
        """Replace the best head by the next one of its leaf, or by none. Only the groups on its path are ranked."""
        self._replace(leaf_usage.path, None if head is None else expected_of(head))

    def _replace(self, path: GroupPath, expected: ExpectedHead | None) -> None:
        for child, parent in pairwise(path):
            heap = self._heaps[parent]
            found = expected if child == path[0] else self._best_below(child)
            if found is None:
                heappop(heap)
            else:
                heapreplace(heap, (self._rank(parent, child, found), child, found))

    def _rank(self, parent: str, child: str, head: ExpectedHead) -> Rank:
        return (head.beyond_min, *self._shares.of(parent, child, head.keys, self._used), head.queued, child)


class Shares:
    """How much groups have borrowed, and have used in the past, for their weight."""

    __slots__ = ("_snapshot", "_weights")

    def __init__(self, snapshot: Snapshot, weights: WeightByKey) -> None:
        """`weights`: those of each parent's children together, as far as they are known."""
        self._snapshot = snapshot
        self._weights = weights

    def of(self, parent: str, child: str, keys: Iterable[FlavorResource], used: UsedSums) -> tuple[bool, int, int]:
        """Return whether the child has weight 0 on some key, and its largest share and past use on the others."""
        weightless, share, past = False, 0, 0
        numbers = self._snapshot.numbers[child]
        past_use = self._snapshot.world.past_use.get(child)
        for key in keys:
            own = numbers.get(key, NO_NUMBERS)
            if own.weight == 0:
                weightless = True
                continue
            borrowed = used.used(child, key) - own.min
            share = max(share, self._in_proportion(parent, key, borrowed, own.weight))
            if past_use:
                past = max(past, self._in_proportion(parent, key, past_use.get(key, 0), own.weight))
        return weightless, share, past

    def _in_proportion(self, parent: str, key: FlavorResource, amount: Amount, weight: Amount) -> int:
        """(amount / root's capacity) / (weight / all siblings' weights), before the start, in units of 2^-SHARP."""
        capacity = self._snapshot.capacity.get(key, 0)
        if amount <= 0 or capacity <= 0:
            return 0
        return (amount * self._all_weights(parent, key) << SHARP) // (capacity * weight)

    def _weight(self, group: str, key: FlavorResource) -> Amount:
        return self._snapshot.numbers[group].get(key, NO_NUMBERS).weight

    def _all_weights(self, parent: str, key: FlavorResource) -> Amount:
        found = self._weights.get((parent, key))
        if found is None:
            children = (each for each in self._snapshot.world.tree.children(parent) if each != SYSTEM)
            found = sum(self._weight(each, key) for each in children if each in self._snapshot.numbers)
            self._weights[parent, key] = found
        return found
