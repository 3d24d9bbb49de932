"""Which waiting workloads get a turn. docs/specification.md §6.11.

Decided at the beginning of a cycle, from its numbers; these are then measured again with the turns, so that no step of
the cycle knows of them. A workload gets a turn if

* it is a head of its leaf whose patience is over, and is larger than what its group has in every flavor;
* at each level at which it falls short, the mins of all leave enough, nobody has a turn, and its group has used the
  least in proportion to weight of those that compete there: siblings that want more than they get and use something,
  and those with such a head. What others in its subtree have used is not held against it.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

from shared.quota.decide.decisions import TurnStart
from shared.quota.decide.known_siblings import TurnRank
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.decide.turns.turn_order import NoTurn, TurnOrder
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.measure.turns.heads import LargeHead, Way
from shared.quota.measure.turns.holders import Slot
from shared.quota.measure.turns.levels import Level
from shared.quota.model.workload import Turn, Workload, WorkloadId


class TurnDecisions(NamedTuple):
    """What one cycle decides of turns; `next_turn`: when a head's patience is over, or a rest begins or ends."""

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


def plan_turns(snapshot: Snapshot, cache: CycleCache) -> TurnDecisions:
    """Decide which turns begin, which end, and when to look again."""
    cache.refresh(snapshot)
    turns = snapshot.turns
    written = (each for name in sorted(turns.leaves) for each in snapshot.leaves[name].with_turn)
    ended = tuple(each for each in written if each.is_pending and each.id not in turns.given)
    due, heads = [] if turns.next_change is None else [turns.next_change], list[LargeHead]()
    order = TurnOrder(snapshot, cache.leaves, cache.siblings)
    for parent in sorted(cache.waiting):
        siblings = order.siblings(parent)
        place = bisect_right(siblings.patience, snapshot.now, key=itemgetter(0))
        later = (until for until, workload in islice(siblings.patience, place, None) if workload not in turns.given)
        due += islice(later, 1)
        heads += siblings.heads if place else ()
    patient = [each for each in heads if _is_patient(each, snapshot)]
    return TurnDecisions(tuple(_choose(order, patient)), ended, min(due, default=None))


def _is_patient(head: LargeHead, snapshot: Snapshot) -> bool:
    return head.until is not None and head.until <= snapshot.now and head.workload.id not in snapshot.turns.given


def _choose(order: TurnOrder, heads: Iterable[LargeHead]) -> Iterator[TurnStart]:
    """Yield the turns that begin: the oldest head first, each in the first flavors in which it is its turn."""
    begun = set[WorkloadId]()
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
            yield TurnStart(each.workload, Turn(each.way.flavors, order.snapshot.now))


def _candidates(order: TurnOrder, head: LargeHead) -> Iterator[_Candidate]:
    for way in head.ways:
        levels = order.why_no_way(head.workload.group, way)
        if isinstance(levels, NoTurn):
            continue
        if not levels:
            return  # its group has enough in these flavors without turns
        yield _Candidate(head.workload, way, levels)
