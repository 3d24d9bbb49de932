"""What would let a pending workload start: every change that is one number, and whose end would do.

Each is tried in the engine: alone, it lets the next cycles start the workload, and no smaller number does.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import partial
from math import gcd
from typing import Final

from shared.quota.decide.advise import changes
from shared.quota.decide.advise.smallest import smallest
from shared.quota.decide.advise.starting import Trial
from shared.quota.decide.explain.explanation import WorkloadExplanation
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import Snapshot
from shared.quota.measure.static.capacity import FlavorMatcher, with_default_flavor
from shared.quota.model.node import ClusterNode
from shared.quota.model.settings import CapacitySource
from shared.quota.model.tree import ROOT, StopPolicy
from shared.quota.model.workload import Workload
from shared.resources import Amount, FlavorResource

MOST_WAITED_FOR: Final = 24
"""How many of the largest holders are tried as a remedy by their end."""
MOST_NODES: Final = 16


class RemedyAction(StrEnum):
    """What a person could do."""

    RAISE_MIN = "RaiseMin"
    RAISE_MAX = "RaiseMax"
    ADD_CAPACITY = "AddCapacity"
    ADD_NODE = "AddNode"
    WAIT_FOR = "WaitFor"
    EVICT = "Evict"
    RESUME = "Resume"
    SHRINK_REQUEST = "ShrinkRequest"


@dataclass(frozen=True, slots=True)
class Remedy:
    """One change, and the changes that it requires; fields that do not apply to the action are empty or 0."""

    do: RemedyAction
    group: str = ""
    flavor: str = ""
    resource: str = ""
    by: Amount = 0
    workload: str = ""
    pod_set: str = ""
    """For ShrinkRequest of a workload with several: which one."""
    like: str = ""
    """For AddNode: the node that the new ones are like."""
    also: tuple["Remedy", ...] = ()


@dataclass(frozen=True, slots=True)
class Advice:
    """Remedies, and when the workload starts if nothing is done; None: never."""

    starts_at: datetime | None
    remedies: tuple[Remedy, ...]


NO_ADVICE: Final = Advice(None, ())
"""Where remedies are not searched for."""


def advise(snapshot: Snapshot, explanation: WorkloadExplanation) -> Advice:
    """Find what lets the workload start, on top of what the snapshot's world does by itself.

    If it starts in the next cycles anyway there is nothing to do. If it starts later, because a time passes, remedies
    let it start now. What is on hold for another reason than its owner's label has none: the reason says what to do.
    """
    workload, world = explanation.workload, snapshot.world
    later = Trial(workload.id, snapshot.now, time_passes=True)
    starts_at = later.starts_at(world)
    if not workload.is_pending or workload.hold_reason or starts_at == snapshot.now:
        return Advice(starts_at, ())
    trial = later if starts_at is None else replace(later, time_passes=False)
    if starts_at is not None and trial.starts(world):
        return Advice(starts_at, ())
    resumes, base, current = _resumes(snapshot, workload)
    if resumes and trial.starts(base):
        return Advice(starts_at, (replace(resumes[0], also=resumes[1:]),))
    search = _Search(snapshot, base, current, trial, explanation)
    return Advice(starts_at, tuple(replace(each, also=(*each.also, *resumes)) for each in search.remedies()))


def _resumes(snapshot: Snapshot, workload: Workload) -> tuple[tuple[Remedy, ...], World, Workload]:
    """What holds the workload or its group, the world without that, and the workload there."""
    found, world, current = list[Remedy](), snapshot.world, workload
    if workload.hold or workload.deactivated:
        current = changes.resumed(workload)
        world = changes.with_workload(world, workload, current)
        found.append(Remedy(RemedyAction.RESUME, workload=workload.key))
    leaf = snapshot.leaves.get(workload.group)
    for name in leaf.path if leaf is not None and not leaf.may_start else ():
        group = world.tree.get(name)
        if group is not None and group.stop_policy in (StopPolicy.HOLD, StopPolicy.HOLD_AND_DRAIN):
            world = changes.with_opened(world, name)
            found.append(Remedy(RemedyAction.RESUME, group=name))
    return tuple(found), world, current


class _Search:
    """The search in one world, with one workload that waits in it."""

    def __init__(
        self, snapshot: Snapshot, world: World, workload: Workload, trial: Trial, explanation: WorkloadExplanation
    ) -> None:
        self._snapshot = snapshot
        self._world = world
        self._workload = workload
        self._trial = trial
        self._explanation = explanation
        self._keys = tuple(dict.fromkeys(_keys(world, workload)))
        bindings = [each.binding for each in explanation.flavors if each.binding is not None]
        self._hints = [each.missing for each in bindings if each.missing > 0]

    def remedies(self) -> Iterator[Remedy]:
        """Every remedy, in the order of `RemedyAction`."""
        found = [*self._raised_mins(), *self._raised_maxes(), *self._capacities()]
        yield from found
        if not any(each.do is RemedyAction.ADD_CAPACITY for each in found):
            yield from self._capacities_together()
        yield from self._nodes()
        yield from self._ends()
        yield from self._smaller_requests()

    def _raised_mins(self) -> Iterator[Remedy]:
        for group in changes.path_below_root(self._world, self._workload.group):
            for key in self._keys:
                by = self._smallest(partial(self._with_min, group, key), self._most(key), key)
                ancestors = changes.with_raised_min(self._world, group, key, by)[1] if by is not None else {}
                if by is not None and not self._is_enough_alone(ancestors, key):
                    also = tuple(_raise(RemedyAction.RAISE_MIN, name, key, more) for name, more in ancestors.items())
                    yield replace(_raise(RemedyAction.RAISE_MIN, group, key, by), also=also)

    def _is_enough_alone(self, ancestors: Mapping[str, Amount], key: FlavorResource) -> bool:
        """Whether raising one of the ancestors would do without the group below it."""
        return any(self._trial.starts(self._with_min(name, key, by)) for name, by in ancestors.items())

    def _with_min(self, group: str, key: FlavorResource, by: Amount) -> World | None:
        return changes.with_raised_min(self._world, group, key, by)[0]

    def _raised_maxes(self) -> Iterator[Remedy]:
        for group in self._world.tree.path(self._workload.group):
            for key in self._keys:
                by = self._smallest(partial(changes.with_raised_max, self._world, group, key), self._most(key), key)
                if by is not None:
                    yield _raise(RemedyAction.RAISE_MAX, group, key, by)

    def _capacities(self) -> Iterator[Remedy]:
        """More of its own keys, or of keys that others would take."""
        for key in (*self._capacity_keys(), *self._other_capacity_keys()):
            by = self._smallest(partial(self._with_more, self._world, key), self._most(key), key)
            if by is not None:
                yield self._capacity(key, by)

    def _capacities_together(self) -> Iterator[Remedy]:
        """More of several resources of one flavor at once, each as little as the others allow."""
        for flavor in dict.fromkeys(key.flavor for key in self._capacity_keys()):
            keys = [key for key in self._capacity_keys() if key.flavor == flavor]
            world = self._world
            for key in keys:
                world = self._with_more(world, key, self._most(key))
            if len(keys) > 1 and self._trial.starts(world):
                first, *rest = self._least(world, keys)
                yield replace(first, also=(*first.also, *rest))

    def _least(self, world: World, keys: Iterable[FlavorResource]) -> Iterator[Remedy]:
        """From a world with more than enough of all keys, take away one after another what is not needed."""
        for key in keys:
            without = self._with_more(world, key, 0)
            by = None
            if not self._trial.starts(without):
                by = self._smallest(partial(self._with_more, world, key), self._most(key), key)
            world = without if by is None else self._with_more(world, key, by)
            if by is not None:
                yield self._capacity(key, by)

    def _with_more(self, world: World, key: FlavorResource, by: Amount) -> World:
        """Increase the capacity by this much, and root's max if it would be the limit."""
        capped = self._capped(key, by)
        raised = changes.with_raised_max(world, ROOT, key, capped) if capped else world
        return changes.with_capacity(raised or world, key, self._snapshot.capacity.get(key, 0) + by)

    def _capped(self, key: FlavorResource, by: Amount) -> Amount:
        """By how much root's own max is below the capacity after that."""
        entry = self._world.tree[ROOT].entry(key.flavor)
        most = entry.max.get(key.resource) if entry is not None else None
        return 0 if most is None else max(0, self._snapshot.capacity.get(key, 0) + by - most)

    def _capacity(self, key: FlavorResource, by: Amount) -> Remedy:
        capped = self._capped(key, by)
        also = (_raise(RemedyAction.RAISE_MAX, ROOT, key, capped),) if capped else ()
        return Remedy(RemedyAction.ADD_CAPACITY, flavor=key.flavor, resource=key.resource, by=by, also=also)

    def _capacity_keys(self) -> Sequence[FlavorResource]:
        """The keys whose capacity is not just the sum of the first level's min."""
        settings = self._world.settings
        if settings.capacity_source is CapacitySource.NODES:
            return self._keys
        given = {(flavor, resource) for flavor, resource, _ in settings.capacity}
        return [key for key in self._keys if key in given]

    def _other_capacity_keys(self) -> Sequence[FlavorResource]:
        """Keys given as a number that it cannot take itself: others would move there, or a head before it would start.

        They are of resources that it requests, or that workloads before it in its queue do.
        """
        given = (FlavorResource(flavor, resource) for flavor, resource, _ in self._world.settings.capacity)
        wanted = {
            resource
            for each in (self._workload, *self._before_it())
            for resource, amount in each.request.items()
            if amount > 0
        }
        return [key for key in given if key not in self._keys and key.resource in wanted]

    def _before_it(self) -> Sequence[Workload]:
        """The workloads before it in the queue of its leaf."""
        leaf = self._snapshot.leaves.get(self._workload.group)
        return leaf.pending[: max(0, self._explanation.position - 1)] if leaf is not None else ()

    def _nodes(self) -> Iterator[Remedy]:
        settings = self._world.settings
        if settings.capacity_source is not CapacitySource.NODES:
            return
        given = {flavor for flavor, _, _ in settings.capacity}
        for flavor in dict.fromkeys(key.flavor for key in self._keys if key.flavor not in given):
            like = self._largest_node(flavor)
            by = None
            if like is not None:
                by = self._smallest_effect(partial(changes.with_nodes, self._world, like), MOST_NODES)
            if like is not None and by is not None:
                yield Remedy(RemedyAction.ADD_NODE, flavor=flavor, by=by, like=like.name)

    def _largest_node(self, flavor: str) -> ClusterNode | None:
        matcher = FlavorMatcher(with_default_flavor(self._world.flavors))
        nodes = [each for each in self._world.nodes if matcher.flavor_of(each.labels) == flavor]
        resources = [key.resource for key in self._keys if key.flavor == flavor]
        return max(nodes, key=lambda each: [each.allocatable.get(name, 0) for name in resources], default=None)

    def _ends(self) -> Iterator[Remedy]:
        """Running workloads, and those before it in its queue, whose end alone would do."""
        held = [holder for each in self._explanation.flavors for holder in each.holders]
        holders = sorted(held, key=lambda each: (-each.amount, each.workload.id))
        known = {each.workload.id: each.workload for each in holders[:MOST_WAITED_FOR]}
        known |= {each.id: each for each in self._before_it()[:MOST_WAITED_FOR]}
        doing = [each for each in known.values() if self._trial.starts(changes.without(self._world, each))]
        for each in doing:
            yield Remedy(RemedyAction.WAIT_FOR, group=each.group, workload=each.key)
        for each in doing:
            if each.admission is not None and not each.is_evicting:
                yield Remedy(RemedyAction.EVICT, group=each.group, workload=each.key)

    def _smaller_requests(self) -> Iterator[Remedy]:
        for pod_set in self._workload.sets:
            name = pod_set.name if self._workload.pod_sets else ""
            for resource, amount in sorted(pod_set.request.items()):
                by = self._smallest_effect(partial(self._with_less, name, resource), amount - 1, self._unit(resource))
                if by is not None:
                    remedy = Remedy(RemedyAction.SHRINK_REQUEST, resource=resource, by=by, workload=self._workload.key)
                    yield replace(remedy, pod_set=name)

    def _with_less(self, pod_set: str, resource: str, by: Amount) -> World:
        return changes.with_workload(
            self._world, self._workload, changes.with_less(self._workload, pod_set, resource, by)
        )

    def _smallest(self, after: Callable[[int], World | None], most: int, key: FlavorResource) -> int | None:
        own = self._workload.request.get(key.resource, 0)
        return smallest(lambda by: self._trial.starts(after(by)), most, (*self._hints, own), self._unit(key.resource))

    def _unit(self, resource: str) -> Amount:
        """What all requests and the workload's own are multiples of."""
        workloads = (each for found in self._world.workload_sets.values() for each in found.by_id.values())
        return gcd(*(each.request.get(resource, 0) for each in workloads)) or 1

    def _smallest_effect(self, after: Callable[[int], World | None], most: int, unit: Amount = 1) -> int | None:
        return smallest(lambda by: self._trial.starts(after(by)), most, self._hints, unit)

    def _most(self, key: FlavorResource) -> Amount:
        """More than that of a key changes nothing any more: all that is requested, promised and there."""
        workloads = (each for found in self._world.workload_sets.values() for each in found.by_id.values())
        requested = sum(each.request.get(key.resource, 0) for each in workloads)
        promised = sum(changes.min_of(group, key) for group in self._world.tree.groups.values())
        return requested + promised + self._snapshot.capacity.get(key, 0)


def _keys(world: World, workload: Workload) -> Iterator[FlavorResource]:
    group = world.tree.get(workload.group)
    for entry in group.quotas if group is not None else ():
        if workload.only_flavor in (None, entry.flavor):
            for resource in sorted(entry.covered):
                if workload.request.get(resource, 0) > 0:
                    yield FlavorResource(entry.flavor, resource)


def _raise(do: RemedyAction, group: str, key: FlavorResource, by: Amount) -> Remedy:
    return Remedy(do, group=group, flavor=key.flavor, resource=key.resource, by=by)
