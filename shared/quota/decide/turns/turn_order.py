"""Whose turn it is at each level, and why another has none. docs/specification.md §6.11."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from shared.quota.decide.known_siblings import Children, KnownSiblings, TurnRank, rank_of
from shared.quota.decide.state.known_leaf import KnownLeaf
from shared.quota.measure.snapshot import Snapshot
from shared.quota.measure.turns.heads import Way, large_heads
from shared.quota.measure.turns.holders import Slot
from shared.quota.measure.turns.levels import Level, TooLittle, TurnNumbers
from shared.quota.model.workload import Workload
from shared.resources import Amount, FlavorResource


class TurnRefusal(StrEnum):
    """Why a workload larger than what its group has gets no turn now."""

    MINS = "Mins"
    """The mins of all leave too little."""
    CEILING = "Ceiling"
    TAKEN = "Taken"
    """Another workload has a turn there."""
    USED_LESS = "UsedLess"
    """A sibling has used less in proportion to its weight."""
    WEIGHTLESS = "Weightless"
    PATIENCE = "Patience"
    """It has not waited for its leaf's patience."""


class NoTurn(NamedTuple):
    """Why a workload has no turn. `group`: the one that leaves too little, has a turn, has used less, or is its own."""

    because: TurnRefusal
    group: str
    key: FlavorResource | None = None
    left: Amount = 0
    requested: Amount = 0
    until: datetime | None = None


@dataclass(slots=True)
class TurnOrder:
    """Whose turn it is below each parent, in one snapshot. Costs a look at the children of each parent that changed."""

    snapshot: Snapshot
    leaves: Mapping[str, KnownLeaf] = field(default_factory=dict)
    """What is known of the leaves whose heads are looked for."""
    known: dict[str, KnownSiblings] = field(default_factory=dict)
    """parent → what was known of its children in an earlier snapshot, and is from now on."""
    before: TurnNumbers = field(init=False)
    taken: dict[Slot, str] = field(init=False)
    """(parent, key) -> the leaf of the workload that has a turn there."""
    _siblings: dict[str, KnownSiblings] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.before = self.snapshot.before_turns
        self.taken = {slot: holder.workload.group for slot, holder in self.snapshot.turns.slots.items()}

    def siblings(self, parent: str) -> KnownSiblings:
        """Return what is known of the children of `parent`."""
        found = self._siblings.get(parent)
        if found is None:
            children, known = self._children_of(parent), self.known.get(parent)
            found = known if known is not None and known.children == children else KnownSiblings(children)
            self._siblings[parent] = self.known[parent] = found
        return found

    def _children_of(self, parent: str) -> Children:
        names, past_use = self.before.tree_index.children[parent], self.snapshot.world.past_use
        numbers = list(map(self.before.numbers.__getitem__, names))
        return Children(names, numbers, list(map(past_use.get, names)), list(map(self.leaves.get, names)))

    def why_not(self, leaf: str, level: Level, rivals: Iterable[TurnRank] = ()) -> NoTurn | None:
        """Return why a head of the leaf has no turn at this level; None: it has. `rivals`: the ranks of heads there."""
        slot = level.parent, level.key
        if slot in self.taken:
            return NoTurn(TurnRefusal.TAKEN, self.taken[slot], level.key)
        own = self.rank_at(level, leaf)
        if own is None:
            return NoTurn(TurnRefusal.WEIGHTLESS, level.child, level.key)
        least = self.siblings(level.parent).first(level.key)
        first = min((each for each in (least, *rivals) if each is not None), default=own)
        return None if own <= first else NoTurn(TurnRefusal.USED_LESS, first[-1], level.key)

    def rank_at(self, level: Level, leaf: str) -> TurnRank | None:
        """Return the place of a head of the leaf at this level; None: a group on the way there has weight 0.

        Its subtree has used no more than the leaf, for the leaf's part of the weight: else what the leaf's siblings
        use would keep its head from the turn that it needs above them.
        """
        key, least, wanting = level.key, 0, 0
        for group, parent in pairwise(self.before.tree_index.path(leaf)):
            numbers = self.before.of(group, key)
            rank = rank_of(group, numbers, self.snapshot.world.past_use.get(group, {}).get(key, 0))
            if rank is None:
                return None
            past, waiting_since, name = rank
            least = past if group == leaf else min(past, least * wanting // numbers.weight)
            if group == level.child:
                return least, waiting_since, name
            wanting = self.siblings(parent).wanting(key)
        return None

    def why_no_way(self, leaf: str, way: Way) -> tuple[Level, ...] | NoTurn:
        """Return the levels at which the turn of a head would count in these flavors, if nothing is in its way."""
        levels = self.before.levels_of(leaf, way.amounts)
        if isinstance(levels, TooLittle):
            because = TurnRefusal.CEILING if levels.by_ceiling else TurnRefusal.MINS
            return NoTurn(because, levels.group, levels.key, levels.left, levels.requested)
        return next(filter(None, (self.why_not(leaf, level) for level in levels)), levels)


def why_no_turn(snapshot: Snapshot, workload: Workload) -> NoTurn | None:
    """Return why a waiting head without a turn, larger than what its group has, gets none; None: it is no such head."""
    leaf = snapshot.leaves.get(workload.group)
    if leaf is None:
        return None
    heads = large_heads(leaf, snapshot.numbers[workload.group], snapshot.world.flavors)
    head = next((each for each in heads if each.workload.id == workload.id), None)
    if head is None:
        return None
    order = TurnOrder(snapshot)
    found = [order.why_no_way(workload.group, way) for way in head.ways]
    refusals = [each for each in found if isinstance(each, NoTurn)]
    if len(refusals) < len(found):
        is_early = all(found) and head.until is not None and head.until > snapshot.now
        return NoTurn(TurnRefusal.PATIENCE, workload.group, until=head.until) if is_early else None
    return refusals[0]
