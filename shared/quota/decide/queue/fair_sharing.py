"""Which leaf starts next: a tournament between leaves, from the top of the tree. docs/specification.md §6.9 and §6.10.

Each node sends up the best head of its subtree; a node's children are compared by the class of those heads (leaf stays
within effectiveMin first), then by share, past use, age and name.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final

from shared.quota.decide.state.leaf_usage import LeafUsage
from shared.quota.decide.state.usage import Quantities, UsedSums
from shared.quota.measure.group_usage import NO_NUMBERS
from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.tree import ROOT, SYSTEM
from shared.quota.model.workload import Workload
from shared.resources import Amount, FlavorResource

Rank = tuple[bool, bool, int, int, datetime, str]
"""(beyond effectiveMin, weight 0, share, past use, age of the head, name); the lowest comes first."""

SHARP: Final = 320
"""Two different shares differ by more than 2^-SHARP, because amounts have 63 bits: whole numbers order them exactly."""
UNRANKED: Rank = (True, True, 0, 0, datetime.max.replace(tzinfo=UTC), "")


@dataclass(frozen=True, slots=True)
class QueueHead:
    """The workload that a leaf would start next, and the quantities it would most likely take."""

    workload: Workload
    quantities: Quantities
    leaf_usage: LeafUsage


class Tournament:
    """The heads of all leaves; `best` is the one to try next, `enter` replaces a leaf's head after it was tried."""

    __slots__ = ("_ranks", "_snapshot", "_used", "_weights", "_winners")

    def __init__(self, snapshot: Snapshot, used: UsedSums, heads: Iterable[QueueHead]) -> None:
        self._snapshot = snapshot
        self._used = used
        self._ranks: dict[str, dict[str, Rank]] = {}
        self._winners: dict[str, QueueHead] = {}
        self._weights: dict[tuple[str, FlavorResource], Amount] = {}
        parents: dict[str, int] = {}
        for head in heads:
            path = head.leaf_usage.path
            self._winners[path[0]] = head
            parents.update((group, len(path) - level) for level, group in enumerate(path) if level)
            for child, parent in pairwise(path):
                self._ranks.setdefault(parent, {})[child] = UNRANKED
        for parent in sorted(parents, key=lambda group: -parents[group]):
            ranks = self._ranks[parent]
            for child in ranks:
                ranks[child] = self._rank(parent, child, self._winners[child])
            self._winners[parent] = self._winners[min(ranks, key=ranks.__getitem__)]

    @property
    def best(self) -> QueueHead | None:
        """The head that comes first in the whole tree; None when no leaf has one."""
        return self._winners.get(ROOT)

    def enter(self, leaf_usage: LeafUsage, head: QueueHead | None) -> None:
        """Set the head of a leaf, or remove it if None. Only the groups on its path are ranked again."""
        path = leaf_usage.path
        self._set_winner(path[0], head)
        for child, parent in pairwise(path):
            ranks = self._ranks.setdefault(parent, {})
            winner = self._winners.get(child)
            if winner is None:
                ranks.pop(child, None)
            else:
                ranks[child] = self._rank(parent, child, winner)
            first = min(ranks, key=ranks.__getitem__, default=None)
            self._set_winner(parent, None if first is None else self._winners[first])

    def _set_winner(self, group: str, head: QueueHead | None) -> None:
        if head is None:
            self._winners.pop(group, None)
        else:
            self._winners[group] = head

    def _rank(self, parent: str, child: str, head: QueueHead) -> Rank:
        beyond_min = not head.leaf_usage.stays_within_min(head.quantities)
        weightless, share, past = False, 0, 0
        for key, _ in head.quantities:
            weight = self._numbers_weight(child, key)
            if weight == 0:
                weightless = True
            else:
                share = max(share, self._share(parent, child, key, weight))
                past = max(past, self._past(parent, child, key, weight))
        return (beyond_min, weightless, share, past, head.workload.queued, child)

    def _share(self, parent: str, child: str, key: FlavorResource, weight: Amount) -> int:
        """(borrowed / root's capacity) / (weight / all siblings' weights), before the start, in units of 2^-SHARP."""
        numbers = self._snapshot.numbers[child].get(key, NO_NUMBERS)
        return self._in_proportion(parent, key, self._used.used(child, key) - numbers.min, weight)

    def _past(self, parent: str, child: str, key: FlavorResource, weight: Amount) -> int:
        """The same of its past use: of equal shares, the child that has used less comes first."""
        past_use = self._snapshot.world.past_use.get(child)
        return self._in_proportion(parent, key, past_use.get(key, 0), weight) if past_use else 0

    def _in_proportion(self, parent: str, key: FlavorResource, amount: Amount, weight: Amount) -> int:
        capacity = self._snapshot.capacity.get(key, 0)
        if amount <= 0 or capacity <= 0:
            return 0
        return (amount * self._all_weights(parent, key) << SHARP) // (capacity * weight)

    def _numbers_weight(self, group: str, key: FlavorResource) -> Amount:
        return self._snapshot.numbers[group].get(key, NO_NUMBERS).weight

    def _all_weights(self, parent: str, key: FlavorResource) -> Amount:
        found = self._weights.get((parent, key))
        if found is None:
            children = (each for each in self._snapshot.world.tree.children(parent) if each != SYSTEM)
            found = sum(self._numbers_weight(each, key) for each in children if each in self._snapshot.numbers)
            self._weights[parent, key] = found
        return found
