"""Remedies that add capacity: an amount of one key, of several keys of a flavor together, or whole nodes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from shared.api.names import WORKLOAD_COUNT
from shared.quota.measure.inputs.world import World
from shared.quota.measure.static.capacity import FlavorMatcher, with_default_flavor
from shared.quota.model.node import ClusterNode
from shared.quota.model.settings import CapacitySource
from shared.quota.model.tree import ROOT
from shared.quota.outlook.advise import changes
from shared.quota.outlook.advise.remedy import Remedy, RemedyAction, raise_by
from shared.quota.outlook.advise.search import Search
from shared.quota.outlook.advise.smallest import SmallestNumber
from shared.resources import Amount, FlavorResource

MOST_NODES: Final = 16
NOTHING: Final[Mapping[FlavorResource, Amount]] = {}


class CapacityRemedies:
    """What more capacity would do in one search."""

    def __init__(self, search: Search) -> None:
        self._search = search

    def alone(self) -> Iterator[Remedy]:
        """Add more of its own keys, or of keys that others would take."""
        for key in (*self._capacity_keys(), *self._other_capacity_keys()):
            found = self._search.smallest_of(key, partial(self._with_one_more, others=NOTHING, key=key))
            if found is not None:
                yield self._capacity(key, found)

    def together(self) -> Iterator[Remedy]:
        """Add more of several resources of one flavor at once, each as little as the others allow."""
        for flavor in dict.fromkeys(key.flavor for key in self._capacity_keys()):
            most = {key: self._search.most(key) for key in self._capacity_keys() if key.flavor == flavor}
            if len(most) > 1 and self._search.starts(partial(self._with_more, amounts=most)):
                first, *rest = self._least(most)
                yield replace(first, also=(*first.also, *rest))

    def with_larger_maxes(self) -> Iterator[Remedy]:
        """Raise every max on the path that is below the request, and add what the cluster lacks then."""
        for flavor in dict.fromkeys(key.flavor for key in self._search.keys):
            keys = [key for key in self._search.keys if key.flavor == flavor]
            raised = self._larger_maxes(keys)
            if not raised:
                continue
            if self._search.starts(partial(_with_maxes, raised=raised)):
                yield replace(raised[-1], also=tuple(raised[:-1]))
                continue
            for key in self._capacity_keys():
                both = partial(self._with_maxes_and_more, raised=raised, key=key)
                found = self._search.smallest_of(key, both) if key in keys else None
                if found is not None:
                    more = self._capacity(key, found)
                    yield replace(more, also=(*more.also, *raised))

    def _larger_maxes(self, keys: Iterable[FlavorResource]) -> list[Remedy]:
        """Return by how much each max on the path is to be raised, from the top down."""
        search, found = self._search, list[Remedy]()
        world = search.world
        for group in reversed(changes.path_below_root(world, search.workload.group)):
            for key in keys:
                most = changes.max_of(changes.with_amounts(world)[group], key)
                short = search.workload.request.get(key.resource, 0) - most
                changed = changes.with_raised_max(world, short, group, key) if most and short > 0 else None
                if changed is not None:
                    world = changed
                    found.append(raise_by(RemedyAction.RAISE_MAX, group, key, SmallestNumber(short)))
        return found

    def _least(self, enough: Mapping[FlavorResource, Amount]) -> Iterator[Remedy]:
        """Take away from what is more than enough of all keys, one after another, what is not needed."""
        left = dict(enough)
        for key in enough:
            del left[key]
            found = None
            if not self._search.starts(partial(self._with_more, amounts=left)):
                found = self._search.smallest_of(key, partial(self._with_one_more, others=left, key=key))
            if found is not None:
                left[key] = found.number
                yield self._capacity(key, found)

    def _with_more(self, world: World, amounts: Mapping[FlavorResource, Amount]) -> World:
        """Increase the capacity by these amounts, and root's max where it would be the limit."""
        for key, by in amounts.items():
            capped = self._capped(key, by)
            raised = changes.with_raised_max(world, capped, ROOT, key) if capped else world
            world = changes.with_capacity(raised or world, key, self._search.snapshot.capacity.get(key, 0) + by)
        return world

    def _with_one_more(
        self, world: World, by: Amount, others: Mapping[FlavorResource, Amount], key: FlavorResource
    ) -> World:
        return self._with_more(world, {**others, key: by})

    def _with_maxes_and_more(
        self, world: World, by: Amount, raised: Iterable[Remedy], key: FlavorResource
    ) -> World | None:
        larger = _with_maxes(world, raised)
        return larger and self._with_more(larger, {key: by})

    def _capped(self, key: FlavorResource, by: Amount) -> Amount:
        """Return by how much root's own max is below the capacity after that."""
        entry = self._search.world.tree[ROOT].entry(key.flavor)
        most = entry.max.get(key.resource) if entry is not None else None
        return 0 if most is None else max(0, self._search.snapshot.capacity.get(key, 0) + by - most)

    def _capacity(self, key: FlavorResource, found: SmallestNumber) -> Remedy:
        capped = self._capped(key, found.number)
        also = (raise_by(RemedyAction.RAISE_MAX, ROOT, key, SmallestNumber(capped)),) if capped else ()
        return replace(raise_by(RemedyAction.ADD_CAPACITY, "", key, found), also=also)

    def _capacity_keys(self) -> Sequence[FlavorResource]:
        """Return the keys whose capacity is not just what some group's limit says."""
        settings = self._search.world.settings
        if settings.capacity_source is CapacitySource.NODES:
            return [key for key in self._search.keys if key.resource != WORKLOAD_COUNT]
        given = {(flavor, resource) for flavor, resource, _ in settings.capacity}
        return [key for key in self._search.keys if key in given]

    def _other_capacity_keys(self) -> Sequence[FlavorResource]:
        """Return keys given as a number that it cannot take itself: in more of them, others would make room for it."""
        given = (FlavorResource(flavor, resource) for flavor, resource, _ in self._search.world.settings.capacity)
        return [key for key in given if key not in self._search.keys]

    def nodes(self) -> Iterator[Remedy]:
        """Add more nodes like the largest one of a flavor; they may join at once, or with cycles between."""
        settings = self._search.world.settings
        if settings.capacity_source is not CapacitySource.NODES:
            return
        given = {flavor for flavor, _, _ in settings.capacity}
        for flavor in dict.fromkeys(key.flavor for key in self._search.keys if key.flavor not in given):
            like = self._largest_node(flavor)
            if like is None:
                continue
            by = self._search.smallest_repetition(partial(changes.with_nodes, number=1, like=like), MOST_NODES)
            if by is not None and self._search.starts(partial(changes.with_nodes, number=by, like=like)):
                yield Remedy(RemedyAction.ADD_NODE, flavor=flavor, by=by, like=like.name)

    def _largest_node(self, flavor: str) -> ClusterNode | None:
        matcher = FlavorMatcher(with_default_flavor(self._search.world.flavors))
        nodes = [each for each in self._search.world.nodes if matcher.flavor_of(each.labels) == flavor]
        resources = [key.resource for key in self._search.keys if key.flavor == flavor]
        return max(nodes, key=lambda each: [each.allocatable.get(name, 0) for name in resources], default=None)


def _with_maxes(world: World, raised: Iterable[Remedy]) -> World | None:
    """Raise these maxes."""
    found: World | None = world
    for each in raised:
        key = FlavorResource(each.flavor, each.resource)
        found = found and changes.with_raised_max(found, each.by, each.group, key)
    return found
