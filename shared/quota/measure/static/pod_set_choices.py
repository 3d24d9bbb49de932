"""Several pod sets together: the flavors that they can have at once, and what each choice comes to.

Each pod set comes on top of what those before it took: what counts is the sum by key.

    Two sets of 3 gpu, flavor a of at most 4 and flavor b of at most 3: (a, b) and (b, a) could fit, (a, a) never.
    While the workload waits it counts 3 gpu in a and 3 in b, the most that any of these takes there.

See docs/specification.md §3.4 and §6.6.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice, product
from typing import Final

from shared.quota.model.eligibility import FlavorSet, agree
from shared.quota.model.flavor import Flavor
from shared.resources import Amount, FlavorResource, quantities_in

MOST_ASSIGNMENTS: Final = 256
"""How many combinations of several sets are kept; a bound for absurd trees only."""
MOST_COMPARED: Final = 16 * MOST_ASSIGNMENTS
"""How many are looked at for several pod sets, to find those that could ever fit."""

Counted = tuple[tuple[FlavorResource, Amount], ...]
"""Key and amount; every key once."""


def combinations(sets: Sequence[FlavorSet], flavors: Mapping[str, Flavor]) -> Iterator[tuple[str, ...]]:
    """Return one flavor for each set, in order of preference, without those that no node could have."""
    choices = islice(product(*(each.flavors for each in sets)), MOST_COMPARED)
    if len({each.pod_set.name for each in sets}) == len(sets):
        return choices
    return (chosen for chosen in choices if agrees(sets, chosen, flavors))


def agrees(sets: Sequence[FlavorSet], chosen: Sequence[str], flavors: Mapping[str, Flavor]) -> bool:
    """Return whether the flavors of each pod set are such that a node could have them all."""
    pairs = zip(sets, chosen, strict=True)
    by_pod_set = ([name for _, name in own] for _, own in groupby(pairs, key=lambda pair: pair[0].pod_set.name))
    return all(len(names) < 2 or agree(flavors[name] for name in names if name in flavors) for names in by_pod_set)


def totals(sets: Sequence[FlavorSet], chosen: Sequence[str]) -> Counted:
    """Return what all sets take in these flavors, by key."""
    pairs = zip(sets, chosen, strict=True)
    return sum_of([quantities_in(each.pod_set.request, each.resources, flavor) for each, flavor in pairs])


def totals_of_each(sets: Sequence[FlavorSet], choices: Iterable[Sequence[str]]) -> Iterator[Counted]:
    """Yield the same for each of these choices, of flavors that the sets may take."""
    requests = requests_of(sets)
    return (sum_of([own[flavor] for own, flavor in zip(requests, chosen, strict=True)]) for chosen in choices)


def sum_of(parts: Iterable[Counted]) -> Counted:
    """Return what all parts count together, by key."""
    found: dict[FlavorResource, Amount] = {}
    for part in parts:
        for key, amount in part:
            found[key] = found.get(key, 0) + amount
    return tuple(found.items())


def requests_of(sets: Sequence[FlavorSet]) -> Sequence[Mapping[str, Counted]]:
    """Return for each set: flavor -> what it requests there. Many choices ask for it, so it is computed once."""
    return [
        {flavor: quantities_in(each.pod_set.request, each.resources, flavor) for flavor in each.flavors}
        for each in sets
    ]


def most_of(parts: Iterable[Counted]) -> Counted:
    """Return the largest amount of every key."""
    found: dict[FlavorResource, Amount] = {}
    for part in parts:
        for key, amount in part:
            found[key] = max(found.get(key, 0), amount)
    return tuple(found.items())
