"""Which object of a world makes deciding on it fail: the world is data, so it is decided on parts of it. Pure."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from shared.cluster.state.faults.bisection import Bisection, least_failing
from shared.quota.measure.inputs.workload_set import WorkloadChange
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.flavor import Flavor
from shared.quota.model.node import ClusterNode
from shared.quota.model.tree import ROOT, Group, Tree
from shared.quota.model.workload import Workload

WorldPart = Workload | Group | Flavor | ClusterNode
DecideOnPart = Callable[[World, Snapshot | None], Snapshot]
"""Decides on a world, measured on top of a snapshot of a similar one. Raises what makes that fail."""
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


def find_parts(world: World, decide: DecideOnPart, last_good: World | None) -> Bisection[list[WorldPart] | None]:
    """Return the objects with which it fails, and without any one of which it does not; empty: it does not fail.

    None: it fails without any object, so none is responsible. `last_good`: where it did not fail; workloads that are
    not in it are looked at first, then all in leaves that have changed since, so that a large world is seldom decided
    on as a whole. A world without workloads is decided on once, and each part of the workloads on top of that.
    """
    bare = with_workloads(world, ())
    decided = _decided(decide, bare, None)
    if decided is None:
        objects: list[WorldPart] = [*world.tree.groups.values(), *world.flavors.values(), *world.nodes]
        return (yield from _found(objects, lambda chosen: _decided(decide, with_objects(bare, chosen), None) is None))

    def fails_with(chosen: Sequence[WorldPart]) -> bool:
        return _decided(decide, _with_changes(bare, chosen), decided) is None

    workloads: list[WorldPart] = [each for found in world.workload_sets.values() for each in found.by_id.values()]
    if last_good is None:
        return (yield from _found(workloads, fails_with))
    recent = [each for each in workloads if not _is_in(last_good, each)]
    touched = world.changed_since(last_good)
    beside = [each for each in workloads if isinstance(each, Workload) and each.group in touched]
    found = (yield from _found(recent, fails_with)) or (yield from _found(beside, fails_with))
    return found or (yield from _found(workloads, fails_with))


def _decided(decide: DecideOnPart, world: World, last: Snapshot | None) -> Snapshot | None:
    try:
        return decide(world, last)
    except Exception:
        return None


def _found(
    suspects: Sequence[WorldPart], fails_with: Callable[[Sequence[WorldPart]], bool]
) -> Bisection[list[WorldPart] | None]:
    def fails(chosen: Sequence[WorldPart]) -> bool:
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


def with_workloads(world: World, chosen: Iterable[WorldPart]) -> World:
    """Return the world with no workloads but these."""
    empty = replace(
        world, workload_sets={}, victims={}, preemptors={}, on_closed_nodes={}, version=object(), history=()
    )
    return _with_changes(empty, chosen)


def _with_changes(world: World, chosen: Iterable[WorldPart]) -> World:
    workloads = [each for each in chosen if isinstance(each, Workload)]
    return world.with_changes((None, each) for each in workloads) if workloads else world


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
