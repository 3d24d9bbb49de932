"""Which workloads of a leaf could have a turn: those that nothing before them in its queue keeps waiting.

See docs/specification.md §6.11.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Final, NamedTuple

from shared.api.durations import later
from shared.quota.measure.group_usage import NO_NUMBERS, GroupNumbers
from shared.quota.measure.leaves.leaf_snapshot import LeafSnapshot
from shared.quota.measure.static.pod_set_choices import Counted, combinations, totals
from shared.quota.model.eligibility import Options
from shared.quota.model.flavor import Flavor
from shared.quota.model.workload import Flavors, Workload

_MOST_HEADS: Final = 64
"""So many workloads of a queue are looked at for heads: more would be needed only where each takes another flavor."""
_MOST_WAYS: Final = 16


class Way(NamedTuple):
    """One assignment of flavors, and what the workload takes in it."""

    flavors: Flavors
    amounts: Counted


def heads_of(leaf: LeafSnapshot) -> Iterator[Workload]:
    """Yield the workloads that could start and take none of the flavors that one before them could take."""
    if not leaf.may_start:
        return
    every, seen = {entry.flavor for entry in leaf.group.quotas}, set[str]()
    for workload in leaf.pending[:_MOST_HEADS]:
        flavors = _flavors_of(leaf.options(workload))
        if flavors and flavors.isdisjoint(seen):
            yield workload
        seen |= flavors
        if seen >= every:
            return


def _flavors_of(options: Options) -> set[str]:
    """Return every flavor that some assignment has; none if there is no assignment."""
    if not options.could_fit:
        return set()
    if options.together is not None:
        return {flavor for chosen in options.together for flavor in chosen}
    return {flavor for each in options.sets for flavor in each.flavors}


def ways_of(leaf: LeafSnapshot, workload: Workload, flavors: Mapping[str, Flavor]) -> Iterator[Way]:
    """Yield what the workload could take, in order of preference."""
    options = leaf.options(workload)
    choices = combinations(options.sets, flavors) if options.together is None else iter(options.together)
    for chosen in islice(choices, _MOST_WAYS):
        own: dict[str, dict[str, str]] = {}
        for each, flavor in zip(options.sets, chosen, strict=True):
            own.setdefault(each.pod_set.name, {}).update(dict.fromkeys(each.resources, flavor))
        yield Way(own, totals(options.sets, chosen))


class LargeHead(NamedTuple):
    """A head that is larger than its leaf's runtime in every flavor, and what it could take."""

    workload: Workload
    ways: tuple[Way, ...]
    until: datetime | None
    """When its patience is over; None: it needs no turn, because others were evicted for it."""


def large_heads(leaf: LeafSnapshot, numbers: GroupNumbers, flavors: Mapping[str, Flavor]) -> Iterator[LargeHead]:
    """Yield the heads that could only borrow, however little else the leaf uses: these could have a turn."""
    for head in heads_of(leaf) if leaf.turn_after is not None else ():
        ways = _larger_ways(ways_of(leaf, head, flavors), numbers) if head.preemptible else ()
        if ways:
            yield LargeHead(head, ways, None if head.preemptor_id in leaf.claims else patient_until(leaf, head))


def _larger_ways(ways: Iterable[Way], numbers: GroupNumbers) -> tuple[Way, ...]:
    """Return these if all are larger than the leaf's runtime; else nothing, and those behind are not looked at."""
    found = []
    for way in ways:
        if not _is_larger(way, numbers):
            return ()
        found.append(way)
    return tuple(found)


def _is_larger(way: Way, numbers: GroupNumbers) -> bool:
    for key, amount in way.amounts:
        own = numbers.get(key, NO_NUMBERS)
        if own.non_preemptible + amount > own.runtime:
            return True
    return False


def patient_until(leaf: LeafSnapshot, workload: Workload) -> datetime | None:
    """Return when the workload has waited long enough for a turn; None: it gets none."""
    return None if leaf.turn_after is None else later(workload.queued, leaf.turn_after)
