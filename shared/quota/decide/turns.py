"""Which waiting workloads get a turn, and why another gets none. docs/specification.md §6.11.

Decided at the beginning of a cycle, from its numbers; these are then measured again with the turns, so that no step of
the cycle knows of them. A workload gets a turn if

* it is a head of its leaf whose patience is over, and is larger than what its group has in every flavor;
* at each level at which it falls short, the mins of all leave enough, nobody has a turn, and its group has used the
  least in proportion to weight of those that compete there: siblings that want more than they get and use something,
  and those with such a head. What others in its subtree have used is not held against it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from itertools import pairwise
from typing import Final, NamedTuple

from shared.quota.decide.decisions import TurnStart
from shared.quota.decide.state.cycle_cache import CycleCache, Sort
from shared.quota.measure.fair_share import EXACT
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.measure.turns.heads import LargeHead, Way, large_heads, patient_until
from shared.quota.measure.turns.holders import Slot
from shared.quota.measure.turns.levels import Level, TooLittle, TurnNumbers
from shared.quota.model.workload import Turn, Workload, WorkloadId
from shared.resources import Amount, FlavorResource

_NOT_WAITING: Final = datetime.max.replace(tzinfo=UTC)
TurnRank = tuple[int, datetime, str]
"""(past use in proportion to weight, waiting since, name); the lowest is next."""


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


class TurnDecisions(NamedTuple):
    """What one cycle decides of turns; `next_turn`: when the patience of another head that might have one is over."""

    begun: tuple[TurnStart, ...]
    ended: tuple[Workload, ...]
    next_turn: datetime | None

    def measured(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with these turns."""
        if not self.begun and not self.ended:
            return snapshot
        begun = ((each.workload, replace(each.workload, turn=each.turn)) for each in self.begun)
        ended = ((each, replace(each, turn=None)) for each in self.ended)
        return measure(snapshot.world.with_changes([*ended, *begun]), snapshot.now, snapshot)


class _Candidate(NamedTuple):
    """A head in flavors in which the mins leave enough, and the levels at which its turn would count."""

    workload: Workload
    way: Way
    levels: tuple[Level, ...]


