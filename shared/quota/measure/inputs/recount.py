"""A world whose groups count something else than before: its workloads then request other counts."""

from shared.quota.measure.inputs.workload_set import WorkloadChange
from shared.quota.measure.inputs.world import World
from shared.quota.model.counts.entries import counts_on_path
from shared.quota.model.counts.requests import with_counts_requested
from shared.quota.model.tree import Tree


def recounted(world: World, before: Tree) -> World:
    """Return the world in which workloads request what its tree counts; until now they do what `before` counts."""
    if not (world.tree.counts or before.counts):
        return world
    changes: list[WorkloadChange] = []
    for name, found in world.workload_sets.items():
        counts = counts_on_path(world.tree.get, name)
        if counts != counts_on_path(before.get, name):
            changes.extend((each, with_counts_requested(each, counts)) for each in found.by_id.values())
    return world.with_changes(changes) if changes else world
