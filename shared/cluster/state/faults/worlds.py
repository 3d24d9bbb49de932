"""Which object of a world makes deciding on it fail: the world is data, so it is decided on parts of it. Pure."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Final, TypeVar

from shared.cluster.state.faults.bisection import Bisection, least_failing
from shared.quota.measure.inputs.workload_set import WorkloadChange
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.flavor import Flavor
from shared.quota.model.node import ClusterNode
from shared.quota.model.tree import ROOT, Group, Tree
from shared.quota.model.workload import Workload

T = TypeVar("T")
WorldPart = Workload | Group | Flavor | ClusterNode
DecideOnPart = Callable[[World, Snapshot | None], Snapshot]
"""Decides on a world, measured on top of a snapshot of a similar one. Raises what makes that fail."""
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


def find_parts(world: World, decide: DecideOnPart, last: Snapshot | None) -> Bisection[list[WorldPart] | None]:
    """Return the objects with which it fails, and without any one of which it does not; empty: none fails by itself.

    None: it fails without any object, so none is responsible. `last`: of the latest decision that did not fail.
    Workloads that are not in it are looked at first; then the leaves, those that have changed since before others, on
    top of what is known of them; then the workloads of the leaf. A large world is seldom decided on as a whole.
    """
    bare = world.only(())
    decided = _decided(decide, bare, None)
    if decided is None:
        objects: list[WorldPart] = [*world.tree.groups.values(), *world.flavors.values(), *world.nodes]
        return (yield from _found(objects, lambda chosen: _decided(decide, with_objects(bare, chosen), None) is None))

    def fails_on(base: Snapshot, chosen: Iterable[WorldPart]) -> bool:
        changes = [(None, each) for each in chosen if isinstance(each, Workload)]
        return _decided(decide, bare.with_changes(changes), base) is None

    base, leaves = decided, list(world.workload_sets)
    if last is not None:
        base, known, touched = last, last.world, world.changed_since(last.world)
        new = [each for each in _workloads(world, touched) if not _is_in(known, each)]
        found = yield from _found(new, partial(fails_on, decided))
        if found:
            return found
        leaves.sort(key=lambda name: name not in touched)
    failing = yield from _found(leaves, lambda chosen: _decided(decide, world.only(chosen), base) is None)
    if not failing:
        return []
    found = yield from least_failing(_workloads(world, failing), partial(fails_on, base))
    return found if base is decided or fails_on(decided, found) else []


def _workloads(world: World, groups: Iterable[str]) -> list[WorldPart]:
    return [each for name in groups for each in world.workloads_of(name).by_id.values()]


def _decided(decide: DecideOnPart, world: World, last: Snapshot | None) -> Snapshot | None:
    try:
        return decide(world, last)
    except Exception:
        return None


def _found(suspects: Sequence[T], fails_with: Callable[[Sequence[T]], bool]) -> Bisection[list[T] | None]:
    def fails(chosen: Sequence[T]) -> bool:
        try:
            return fails_with(chosen)
        except Exception:
            return True

    yield
    if fails(()):
        return None
    yield
    if not suspects or not fails(suspects):
        return []
    return (yield from least_failing(suspects, fails))


def with_objects(world: World, chosen: Iterable[WorldPart]) -> World:
    """Return the world with no groups, flavors and nodes but these; root is always there."""
    parts = list(chosen)
    tree = Tree.of(each for each in parts if isinstance(each, Group))
    return replace(
        world,
        tree=tree,
        written=None,
        flavors={each.name: each for each in parts if isinstance(each, Flavor)},
        nodes=tuple(each for each in parts if isinstance(each, ClusterNode)),
        largest_nodes=None,
        over_since={where: since for where, since in world.over_since.items() if where[0] in tree},
        past_use={name: use for name, use in world.past_use.items() if name in tree},
        requester_use={name: use for name, use in world.requester_use.items() if name in tree},
        inactive={name: why for name, why in world.inactive.items() if name in tree},
    )


def with_each(world: World, changes: Sequence[WorkloadChange]) -> tuple[World, list[tuple[Workload, Exception]]]:
    """Return the world after all changes that can be made, and the workloads of which that fails."""
    try:
        return world.with_changes(changes), []
    except Exception:
        failed: list[tuple[Workload, Exception]] = []
        for change in changes:
            try:
                world = world.with_changes([change])
            except Exception as error:
                workload = change[1] or change[0]
                if workload is not None:
                    failed.append((workload, error))
        return world, failed


def most_suspicious(parts: Sequence[WorldPart], last_good: World | None) -> WorldPart:
    """Return the part to blame of those that fail together: one that has changed since all went well, else the newest.

    Where an object names another one, the one that names is the later of the two.
    """

    def suspicion(part: WorldPart) -> tuple[bool, bool, datetime]:
        is_new = last_good is None or not _is_in(last_good, part)
        return is_new, not (isinstance(part, Group) and part.name == ROOT), _created(part)

    return max(parts, key=suspicion)


def _is_in(world: World, part: WorldPart) -> bool:
    if isinstance(part, Workload):
        return world.workloads_of(part.group).by_id.get(part.id) is part
    if isinstance(part, Group):
        return world.tree.get(part.name) is part
    return any(each is part for each in (world.flavors.values() if isinstance(part, Flavor) else world.nodes))


def _created(part: WorldPart) -> datetime:
    found = part.created if isinstance(part, Workload | Group) else None
    return found or _LONG_AGO
