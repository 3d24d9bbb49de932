"""What does not depend on pending workloads: the tree index, leaf settings, root's runtime, every bound."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from shared.api.names import COUNTS
from shared.quota.measure.inputs.workload_set import WorkloadSet
from shared.quota.measure.inputs.world import World
from shared.quota.measure.static.capacity import compute_capacity, resolved_tree, runtime_of_root
from shared.quota.measure.static.flavor_eligibility import FlavorOffer
from shared.quota.measure.static.leaf_settings import LeafSettings, read_leaf_settings
from shared.quota.measure.static.node_shapes import largest_nodes
from shared.quota.measure.static.potential_available import Bounds, changed_bounds, compute_bounds, revise_bounds
from shared.quota.measure.static.tree_index import TreeIndex, build_tree_index
from shared.quota.model.lifecycle import Inactive
from shared.quota.model.tree import ROOT, SYSTEM, Tree
from shared.resources import Amount, FlavorResource

NO_LEAF_SETTINGS: Final[Mapping[str, LeafSettings]] = {}
AmountByKey = Mapping[FlavorResource, Amount]


@dataclass(frozen=True, slots=True, eq=False)
class StaticState:
    """All of it, for one world. Parts that have not changed are the same objects as in the previous one."""

    tree_index: TreeIndex
    offer: FlavorOffer
    """The flavors that exist; the same object until they, their largest nodes or `resources.uncovered` change."""
    leaf_settings: Mapping[str, LeafSettings]
    """leaf -> the settings in force there."""
    inactive: Mapping[str, Inactive]
    orphaned: tuple[WorkloadSet, ...]
    system: AmountByKey
    """key -> used(system)."""
    outside: AmountByKey
    """key -> what is subtracted from root's runtime: used(system), unmanaged pods, workloads without a leaf."""
    runtimes: AmountByKey
    """key -> runtime(root)."""
    bounds: Mapping[FlavorResource, Bounds]
    changed: Mapping[FlavorResource, frozenset[str]]
    """key -> the groups whose bounds for it differ from the previous ones."""


def build_static_state(world: World, previous_world: World | None, previous: StaticState | None) -> StaticState:
    """Compute it; `previous` is that of `previous_world`."""
    if previous_world is None or previous is None:
        previous_world, previous = None, None
    tree_index = _tree_index(world, previous_world, previous)
    inactive = _inactive(world, tree_index, previous_world, previous)
    leaf_settings = _leaf_settings(world, tree_index, inactive, previous_world, previous)
    groups = world.workload_sets.keys() - leaf_settings.keys() - {SYSTEM}
    orphaned = tuple(world.workload_sets[group] for group in sorted(groups))
    of_system = {key: use.used for key, use in world.workloads_of(SYSTEM).use.items()}
    system = _added([of_system, _counted(world.system, tree_index)])
    outside = _outside(world, orphaned, system, tree_index)
    runtimes = _runtimes(world, tree_index, outside)
    bounds, changed = _bounds(tree_index, runtimes, previous)
    return StaticState(
        tree_index=tree_index,
        offer=_offer(world, previous_world, previous),
        leaf_settings=leaf_settings,
        inactive=inactive,
        orphaned=orphaned,
        system=system,
        outside=outside,
        runtimes=runtimes,
        bounds=bounds,
        changed=changed,
    )


def _tree_index(world: World, previous_world: World | None, previous: StaticState | None) -> TreeIndex:
    if previous_world is None or previous is None:
        tree = resolved_tree(world.tree, world.flavors, world.nodes, world.settings)
        return build_tree_index(tree, capacity_of(world, tree))
    known = previous.tree_index
    if (
        world.tree is previous_world.tree
        and world.nodes is previous_world.nodes
        and world.on_closed_nodes is previous_world.on_closed_nodes
        and world.flavors is previous_world.flavors
        and world.settings is previous_world.settings
    ):
        return known
    tree = resolved_tree(world.tree, world.flavors, world.nodes, world.settings, known.tree)
    capacity = capacity_of(world, tree)
    if tree is known.tree and capacity == known.capacity:
        return known
    return build_tree_index(tree, capacity, known)


def capacity_of(world: World, tree: Tree) -> dict[FlavorResource, Amount]:
    """Return root's capacity; `tree`: the world's with the amounts of its percents."""
    return compute_capacity(tree, world.flavors, world.nodes, world.settings, world.on_closed_nodes)


def _offer(world: World, previous_world: World | None, previous: StaticState | None) -> FlavorOffer:
    if previous_world is None or previous is None:
        return FlavorOffer(world.flavors, world.settings.uncovered, largest_nodes(world), world.settings.devices)
    same_flavors, same_settings = world.flavors is previous_world.flavors, world.settings is previous_world.settings
    same_nodes = world.nodes is previous_world.nodes and world.largest_nodes is previous_world.largest_nodes
    if same_flavors and same_settings and same_nodes:
        return previous.offer
    nodes, uncovered, devices = largest_nodes(world), world.settings.uncovered, world.settings.devices
    known = previous.offer
    same_settings = known.uncovered is uncovered and known.devices == devices
    if same_flavors and same_settings and (known.nodes is nodes or known.nodes == nodes):
        return known
    return FlavorOffer(world.flavors, uncovered, nodes, devices)


