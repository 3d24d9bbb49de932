"""What waits below a group directly above leaves: the first workloads of all its leaves together."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from datetime import datetime
from typing import NamedTuple

from shared.quota.decide.state.first_fits import FirstFits, Rooms, is_one_within, least_of
from shared.quota.decide.state.usage import Available, Keys
from shared.quota.measure.group_usage import GroupNumbers
from shared.resources import Amount, FlavorResource

Rank = tuple[bool, bool, int, int, datetime, str]
"""(beyond effectiveMin, weight 0, share, past use, age of the head, name); the lowest comes first."""
Margins = Mapping[FlavorResource, tuple[Amount, Amount]]
"""Of a group, by key: what is left up to its ceiling, and what its guarantee keeps of what it does not use."""
NO_MARGIN = (0, 0)


def _room_for(keys: Keys, least: tuple[Amount, ...], available: Available) -> tuple[Amount, ...] | None:
    """Return what is available of these keys, in their order; None if it is less than `least` of some key."""
    room = []
    for key, amount in zip(keys, least, strict=True):
        left = available(key)
        if amount > left:
            return None
        room.append(left)
    return tuple(room)


class LeavesInOrder(NamedTuple):
    """The leaves below one group that wait and are predictable."""

    leaves: Sequence[tuple[Rank, str, FirstFits]]
    """By the best rank that any of their workloads could have."""
    least: Rooms
    """What one of them needs at least, by what it takes."""
    lowest: Mapping[Keys, Sequence[tuple[Amount, ...]]]
    """The needs of which no other one is as low in every respect, by what is taken."""
    within_min: Set[Keys]
    """What is taken by workloads that stay within their leaf's effectiveMin."""
    oldest: Mapping[Keys, datetime]
    """When the first of them was queued, by what it takes."""
    others: frozenset[str]
    """Leaves that wait and are not predictable."""
    until: datetime | None
    """From then on, the order might differ."""

    def could_fit(self, available: Available) -> bool | None:
        """Whether something could fit in what is available below the group; None: not known.

        Also after starts, while no workload is left there that waited behind a head.
        """
        return None if self.others else any(True for _ in self.rooms(available))

    def rooms(self, available: Available) -> Iterator[tuple[Keys, tuple[Amount, ...]]]:
        """What is available below the group, by what is taken; only where there is room for something."""
        for keys, least in self.least.items():
            room = _room_for(keys, least, available)
            if room is not None and is_one_within(self.lowest[keys], room):
                yield keys, room


def _lowest(needs: Iterable[tuple[Amount, ...]]) -> Sequence[tuple[Amount, ...]]:
    """Return those needs of which no other one is as low in every respect."""
    found: list[tuple[Amount, ...]] = []
    for each in sorted(set(needs)):
        if not is_one_within(found, each):
            found.append(each)
    return found


def least_needs(leaves: Iterable[FirstFits]) -> Rooms:
    """Of all steps of these leaves, the least needs, by what they take."""
    found: dict[Keys, list[tuple[Amount, ...]]] = {}
    for leaf in leaves:
        for keys, least in leaf.least.items():
            found.setdefault(keys, []).append(least)
    return {keys: least_of(needs) for keys, needs in found.items()}


def lowest_needs(leaves: Iterable[FirstFits]) -> Mapping[Keys, Sequence[tuple[Amount, ...]]]:
    """Return the lowest needs of all steps of these leaves, by what they take."""
    found: dict[Keys, list[tuple[Amount, ...]]] = {}
    for leaf in leaves:
        for keys, steps in leaf.steps.items():
            found.setdefault(keys, []).extend([step.needs for step in steps])
    return {keys: _lowest(needs) for keys, needs in found.items()}


def oldest_queued(leaves: Iterable[FirstFits]) -> Mapping[Keys, datetime]:
    """Return when the first workload of all steps of these leaves was queued, by what they take."""
    found: dict[Keys, datetime] = {}
    for leaf in leaves:
        for keys, oldest in leaf.oldest.items():
            found[keys] = min(found.get(keys, oldest), oldest)
    return found


def margins_of(numbers: GroupNumbers) -> Margins:
    """Return the margins of a group."""
    return {
        key: (each.ceiling - each.charge, max(0, min(each.guarantee, each.runtime) - each.charge))
        for key, each in numbers.items()
    }
