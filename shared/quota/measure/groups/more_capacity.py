"""One key if root had more of it: exact for limits and divisions, for the workloads that count now.

Guarantees that a short capacity scales down, and maxes that are inherited from root, grow with it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from shared.quota.measure.group_usage import Numbers
from shared.quota.measure.groups.incremental import Measurement
from shared.quota.measure.groups.runtime import Column
from shared.quota.measure.static.capacity import resolved_tree, runtime_of_root
from shared.quota.measure.static.potential_available import UNBOUND, Bounds, binding_group, revise_bounds
from shared.quota.measure.static.tree_index import TreeIndex, build_tree_index
from shared.quota.model.tree import ROOT, Tree
from shared.resources import Amount, FlavorResource


@dataclass(frozen=True, slots=True, eq=False)
class MoreCapacity:
    """What follows from limits and capacity alone with more of one key."""

    key: FlavorResource
    runtime: Amount
    """runtime(root)."""
    tree_index: TreeIndex
    bounds: Bounds
    changed: frozenset[str]
    """Groups whose limits or bounds differ from the measured ones."""

    def largest_fit(self, leaf: str) -> tuple[Amount, str]:
        """Return the same as `Snapshot.largest_fit`."""
        return self.bounds.get(leaf, UNBOUND).room, binding_group(self.tree_index, self.bounds, leaf, self.key)

    def uncertain(self, leaf: str) -> Amount:
        """Return how much of `largest_fit` others hold while nothing runs: units that remain of their scaled mins."""
        found, at = 0, leaf
        while at != ROOT:
            parent = self.tree_index.parents[at]
            siblings = (each for each in self.tree_index.children.get(parent, ()) if each != at)
            found += sum(self._idle(each) - self.bounds[each].idle for each in siblings if each in self.bounds)
            at = parent
        return found

    def _idle(self, group: str) -> Amount:
        """Return what the idle group costs its parent now, with the units that its effectiveMin got."""
        bound, limits = self.bounds[group], self.tree_index.limits[group][self.key]
        below = (self._idle(each) for each in self.tree_index.children.get(group, ()) if each in self.bounds)
        return max(min(limits.guarantee, bound.effective_min), sum(below))


def with_more(measurement: Measurement, key: FlavorResource, by: Amount) -> MoreCapacity:
    """Let root have `by` more of `key`, and raise its own max where that would be in the way."""
    static, settings = measurement.leaf_snapshots.static, measurement.leaf_snapshots.world.settings
    capacity = static.tree_index.capacity.get(key, 0) + by
    tree = _with_max(_resolved(measurement, key, by), key, capacity)
    tree_index = build_tree_index(tree, {**static.tree_index.capacity, key: capacity}, static.tree_index)
    runtime = runtime_of_root(capacity, static.outside.get(key, 0), key, settings)
    touched = tree_index.changed_limits(static.tree_index).get(key, [])
    bounds, changed = revise_bounds(tree_index, key, runtime, static.bounds.get(key, {}), touched)
    return MoreCapacity(key, runtime, tree_index, bounds, changed.union(touched))


def numbers_with(measurement: Measurement, more: MoreCapacity) -> dict[str, Mapping[FlavorResource, Numbers]]:
    """group -> the key -> its numbers, of every group that has it."""
    key, world = more.key, measurement.leaf_snapshots.world
    column = Column(more.tree_index, key, world.past_use, measurement.numbers)
    column.mark(more.changed)
    column.resolve(more.runtime)
    found = {name: each[key] for name, each in measurement.numbers.items() if key in each}
    found.update(column.results(more.bounds))
    return {name: {key: each} for name, each in found.items()}


def _resolved(measurement: Measurement, key: FlavorResource, by: Amount) -> Tree:
    """Return the tree with what its percents come to then."""
    world, known = measurement.leaf_snapshots.world, measurement.leaf_snapshots.static.tree_index.tree
    return resolved_tree(world.tree, world.flavors, world.nodes, world.settings, known, {key: by})


def _with_max(tree: Tree, key: FlavorResource, amount: Amount) -> Tree:
    """Return the tree with root's max of `key` not below `amount`, where one is written."""
    root, (flavor, resource) = tree[ROOT], key
    quotas = tuple(
        replace(entry, max={**entry.max, resource: max(amount, entry.max[resource])})
        if entry.flavor == flavor and resource in entry.max
        else entry
        for entry in root.quotas
    )
    return tree if quotas == root.quotas else tree.with_group(replace(root, quotas=quotas))
