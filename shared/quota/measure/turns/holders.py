"""Which workloads have a turn now, of those on which one is written: one for each parent and key.

A turn is written on the workload, and holds while what it was given for does: while it waits, its workload is still the
head of its leaf's queue, and the mins of all leave enough. A turn that does not hold counts nothing, and neither does
one that rests: room that has gathered for long without a start is used by others for as long.

See docs/specification.md §6.11.
"""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final, NamedTuple

from shared.api.durations import later
from shared.quota.measure.inputs.workload_set import amounts_in
from shared.quota.measure.leaves.leaf_snapshot import LeafSnapshot
from shared.quota.measure.leaves.leaf_updates import LeafSnapshots
from shared.quota.measure.turns.heads import heads_of, ways_of
from shared.quota.measure.turns.levels import Level, TooLittle, TurnNumbers
from shared.quota.model.flavor import Flavor
from shared.quota.model.workload import Flavors, Turn, Workload, WorkloadId
from shared.resources import Amount, FlavorResource

Slot = tuple[str, FlavorResource]
"""(parent, key): at most one turn counts in each."""
SHORTEST_GATHERING: Final = timedelta(days=1)


class TurnHolder(NamedTuple):
    """A workload that has a turn, and where it counts; no levels: its group has enough without."""

    workload: Workload
    turn: Turn
    levels: tuple[Level, ...]


@dataclass(frozen=True, slots=True)
class Turns:
    """The turns of one moment."""

    holders: Mapping[WorkloadId, TurnHolder] = field(default_factory=lambda: MappingProxyType({}))
    leaves: Set[str] = frozenset()
    """Leaves with a workload on which a turn is written, whether or not it holds."""
    resting: Mapping[WorkloadId, datetime] = field(default_factory=lambda: MappingProxyType({}))
    """Waiting workload whose turn rests → until when."""
    given: Set[WorkloadId] = frozenset()
    """Workloads that have a turn, also one that rests."""
    next_change: datetime | None = None
    """When a turn begins or ends its rest next."""

    @property
    def slots(self) -> Mapping[Slot, TurnHolder]:
        """(parent, key) -> whose turn counts there."""
        return {(each.parent, each.key): holder for holder in self.holders.values() for each in holder.levels}


NO_TURNS = Turns()


def find_turns(leaf_snapshots: LeafSnapshots, before: TurnNumbers, known: Set[str]) -> Turns:
    """Return the turns that hold or rest. `before`: the numbers without turns; `known`: leaves that had some before."""
    changed = leaf_snapshots.changed
    fresh = {name for name in changed if name in leaf_snapshots.leaves and leaf_snapshots.leaves[name].with_turn}
    names = (known - changed) | fresh
    if not names:
        return NO_TURNS
    flavors = leaf_snapshots.world.flavors
    written = [each for name in names for each in _written_in(leaf_snapshots.leaves[name], flavors)]
    found: dict[WorkloadId, TurnHolder] = {}
    resting, borders = dict[WorkloadId, datetime](), list[datetime]()
    taken: set[Slot] = set()
    for workload, turn in sorted(written, key=_order):
        levels = before.levels_of(workload.group, totals_in(workload, _flavors(workload, turn)).items())
        if isinstance(levels, TooLittle):
            continue
        slots = {(each.parent, each.key) for each in levels}
        rests, until = _rest(workload, turn, leaf_snapshots.now)
        if rests:
            resting[workload.id] = until
        elif taken.isdisjoint(slots):
            taken |= slots
            found[workload.id] = TurnHolder(workload, turn, levels)
        if workload.is_pending:
            borders.append(until)
    return Turns(found, frozenset(names), resting, found.keys() | resting.keys(), min(borders, default=None))


def _rest(workload: Workload, turn: Turn, now: datetime) -> tuple[bool, datetime]:
    """Return whether the turn rests now, and until when that is so; it never rests while its workload runs.

    It counts for a day, or for as long as its workload had waited when it began if that is longer. Then it rests for
    as long, then it counts again, and so on.
    """
    length = max(SHORTEST_GATHERING, turn.since - workload.queued)
    number = max(timedelta(0), now - turn.since) // length
    return workload.is_pending and number % 2 == 1, later(turn.since, length * (number + 1))


def totals_in(workload: Workload, flavors: Flavors) -> dict[FlavorResource, Amount]:
    """Return what all pod sets of the workload take together in these flavors, by key."""
    found: dict[FlavorResource, Amount] = {}
    for key, amount in amounts_in(workload, flavors):
        found[key] = found.get(key, 0) + amount
    return found


def _written_in(leaf: LeafSnapshot, flavors: Mapping[str, Flavor]) -> Iterator[tuple[Workload, Turn]]:
    """Yield the workloads of the leaf whose turn has not ended by what they are now."""
    heads: set[WorkloadId] | None = None
    for workload in leaf.with_turn:
        turn = workload.turn
        if turn is None or workload.is_evicting or not workload.preemptible:
            continue
        if workload.is_pending:
            heads = {each.id for each in heads_of(leaf)} if heads is None else heads
            if workload.id not in heads or workload.queued > turn.since or not _could_take(leaf, workload, flavors):
                continue
        yield workload, turn


def _could_take(leaf: LeafSnapshot, workload: Workload, flavors: Mapping[str, Flavor]) -> bool:
    """Return whether the flavors of its turn still are among those that it waits for."""
    claim, turn = leaf.claims.get(workload.preemptor_id), workload.turn
    if turn is None or (claim is not None and claim.flavors != turn.flavors):
        return False
    return any(way.flavors == turn.flavors for way in ways_of(leaf, workload, flavors))


def _flavors(workload: Workload, turn: Turn) -> Flavors:
    """Return the flavors in which its turn counts; none if it runs in others than those of its turn."""
    if workload.admission is None:
        return turn.flavors
    return turn.flavors if workload.admission.flavors == turn.flavors else {}


def _order(written: tuple[Workload, Turn]) -> tuple[bool, datetime, WorkloadId]:
    workload, turn = written
    return workload.is_pending, turn.since, workload.id