@dataclass(slots=True)
class TurnOrder:
    """Whose turn it is below each parent, in one snapshot. Costs a look at the children of each parent asked about."""

    snapshot: Snapshot
    before: TurnNumbers = field(init=False)
    taken: dict[Slot, str] = field(init=False)
    """(parent, key) -> the leaf of the workload that has a turn there."""
    _least: dict[Slot, TurnRank | None] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.before = self.snapshot.before_turns
        self.taken = {slot: holder.workload.group for slot, holder in self.snapshot.turns.slots.items()}

    def why_not(self, leaf: str, level: Level, rivals: Iterable[TurnRank] = ()) -> NoTurn | None:
        """Return why a head of the leaf has no turn at this level; None: it has. `rivals`: the ranks of heads there."""
        slot = level.parent, level.key
        if slot in self.taken:
            return NoTurn(TurnRefusal.TAKEN, self.taken[slot], level.key)
        own = self.rank_at(level, leaf)
        if own is None:
            return NoTurn(TurnRefusal.WEIGHTLESS, level.child, level.key)
        first = min((each for each in (self._least_using(slot), *rivals) if each is not None), default=own)
        return None if own <= first else NoTurn(TurnRefusal.USED_LESS, first[-1], level.key)

    def rank_at(self, level: Level, leaf: str) -> TurnRank | None:
        """Return the place of a head of the leaf at this level; None: a group on the way there has weight 0.

        Its subtree has used no more than the leaf, for the leaf's part of the weight: else what the leaf's siblings
        use would keep its head from the turn that it needs above them.
        """
        index, key, least, wanting = self.before.tree_index, level.key, 0, 0
        for group, parent in pairwise(index.path(leaf)):
            rank = self._rank(group, key)
            if rank is None:
                return None
            past, waiting_since, name = rank
            least = past if group == leaf else min(past, least * wanting // self.before.of(group, key).weight)
            if group == level.child:
                return least, waiting_since, name
            children = (self.before.of(each, key) for each in index.children[parent])
            wanting = sum(each.weight for each in children if each.demand)
        return None

    def _least_using(self, slot: Slot) -> TurnRank | None:
        """Return the first of the children that want more than they get, and use something."""
        if slot not in self._least:
            (parent, key), before = slot, self.before
            ranks = []
            for child in before.tree_index.children[parent]:
                numbers = before.of(child, key)
                if numbers.used and numbers.demand > numbers.runtime:
                    ranks.append(self._rank(child, key))
            self._least[slot] = min((each for each in ranks if each is not None), default=None)
        return self._least[slot]

    def _rank(self, group: str, key: FlavorResource) -> TurnRank | None:
        """Return the group's place at its level; None: it has weight 0."""
        numbers = self.before.of(group, key)
        if not numbers.weight:
            return None
        past = self.snapshot.world.past_use.get(group, {}).get(key, 0)
        return (past << EXACT) // numbers.weight, numbers.waiting_since or _NOT_WAITING, group

    def may_be_next(self, leaf: str, way: Way) -> bool:
        """Return whether nothing is in its way in its own leaf's division; quicker than looking at all levels."""
        before = self.before
        parent = before.tree_index.parents[leaf]
        for key, amount in way.amounts:
            own = before.of(leaf, key)
            need = own.non_preemptible + amount
            if need > own.runtime and (need > own.ceiling or self.why_not(leaf, Level(parent, leaf, key, need))):
                return False
        return True

    def why_no_way(self, leaf: str, way: Way) -> tuple[Level, ...] | NoTurn:
        """Return the levels at which the turn of a head would count in these flavors, if nothing is in its way."""
        levels = self.before.levels_of(leaf, way.amounts)
        if isinstance(levels, TooLittle):
            because = TurnRefusal.CEILING if levels.by_ceiling else TurnRefusal.MINS
            return NoTurn(because, levels.group, levels.key, levels.left, levels.requested)
        return next(filter(None, (self.why_not(leaf, level) for level in levels)), levels)


def plan_turns(snapshot: Snapshot, cache: CycleCache) -> TurnDecisions:
    """Decide which turns begin, which end, and when to look again."""
    cache.refresh(snapshot)
    turns, due, patient = snapshot.turns, list[datetime](), list[LargeHead]()
    written = (each for name in sorted(turns.leaves) for each in snapshot.leaves[name].with_turn)
    ended = tuple(each for each in written if each.is_pending and each.id not in turns.holders)
    for name in cache.of(Sort.WAITING):
        for head in cache.leaves[name].large_heads:
            until = _until(snapshot, head)
            if until is not None:
                if until > snapshot.now:
                    due.append(until)
                else:
                    patient.append(head)
    begun = tuple(_choose(snapshot, patient)) if patient else ()
    return TurnDecisions(begun, ended, min(due, default=None))


def _until(snapshot: Snapshot, head: LargeHead) -> datetime | None:
    """Return when the patience of this head is over; None: it needs no turn, for it has one, or a claim."""
    leaf = snapshot.leaves[head.workload.group]
    if head.workload.id in snapshot.turns.holders or head.workload.preemptor_id in leaf.claims:
        return None
    return patient_until(leaf, head.workload)


def _choose(snapshot: Snapshot, heads: Sequence[LargeHead]) -> Iterator[TurnStart]:
    """Yield the turns that begin: the oldest head first, each in the first flavors in which it is its turn."""
    order, begun = TurnOrder(snapshot), set[WorkloadId]()
    found = [each for head in heads for each in _candidates(order, head)]
    rivals: dict[Slot, list[TurnRank]] = {}
    for each in found:
        for level in each.levels:
            rank = order.rank_at(level, each.workload.group)
            if rank is not None:
                rivals.setdefault((level.parent, level.key), []).append(rank)
    for each in sorted(found, key=lambda each: (each.workload.queued, each.workload.id)):
        slots = [(level.parent, level.key) for level in each.levels]
        why_not = partial(order.why_not, each.workload.group)
        its_turn = not any(map(why_not, each.levels, map(rivals.__getitem__, slots)))
        if its_turn and each.workload.id not in begun:
            begun.add(each.workload.id)
            order.taken.update(dict.fromkeys(slots, each.workload.group))
            yield TurnStart(each.workload, Turn(each.way.flavors, snapshot.now))


def _candidates(order: TurnOrder, head: LargeHead) -> Iterator[_Candidate]:
    for way in filter(partial(order.may_be_next, head.workload.group), head.ways):
        levels = order.why_no_way(head.workload.group, way)
        if isinstance(levels, NoTurn):
            continue
        if not levels:
            return  # its group has enough in these flavors without turns
        yield _Candidate(head.workload, way, levels)


def why_no_turn(snapshot: Snapshot, workload: Workload) -> NoTurn | None:
    """Return why a waiting head that is larger than what its group has gets no turn; None: it is none, or has one."""
    leaf = snapshot.leaves.get(workload.group)
    if leaf is None or workload.id in snapshot.turns.holders:
        return None
    heads = large_heads(leaf, snapshot.numbers[workload.group], snapshot.world.flavors)
    head = next((each for each in heads if each.workload.id == workload.id), None)
    if head is None:
        return None
    order = TurnOrder(snapshot)
    found = [order.why_no_way(workload.group, way) for way in head.ways]
    refusals = [each for each in found if isinstance(each, NoTurn)]
    until = _until(snapshot, head)
    if len(refusals) < len(found):
        is_early = all(found) and until is not None and until > snapshot.now
        return NoTurn(TurnRefusal.PATIENCE, workload.group, until=until) if is_early else None
    return refusals[0]
