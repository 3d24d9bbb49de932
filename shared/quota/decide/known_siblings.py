"""What is known of the children of one parent: which uses least, and which of their heads could be next.

Computed from the children's numbers without turns, their past use and their heads, and from nothing else.
See docs/specification.md §6.11.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import starmap
from typing import Final, NamedTuple, Protocol

from shared.quota.measure.fair_share import EXACT
from shared.quota.measure.group_usage import NO_NUMBERS, GroupNumbers, Numbers
from shared.quota.measure.turns.heads import LargeHead, Way
from shared.quota.model.workload import WorkloadId
from shared.resources import Amount, FlavorResource

_NOT_WAITING: Final = datetime.max.replace(tzinfo=UTC)
TurnRank = tuple[int, datetime, str]
"""(past use in proportion to weight, waiting since, name); the lowest is next."""


def rank_of(name: str, numbers: Numbers, past: Amount) -> TurnRank | None:
    """Return the place of a group among its siblings; None: it has weight 0."""
    if not numbers.weight:
        return None
    return (past << EXACT) // numbers.weight, numbers.waiting_since or _NOT_WAITING, name


class LeafHeads(Protocol):
    """What is known of the heads of one leaf."""

    @property
    def large_heads(self) -> Sequence[LargeHead]:
        """The heads that could have a turn."""


class Children(NamedTuple):
    """What the children of one parent are: names, numbers without turns, past use, and the heads of leaves.

    All of it is frozen, so what is the same object needs no comparison.
    """

    names: Sequence[str]
    numbers: Sequence[GroupNumbers]
    past_use: Sequence[Mapping[FlavorResource, Amount] | None]
    leaves: Sequence[LeafHeads | None]

    def of(self, key: FlavorResource) -> list[tuple[str, Numbers, Amount]]:
        """Return the name, numbers and past use of each child for that key."""
        return [
            (name, numbers.get(key, NO_NUMBERS), past_use.get(key, 0) if past_use else 0)
            for name, numbers, past_use in zip(self.names, self.numbers, self.past_use, strict=True)
        ]


class KnownSiblings:
    """The children of one parent; where one of them is other than before, there is another record."""

    __slots__ = ("_first", "_heads", "_patience", "_wanting", "children")

    def __init__(self, children: Children) -> None:
        self.children = children
        self._first: dict[FlavorResource, TurnRank | None] = {}
        """key → the first of those that want more than they get and use something."""
        self._wanting: dict[FlavorResource, Amount] = {}
        """key → the weights together of those that want something."""
        self._heads: tuple[LargeHead, ...] | None = None
        self._patience: Sequence[tuple[datetime, WorkloadId]] | None = None

    def first(self, key: FlavorResource) -> TurnRank | None:
        """Return the first of the children that want more than they get, and use something."""
        if key not in self._first:
            competing = [each for each in self.children.of(key) if each[1].used and each[1].demand > each[1].runtime]
            self._first[key] = min(filter(None, starmap(rank_of, competing)), default=None)
        return self._first[key]

    def wanting(self, key: FlavorResource) -> Amount:
        """Return the weights together of the children that want something."""
        if key not in self._wanting:
            self._wanting[key] = sum(numbers.weight for _, numbers, _ in self.children.of(key) if numbers.demand)
        return self._wanting[key]

    @property
    def patience(self) -> Sequence[tuple[datetime, WorkloadId]]:
        """When the patience of each head is over, and whose it is, in order."""
        if self._patience is None:
            heads = [head for leaf in self.children.leaves if leaf is not None for head in leaf.large_heads]
            self._patience = sorted([(head.until, head.workload.id) for head in heads if head.until is not None])
        return self._patience

    @property
    def heads(self) -> tuple[LargeHead, ...]:
        """The heads before whose leaf none of its siblings comes, in the flavors in which that is so.

        All others get no turn: so only these are looked at on their way to root.
        """
        if self._heads is None:
            self._heads = tuple(self._heads_that_are_first())
        return self._heads

    def _heads_that_are_first(self) -> Iterator[LargeHead]:
        for name, numbers, past_use, leaf in zip(*self.children, strict=True):
            for head in leaf.large_heads if leaf is not None else ():
                ways = tuple(way for way in head.ways if self._is_first(name, numbers, past_use or {}, way))
                if ways:
                    yield head._replace(ways=ways)

    def _is_first(self, name: str, numbers: GroupNumbers, past_use: Mapping[FlavorResource, Amount], way: Way) -> bool:
        for key, amount in way.amounts:
            own = numbers.get(key, NO_NUMBERS)
            need = own.non_preemptible + amount
            if need <= own.runtime:
                continue
            rank, first = rank_of(name, own, past_use.get(key, 0)), self.first(key)
            if need > own.ceiling or rank is None or (first is not None and first < rank):
                return False
        return True
