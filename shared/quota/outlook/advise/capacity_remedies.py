"""Remedies that add capacity: an amount of one key, of several keys and with larger maxes together, or whole nodes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

from shared.api.names import COUNTS, WORKLOAD_COUNT
from shared.quota.measure.inputs.world import World
from shared.quota.measure.static.capacity import FlavorMatcher, with_default_flavor
from shared.quota.model.node import ClusterNode
from shared.quota.model.settings import CapacitySource
from shared.quota.model.tree import ROOT
from shared.quota.outlook.advise import changes
from shared.quota.outlook.advise.remedy import Remedy, RemedyAction, raise_by
from shared.quota.outlook.advise.search import Search, WorldChange
from shared.quota.outlook.advise.smallest import SmallestNumber
from shared.quota.outlook.advise.steps import LIMITS, steps_of
from shared.resources import Amount, FlavorResource

MOST_NODES: Final = 16


class Limit(NamedTuple):
    """What can be raised, by which action: a group's min or max for one key; without a group, the capacity."""

    do: RemedyAction
    group: str
    key: FlavorResource


Raises = Mapping[Limit, SmallestNumber]
"""Limit → by how much it is raised, in the order in which that is done."""


class CapacityRemedies:
    """What more capacity would do in one search."""

    def __init__(self, search: Search) -> None:
        self._search = search

    def alone(self) -> Iterator[Remedy]:
        """Add more of its own keys, or of keys that others would take."""
        for key in (*self._capacity_keys(), *self._other_capacity_keys()):
            found = self._search.smallest_of(key, partial(self._with_more, key=key))
            if found is not None:
                yield self._capacity(key, found)

    def together(self, limits: Sequence[Limit]) -> Iterator[Remedy]:
        """Raise several of these limits, and of capacities, each as little as the others allow.

        They are of one flavor, with the counts of workloads; if there is no such remedy, of all flavors.
        """
        every = [*limits, *(Limit(RemedyAction.ADD_CAPACITY, "", key) for key in reversed(self._capacity_keys()))]
        flavors = dict.fromkeys(each.key.flavor for each in every if each.key.flavor != COUNTS)
        of_one = [[each for each in every if each.key.flavor in (flavor, COUNTS)] for flavor in flavors]
        found = [each for each in map(self._least, of_one) if each is not None]
        if not found and len(flavors) > 1:
            found = [each for each in (self._least(every),) if each is not None]
        yield from found

    def limits(self) -> Sequence[Limit]:
        """Return every max on the workload's path that is written, and every min if it counts, from root's down."""
        workload, world = self._search.workload, self._search.world
        path, below = world.tree.path(workload.group), changes.path_below_root(world, workload.group)
        groups = {RemedyAction.RAISE_MAX: path, RemedyAction.RAISE_MIN: () if workload.preemptible else below}
        found = (
            Limit(do, group, key)
            for do, names in groups.items()
            for group in reversed(names)
            for key in self._search.keys
        )
        return [each for each in found if self._highest(each) > 0]

    def _least(self, limits: Sequence[Limit]) -> Remedy | None:
        """Take away from what is more than enough what is not needed; None where all of them do not do."""
        enough = {each: SmallestNumber(self._highest(each)) for each in limits}
        if len(enough) < 2 or not self._starts_at_once(enough):
            return None
        # Capacity costs most, so it is the first to be left out.
        for each in reversed(limits):
            fewer = {limit: by for limit, by in enough.items() if limit != each}
            if fewer and self._starts_at_once(fewer):
                enough = fewer
        # From the leaf up, as a parent promises what its children do. Capacity comes last: while there is room enough,
        # a limit is raised by no more than what it lacks. What is lowered later might let the earlier be lower, too.
        of_groups = [each for each in reversed(enough) if each.group]
        in_turn = [*of_groups, *(each for each in enough if not each.group)]
        for each in (*in_turn, *in_turn[:-1]):
            most = enough[each].number
            found = self._search.smallest_in_steps(each.key, partial(self._steps, enough, each), most)
            if found is None:
                return None
            enough = enough | {each: found}
        return self._remedy(enough)

    def _starts_at_once(self, raises: Raises) -> bool:
        return self._search.starts_at_once(steps_of(self._remedy(raises), self._search.snapshot))

    def _steps(self, raises: Raises, limit: Limit, by: Amount) -> Sequence[WorldChange]:
        """Return the changes with another amount for one limit."""
        return steps_of(self._remedy({**raises, limit: SmallestNumber(by)}), self._search.snapshot)

    def _remedy(self, raises: Raises) -> Remedy:
        """Return the remedy that raises the limits by so much, one after another."""
        world = self._search.world
        done = list[Remedy]()
        for (do, group, key), by in raises.items():
            remedy = raise_by(do, group, key, by)
            if group:
                percent = changes.percent_after(world, group, LIMITS[do].value, key, by.number)
                remedy = replace(remedy, percent=percent)
                world = changes.with_raised_limit(world, by.number, group, LIMITS[do], key) or world
            done.append(remedy)
        return replace(done[-1], also=tuple(done[:-1]))

    def _highest(self, limit: Limit) -> Amount:
        """Return by how much a limit is raised at most; 0 for a max that is not written."""
        do, group, key = limit
        world, most = self._search.world, self._search.most(key)
        if not group or changes.with_raised(world, group, LIMITS[do], key, most) is not None:
            return most
        # As a percent it would be too large.
        most = self._search.up_to_the_clusters_size(key, changes.max_of(changes.with_amounts(world)[group], key))
        return 0 if changes.with_raised(world, group, LIMITS[do], key, most) is None else most

    def _with_more(self, world: World, by: Amount, key: FlavorResource) -> World:
        """Increase the capacity by that much, and root's max where it would be the limit."""
        capped = self._capped(key, by)
        raised = changes.with_raised_max(world, capped, ROOT, key) if capped else world
        return changes.with_capacity(raised or world, key, self._search.snapshot.capacity.get(key, 0) + by)

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