def _inactive(
    world: World, tree_index: TreeIndex, previous_world: World | None, previous: StaticState | None
) -> Mapping[str, Inactive]:
    if (
        previous_world is not None
        and previous is not None
        and tree_index is previous.tree_index
        and world.inactive is previous_world.inactive
    ):
        return previous.inactive
    outside = [name for name in tree_index.outside if name not in world.inactive]
    if not outside:
        return world.inactive
    found = Inactive("NotUnderRoot", "its parents do not lead to root", detached=True)
    return {**world.inactive, **dict.fromkeys(outside, found)}


def _leaf_settings(
    world: World,
    tree_index: TreeIndex,
    inactive: Mapping[str, Inactive],
    previous_world: World | None,
    previous: StaticState | None,
) -> Mapping[str, LeafSettings]:
    if previous_world is None or previous is None or world.settings is not previous_world.settings:
        return _read_all_leaf_settings(world, tree_index, inactive)
    if tree_index is previous.tree_index and inactive is previous.inactive:
        return previous.leaf_settings
    same = _unchanged_paths(tree_index, previous.tree_index)
    found = {
        leaf: head
        for leaf, head in previous.leaf_settings.items()
        if leaf in same and head.inactive == inactive.get(leaf)
    }
    return {**found, **_read_all_leaf_settings(world, tree_index, inactive, found)}


def _read_all_leaf_settings(
    world: World,
    tree_index: TreeIndex,
    inactive: Mapping[str, Inactive],
    known: Mapping[str, LeafSettings] = NO_LEAF_SETTINGS,
) -> dict[str, LeafSettings]:
    return {
        leaf: read_leaf_settings(tree_index, leaf, inactive, world.settings)
        for leaf in tree_index.order
        if leaf not in known and tree_index.is_leaf(leaf)
    }


def _unchanged_paths(tree_index: TreeIndex, previous: TreeIndex) -> set[str]:
    """Groups whose path to root consists of the same group objects, and that are leaves or parents as before."""
    same: set[str] = set()
    for name in tree_index.order:
        parent = tree_index.parents.get(name)
        if (
            previous.tree.get(name) is tree_index.tree[name]
            and previous.parents.get(name) == parent
            and (parent is None or parent in same)
            and tree_index.is_leaf(name) == previous.is_leaf(name)
        ):
            same.add(name)
    return same


def _outside(world: World, orphaned: Iterable[WorkloadSet], system: AmountByKey, tree_index: TreeIndex) -> AmountByKey:
    lost = [{key: use.used for key, use in workload_set.use.items()} for workload_set in orphaned]
    return _added([system, _counted(world.unmanaged, tree_index), *lost])


def _counted(use: AmountByKey, tree_index: TreeIndex) -> AmountByKey:
    """Return what pods outside quota use, without counts that no group names."""
    counts = tree_index.tree.counts
    return {key: amount for key, amount in use.items() if key.flavor != COUNTS or key.resource in counts}


def _runtimes(world: World, tree_index: TreeIndex, outside: AmountByKey) -> dict[FlavorResource, Amount]:
    keys = tree_index.limits[ROOT].keys() | outside.keys()
    return {
        key: runtime_of_root(tree_index.capacity.get(key, 0), outside.get(key, 0), key, world.settings) for key in keys
    }


def _added(parts: Iterable[AmountByKey]) -> dict[FlavorResource, Amount]:
    total: dict[FlavorResource, Amount] = {}
    for part in parts:
        for key, amount in part.items():
            total[key] = total.get(key, 0) + amount
    return total


def _bounds(
    tree_index: TreeIndex, runtimes: AmountByKey, previous: StaticState | None
) -> tuple[dict[FlavorResource, Bounds], dict[FlavorResource, frozenset[str]]]:
    """Return the bounds of every key, and per key the groups for which they differ from the previous ones."""
    if previous is None or not (tree_index is previous.tree_index or tree_index.has_same_shape(previous.tree_index)):
        found: dict[FlavorResource, Bounds] = {
            key: compute_bounds(tree_index, key, runtimes[key]) for key in tree_index.limits[ROOT]
        }
        known = previous.bounds if previous is not None else {}
        return found, {key: changed_bounds(found.get(key), known.get(key)) for key in found.keys() | known.keys()}
    touched = {} if tree_index is previous.tree_index else tree_index.changed_limits(previous.tree_index)
    found, changed = dict(previous.bounds), {}
    for key in previous.bounds.keys() - tree_index.limits[ROOT].keys():
        changed[key] = frozenset(found.pop(key))
    for key in tree_index.limits[ROOT]:
        if key not in found:
            found[key] = compute_bounds(tree_index, key, runtimes[key])
            changed[key] = frozenset(found[key])
        elif key in touched or previous.runtimes[key] != runtimes[key]:
            found[key], changed[key] = revise_bounds(tree_index, key, runtimes[key], found[key], touched.get(key, ()))
    return found, changed
