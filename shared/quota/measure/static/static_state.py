"""What holds before any leaf's work is looked at: the frame, what is in force where, root's runtime, every bound."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from shared.quota.measure.inputs.workload_set import WorkloadSet
from shared.quota.measure.inputs.world import World
from shared.quota.measure.static.capacity import compute_capacity, runtime_of_root
from shared.quota.measure.static.flavor_eligibility import FlavorOffer
from shared.quota.measure.static.leaf_settings import LeafSettings, read_leaf_settings
from shared.quota.measure.static.potential_available import Bounds, changed_bounds, compute_bounds, revise_bounds
from shared.quota.measure.static.tree_index import TreeIndex, build_tree_index
from shared.quota.model.lifecycle import Inactive
from shared.quota.model.tree import ROOT, SYSTEM
from shared.resources import Amount, FlavorResource

NO_HEADS: Final[Mapping[str, LeafSettings]] = {}
AmountByKey = Mapping[FlavorResource, Amount]


@dataclass(frozen=True, slots=True, eq=False)
class StaticState:
    """All of it, for one world. Parts that have not changed are the same objects as in the previous one."""

    frame: TreeIndex
    offer: FlavorOffer
    """The flavors there are; the same object while they and what is done about uncovered resources stay the same."""
    heads: Mapping[str, LeafSettings]
    """By leaf."""
    inactive: Mapping[str, Inactive]
    orphaned: tuple[WorkloadSet, ...]
    system: AmountByKey
    """used(system)."""
    runtimes: AmountByKey
    """runtime(root)."""
    bounds: Mapping[FlavorResource, Bounds]
    changed: Mapping[FlavorResource, frozenset[str]]
    """key -> the groups whose bounds for it differ from those of the previous ground."""


def build_static_state(world: World, previous_world: World | None, previous: StaticState | None) -> StaticState:
    """Work the ground out; `previous` is that of `previous_world`."""
    if previous_world is None or previous is None:
        previous_world, previous = None, None
    frame = _frame(world, previous_world, previous)
    inactive = _inactive(world, frame, previous_world, previous)
    heads = _heads(world, frame, inactive, previous_world, previous)
    groups = world.buckets.keys() - heads.keys() - {SYSTEM}
    orphaned = tuple(world.buckets[group] for group in sorted(groups))
    system = _added([{key: use.used for key, use in world.workloads_of(SYSTEM).use.items()}, world.system])
    runtimes = _runtimes(world, frame, orphaned, system)
    bounds, changed = _bounds(frame, runtimes, previous)
    return StaticState(frame, _offer(world, previous), heads, inactive, orphaned, system, runtimes, bounds, changed)


def _frame(world: World, previous_world: World | None, previous: StaticState | None) -> TreeIndex:
    if previous_world is None or previous is None:
        return build_tree_index(world.tree, compute_capacity(world.tree, world.flavors, world.nodes, world.settings))
    same_tree = world.tree is previous_world.tree
    if (
        same_tree
        and world.nodes is previous_world.nodes
        and world.flavors is previous_world.flavors
        and world.settings is previous_world.settings
    ):
        return previous.frame
    capacity = compute_capacity(world.tree, world.flavors, world.nodes, world.settings)
    if same_tree and capacity == previous.frame.capacity:
        return previous.frame
    return build_tree_index(world.tree, capacity, previous.frame)


def _offer(world: World, previous: StaticState | None) -> FlavorOffer:
    uncovered = world.settings.uncovered
    if previous is not None and previous.offer.flavors is world.flavors and previous.offer.uncovered is uncovered:
        return previous.offer
    return FlavorOffer(world.flavors, uncovered)


def _inactive(
    world: World, frame: TreeIndex, previous_world: World | None, previous: StaticState | None
) -> Mapping[str, Inactive]:
    if (
        previous_world is not None
        and previous is not None
        and frame is previous.frame
        and world.inactive is previous_world.inactive
    ):
        return previous.inactive
    outside = [name for name in frame.outside if name not in world.inactive]
    if not outside:
        return world.inactive
    found = Inactive("NotUnderRoot", "its parents do not lead to root", detached=True)
    return {**world.inactive, **dict.fromkeys(outside, found)}


def _heads(
    world: World,
    frame: TreeIndex,
    inactive: Mapping[str, Inactive],
    previous_world: World | None,
    previous: StaticState | None,
) -> Mapping[str, LeafSettings]:
    if previous_world is None or previous is None or world.settings is not previous_world.settings:
        return _read_heads(world, frame, inactive)
    if frame is previous.frame and inactive is previous.inactive:
        return previous.heads
    same = _unchanged_paths(frame, previous.frame)
    found = {
        leaf: head for leaf, head in previous.heads.items() if leaf in same and head.inactive == inactive.get(leaf)
    }
    return {**found, **_read_heads(world, frame, inactive, found)}


def _read_heads(
    world: World, frame: TreeIndex, inactive: Mapping[str, Inactive], known: Mapping[str, LeafSettings] = NO_HEADS
) -> dict[str, LeafSettings]:
    return {
        leaf: read_leaf_settings(frame, leaf, inactive, world.settings)
        for leaf in frame.order
        if leaf not in known and frame.is_leaf(leaf)
    }


def _unchanged_paths(frame: TreeIndex, previous: TreeIndex) -> set[str]:
    """Groups that are leaves or parents as before, and up to root hang on the very groups they hung on."""
    same: set[str] = set()
    for name in frame.order:
        parent = frame.parents.get(name)
        if (
            previous.tree.get(name) is frame.tree[name]
            and previous.parents.get(name) == parent
            and (parent is None or parent in same)
            and frame.is_leaf(name) == previous.is_leaf(name)
        ):
            same.add(name)
    return same


def _runtimes(
    world: World, frame: TreeIndex, orphaned: Iterable[WorkloadSet], system: AmountByKey
) -> dict[FlavorResource, Amount]:
    lost = [{key: use.used for key, use in bucket.use.items()} for bucket in orphaned]
    outside = _added([system, world.unmanaged, *lost])
    keys = frame.limits[ROOT].keys() | outside.keys()
    return {key: runtime_of_root(frame.capacity.get(key, 0), outside.get(key, 0), key, world.settings) for key in keys}


def _added(parts: Iterable[AmountByKey]) -> dict[FlavorResource, Amount]:
    total: dict[FlavorResource, Amount] = {}
    for part in parts:
        for key, amount in part.items():
            total[key] = total.get(key, 0) + amount
    return total


def _bounds(
    frame: TreeIndex, runtimes: AmountByKey, previous: StaticState | None
) -> tuple[dict[FlavorResource, Bounds], dict[FlavorResource, frozenset[str]]]:
    """The bounds of every key, and per key the groups for which they differ from the previous ones."""
    if previous is None or not (frame is previous.frame or frame.has_same_shape(previous.frame)):
        found: dict[FlavorResource, Bounds] = {
            key: compute_bounds(frame, key, runtimes[key]) for key in frame.limits[ROOT]
        }
        known = previous.bounds if previous is not None else {}
        return found, {key: changed_bounds(found.get(key), known.get(key)) for key in found.keys() | known.keys()}
    touched = {} if frame is previous.frame else frame.changed_limits(previous.frame)
    found, changed = dict(previous.bounds), {}
    for key in previous.bounds.keys() - frame.limits[ROOT].keys():
        changed[key] = frozenset(found.pop(key))
    for key in frame.limits[ROOT]:
        if key not in found:
            found[key] = compute_bounds(frame, key, runtimes[key])
            changed[key] = frozenset(found[key])
        elif key in touched or previous.runtimes[key] != runtimes[key]:
            found[key], changed[key] = revise_bounds(frame, key, runtimes[key], found[key], touched.get(key, ()))
    return found, changed
