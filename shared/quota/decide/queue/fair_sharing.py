"""Which leaf starts next: a tournament between leaves, from the top of the tree. docs/specification.md §6.9 and §6.10.

Each group sends up the best head of its subtree. Its children are compared by the head that each sends up: heads with
which their leaf stays within effectiveMin come first; then the child's share, its past use, the head's age, the child's
name.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from heapq import heapify, heappop, heappush, heapreplace
from itertools import pairwise
from typing import Final, NamedTuple

from shared.quota.decide.state.cycle_cache import SiblingWeights
from shared.quota.decide.state.round_usage import RoundUsage
from shared.quota.decide.state.usage import GroupPath, Keys
from shared.quota.measure.group_usage import NO_NUMBERS
from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.tree import ROOT
from shared.quota.model.workload import Workload
from shared.resources import Amount, FlavorResource

Rank = tuple[bool, bool, int, int, datetime, str]
"""(beyond effectiveMin, weight 0, share, past use, age of the head, name of the child); the lowest comes first."""
_FIRST: Final = datetime.min.replace(tzinfo=UTC)
SHARP: Final = 320
"""Two different shares differ by more than 2^-SHARP, because amounts have 63 bits: whole numbers order them exactly."""


class QueueHead(NamedTuple):
    """The workload that a leaf would start next, and the keys that it would most likely take."""

    workload: Workload
    keys: Keys
    path: GroupPath
    """The names from its leaf up to root."""
    beyond_min: bool
    """Whether it takes its leaf's used beyond effectiveMin."""


class Tournament:
    """The heads of all leaves that have one. Each parent has a heap of its children, the one with the best head on top.

    A child that is not a leaf is first ranked by a bound: none of the heads below it comes before that. Only when such
    a child is on top are the heads below it ranked.
    """

    __slots__ = ("_below", "_heads", "_heaps", "_shares", "_takes")

    def __init__(self, usage: RoundUsage, weights: SiblingWeights, heads: Iterable[QueueHead]) -> None:
        self._shares = Shares(usage, weights)
        self._heads: dict[str, QueueHead] = {}
        """leaf -> its first head."""
        self._below: dict[str, set[str]] = {}
        """parent -> its children that have a head, or a leaf with a head below them."""
        self._takes: dict[str, set[tuple[bool, Keys]]] = {}
        """child that is not a leaf -> (beyond effectiveMin, keys) of each head below it."""
        self._heaps: dict[str, list[tuple[Rank, str, QueueHead | None]]] = {}
        """parent -> (rank, child, the head that the child sends up; None: the rank is a bound)."""
        for head in heads:
            self._heads[head.path[0]] = head
            for child, parent in pairwise(head.path):
                self._below.setdefault(parent, set()).add(child)
                self._takes.setdefault(parent, set()).add((head.beyond_min, head.keys))

    @property
    def best(self) -> QueueHead | None:
        """The head that comes first in the whole tree; None when no leaf has one."""
        return self._best_below(ROOT)

    def _best_below(self, parent: str) -> QueueHead | None:
        heap = self._heaps.get(parent)
        if heap is None:
            heap = self._heaps[parent] = [self._first_entry(parent, child) for child in self._below.get(parent, ())]
            heapify(heap)
        while heap and heap[0][2] is None:
            _, child, _ = heappop(heap)
            head = self._best_below(child)
            if head is not None:
                heappush(heap, (self._rank(parent, child, head), child, head))
        return heap[0][2] if heap else None

    def _first_entry(self, parent: str, child: str) -> tuple[Rank, str, QueueHead | None]:
        head = self._heads.get(child)
        if head is not None:
            return self._rank(parent, child, head), child, head
        takes = self._takes[child]
        return (
            min((beyond, *self._shares.of(parent, child, keys), _FIRST, child) for beyond, keys in takes),
            child,
            None,
        )

    def replace_best(self, new: QueueHead | None) -> None:
        """Replace the best head by the next one of its leaf, or by none. Rank again only the groups on its path."""
        best = self.best
        path = () if best is None else best.path
        for child, parent in pairwise(path):
            heap = self._heaps[parent]
            head = new if child == path[0] else self._best_below(child)
            if head is None:
                heappop(heap)
            else:
                heapreplace(heap, (self._rank(parent, child, head), child, head))

    def drop_best_child_of_root(self) -> None:
        """Let the child of root with the best head leave the tournament. This changes the turn of no other child."""
        heappop(self._heaps[ROOT])

    def _rank(self, parent: str, child: str, head: QueueHead) -> Rank:
        return (head.beyond_min, *self._shares.of(parent, child, head.keys), head.workload.queued, child)


class Shares:
    """How much groups have borrowed, and have used in the past, in proportion to their weight."""

    __slots__ = ("_numbers", "_snapshot", "_used", "_weights")

    def __init__(self, usage: RoundUsage, weights: SiblingWeights) -> None:
        self._snapshot: Snapshot = usage.snapshot
        self._numbers = usage.snapshot.numbers
        self._used = usage.used
        self._weights = weights

    def of(self, parent: str, child: str, keys: Iterable[FlavorResource]) -> tuple[bool, int, int]:
        """Return whether the child has weight 0 on some key, and its largest share and past use on the others."""
        weightless, share, past = False, 0, 0
        numbers, added = self._numbers[child], self._used.added
        past_use = self._snapshot.world.past_use.get(child)
        for key in keys:
            own = numbers.get(key, NO_NUMBERS)
            if own.weight == 0:
                weightless = True
                continue
            borrowed = own.used + added.get((child, key), 0) - own.min
            if borrowed > 0:
                share = max(share, self._in_proportion(parent, key, borrowed, own.weight))
            if past_use:
                past = max(past, self._in_proportion(parent, key, past_use.get(key, 0), own.weight))
        return weightless, share, past

    def _in_proportion(self, parent: str, key: FlavorResource, amount: Amount, weight: Amount) -> int:
        """(amount / root's capacity) / (weight / all siblings' weights), before the start, in units of 2^-SHARP."""
        capacity = self._snapshot.capacity.get(key, 0)
        if capacity <= 0:
            return 0
        return (amount * self._weights.below(parent, key, self._numbers) << SHARP) // (capacity * weight)
