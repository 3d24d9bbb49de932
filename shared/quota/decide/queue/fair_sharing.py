"""Which leaf starts next: a tournament between leaves, from the top of the tree. docs/specification.md §6.9 and §6.10.

Each group sends up the best head of its subtree. Its children are compared by the head that each sends up: heads with
which their leaf stays within effectiveMin come first; then the child's share, its past use, the head's age, the child's
name.
"""

from collections.abc import Callable, Iterable, Mapping, Set
from datetime import UTC, datetime
from heapq import heapify, heappop, heappush, heapreplace
from itertools import pairwise
from typing import Final, NamedTuple

from shared.quota.decide.state.flavor_assignment import Candidate
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
_NOTHING: Final[Mapping[FlavorResource, Amount]] = {}
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
    chosen: Candidate | None = None
    """The assignment that stays the best for it as long as it fits; None: all are evaluated again at its turn."""


class Unopened(NamedTuple):
    """The leaves below one parent, none of which has been looked at."""

    path: GroupPath
    """The names from the parent up to root."""
    takes: Set[tuple[bool, Keys]]
    """(beyond effectiveMin, keys) of all that their heads can be."""
    look: Callable[[], Iterable[QueueHead]]
    """Returns the heads."""


class Tournament:
    """The heads of all leaves that have one. Each parent has a heap of its children, the one with the best head on top.

    A child that is not a leaf is first ranked by a bound: none of the heads below it comes before that. Only when such
    a child is on top are the heads below it looked for, and ranked.
    """

    __slots__ = ("_below", "_heads", "_heaps", "_shares", "_takes", "_unopened")

    def __init__(self, usage: RoundUsage, heads: Iterable[QueueHead | Unopened]) -> None:
        self._shares = Shares(usage)
        self._heads: dict[str, QueueHead] = {}
        """leaf -> its first head."""
        self._below: dict[str, set[str]] = {}
        """parent -> its children that have a head, or a leaf with a head below them."""
        self._takes: dict[str, set[tuple[bool, Keys]]] = {}
        """group that is not a leaf -> (beyond effectiveMin, keys) of all that the heads below it can be."""
        self._heaps: dict[str, list[tuple[Rank, str, QueueHead | None]]] = {}
        """parent -> (rank, child, the head that the child sends up; None: the rank is a bound)."""
        self._unopened: dict[str, Unopened] = {}
        """parent → its leaves, until they are looked at."""
        for each in heads:
            if isinstance(each, Unopened):
                self._unopened[each.path[0]] = each
                self._takes.setdefault(each.path[0], set()).update(each.takes)
                self._enter(each.path, each.takes)
            else:
                self._heads[each.path[0]] = each
                self._enter(each.path, ((each.beyond_min, each.keys),))

    def _enter(self, path: GroupPath, takes: Iterable[tuple[bool, Keys]]) -> None:
        """Let the group at the start of the path take part: what its heads take counts for all above it."""
        for child, parent in pairwise(path):
            self._below.setdefault(parent, set()).add(child)
            self._takes.setdefault(parent, set()).update(takes)

    @property
    def best(self) -> QueueHead | None:
        """The head that comes first in the whole tree; None when no leaf has one."""
        return self._best_below(ROOT)

    def _best_below(self, parent: str) -> QueueHead | None:
        heap = self._heaps.get(parent)
        if heap is None:
            self._look_below(parent)
            heap = self._heaps[parent] = [self._first_entry(parent, child) for child in self._below.get(parent, ())]
            heapify(heap)
        while heap and heap[0][2] is None:
            _, child, _ = heappop(heap)
            head = self._best_below(child)
            if head is not None:
                heappush(heap, (self._rank(parent, child, head), child, head))
        return heap[0][2] if heap else None

    def _look_below(self, parent: str) -> None:
        unopened = self._unopened.pop(parent, None)
        for head in unopened.look() if unopened is not None else ():
            self._heads[head.path[0]] = head
            self._below.setdefault(parent, set()).add(head.path[0])

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

    __slots__ = ("_numbers", "_snapshot", "_used", "_weights_below")

    def __init__(self, usage: RoundUsage) -> None:
        self._snapshot: Snapshot = usage.snapshot
        self._numbers = usage.snapshot.numbers
        self._used = usage.used
        self._weights_below = usage.snapshot.before_turns.tree_index.weights_below

    def of(self, parent: str, child: str, keys: Iterable[FlavorResource]) -> tuple[bool, int, int]:
        """Return whether the child has weight 0 on some key, and its largest share and past use on the others."""
        weightless, share, past = False, 0, 0
        numbers, added = self._numbers[child], self._used.added.get(child, _NOTHING)
        past_use = self._snapshot.world.past_use.get(child)
        for key in keys:
            own = numbers.get(key, NO_NUMBERS)
            if own.weight == 0:
                weightless = True
                continue
            borrowed = own.used + added.get(key, 0) - own.min
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
        return (amount * self._weights_below(parent, key) << SHARP) // (capacity * weight)
