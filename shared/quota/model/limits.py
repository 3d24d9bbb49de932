"""The limits of one group for one key: min, max, guarantee, ceiling, weight.

An absent max is the nearest ancestor's, else root's own, else root's capacity; an absent weight is that max; an absent
borrowingLimit is "up to max"; an absent lendingLimit is "all of min", or nothing where the group lends nothing.

See docs/specification.md §3.2.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from shared.quota.model.tree import Entry, Group
from shared.resources import Amount, FlavorResource


class Limits(msgspec.Struct, frozen=True, gc=False):
    """One group's limits for one key, in base units. Where nothing covers the key, all are 0."""

    min: Amount = 0
    max: Amount = 0
    guarantee: Amount = 0
    ceiling: Amount = 0
    weight: Amount = 0


UNCOVERED: Final = Limits()
Caps = Mapping[FlavorResource, Amount]
"""key -> the max of the nearest ancestor that sets one."""
NO_CAPS: Final[Caps] = MappingProxyType({})


def caps_below(group: Group, caps: Caps) -> Caps:
    """Return what the children of `group` inherit for an absent max, when `group` itself inherits `caps`."""
    own = {FlavorResource(each.flavor, name): amount for each in group.quotas for name, amount in each.max.items()}
    return {**caps, **own} if own else caps


def covered_keys(group: Group) -> Iterator[FlavorResource]:
    """Yield the keys that the group's entries are about, in the order of the entries."""
    for entry in group.quotas:
        for resource in sorted(entry.covered):
            yield FlavorResource(entry.flavor, resource)


def limits_of(group: Group, caps: Caps, capacity: Mapping[FlavorResource, Amount]) -> dict[FlavorResource, Limits]:
    """Return the limits of `group` for every key it covers; `caps` is what it inherits, `capacity` is root's."""
    found: dict[FlavorResource, Limits] = {}
    for entry in group.quotas:
        for resource in entry.covered:
            key = FlavorResource(entry.flavor, resource)
            inherited = caps.get(key)
            if inherited is None:
                inherited = capacity.get(key, 0)
            found[key] = _limits(entry, resource, inherited, lends=group.allow_lending)
    return found


def is_capped_by_capacity(group: Group, caps: Caps, key: FlavorResource) -> bool:
    """Return whether the max of `group` for `key` is root's capacity: it covers the key and has no other max."""
    return key not in caps and any(
        entry.flavor == key.flavor and key.resource in entry.covered and key.resource not in entry.max
        for entry in group.quotas
    )


def _limits(entry: Entry, resource: str, inherited: Amount, *, lends: bool) -> Limits:
    promised = entry.min.get(resource, 0)
    most = entry.max.get(resource, inherited)
    if entry.percents and resource in entry.max:
        # What percents come to changes with the cluster, and might contradict other numbers.
        promised = min(promised, most)
    borrowing = entry.borrowing_limit.get(resource)
    lending = entry.lending_limit.get(resource, promised if lends else 0)
    return Limits(
        min=promised,
        max=most,
        guarantee=max(0, promised - lending),
        ceiling=most if borrowing is None else min(most, promised + borrowing),
        weight=entry.weight.get(resource, most),
    )


def root_limits(root: Group, key: FlavorResource, capacity: Amount) -> Limits:
    """Return root's limits for a key of that capacity: as written, but never above the capacity."""
    written = limits_of(root, NO_CAPS, {key: capacity}).get(key)
    if written is None:
        return Limits(max=capacity, ceiling=capacity)
    return msgspec.structs.replace(written, ceiling=min(written.ceiling, capacity))
