"""What holds before any leaf's work is looked at: the frame, what is in force where, root's runtime, every bound."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from shared.quota.measure.bounds import Bounds, changed_bounds, compute_bounds, revise_bounds
from shared.quota.measure.buckets import Bucket
from shared.quota.measure.capacity import compute_capacity, runtime_of_root
from shared.quota.measure.choosing import Offer
from shared.quota.measure.frame import Frame, build_frame
from shared.quota.measure.leaves import Head, read_head
from shared.quota.measure.world import World
from shared.quota.model.lifecycle import Inactive
from shared.quota.model.tree import ROOT, SYSTEM
from shared.resources import Amount, FlavorResource

NO_HEADS: Final[Mapping[str, Head]] = {}
AmountByKey = Mapping[FlavorResource, Amount]


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """All of it, for one world. Parts that have not changed are the same objects as in the former one."""

    frame: Frame
    offer: Offer
    """The flavors there are; the same object while they and what is done about uncovered resources stay the same."""
    heads: Mapping[str, Head]
    """By leaf."""
    inactive: Mapping[str, Inactive]
    homeless: tuple[Bucket, ...]
    system: AmountByKey
    """used(system)."""
    runtimes: AmountByKey
    """runtime(root)."""
    bounds: Mapping[FlavorResource, Bounds]
    changed: Mapping[FlavorResource, frozenset[str]]
    """key -> the groups whose bounds for it differ from those of the former ground."""


def lay_ground(world: World, former_world: World | None, former: Ground | None) -> Ground:
    """Work the ground out; `former` is that of `former_world`."""
    if former_world is None or former is None:
        former_world, former = None, None
    frame = _frame(world, former_world, former)
    inactive = _inactive(world, frame, former_world, former)
    heads = _heads(world, frame, inactive, former_world, former)
    groups = world.buckets.keys() - heads.keys() - {SYSTEM}
    homeless = tuple(world.buckets[group] for group in sorted(groups))
    system = _added([{key: use.used for key, use in world.workloads_of(SYSTEM).use.items()}, world.system])
    runtimes = _runtimes(world, frame, homeless, system)
    bounds, changed = _bounds(frame, runtimes, former)
    return Ground(frame, _offer(world, former), heads, inactive, homeless, system, runtimes, bounds, changed)


def _frame(world: World, former_world: World | None, former: Ground | None) -> Frame:
    if former_world is None or former is None:
        return build_frame(world.tree, compute_capacity(world.tree, world.flavors, world.nodes, world.settings))
    same_tree = world.tree is former_world.tree
    if (
        same_tree
        and world.nodes is former_world.nodes
        and world.flavors is former_world.flavors
        and world.settings is former_world.settings
    ):
        return former.frame
    capacity = compute_capacity(world.tree, world.flavors, world.nodes, world.settings)
    if same_tree and capacity == former.frame.capacity:
        return former.frame
    return build_frame(world.tree, capacity, former.frame)


def _offer(world: World, former: Ground | None) -> Offer:
    uncovered = world.settings.uncovered
    if former is not None and former.offer.flavors is world.flavors and former.offer.uncovered is uncovered:
        return former.offer
    return Offer(world.flavors, uncovered)


def _inactive(world: World, frame: Frame, former_world: World | None, former: Ground | None) -> Mapping[str, Inactive]:
    if (
        former_world is not None
        and former is not None
        and frame is former.frame
        and world.inactive is former_world.inactive
    ):
        return former.inactive
    outside = [name for name in frame.outside if name not in world.inactive]
    if not outside:
        return world.inactive
    found = Inactive("NotUnderRoot", "its parents do not lead to root", detached=True)
    return {**world.inactive, **dict.fromkeys(outside, found)}


def _heads(
    world: World,
    frame: Frame,
    inactive: Mapping[str, Inactive],
    former_world: World | None,
    former: Ground | None,
) -> Mapping[str, Head]:
    if former_world is None or former is None or world.settings is not former_world.settings:
        return _read_heads(world, frame, inactive)
    if frame is former.frame and inactive is former.inactive:
        return former.heads
    same = _unchanged_paths(frame, former.frame)
    found = {leaf: head for leaf, head in former.heads.items() if leaf in same and head.inactive == inactive.get(leaf)}
    return {**found, **_read_heads(world, frame, inactive, found)}


def _read_heads(
    world: World, frame: Frame, inactive: Mapping[str, Inactive], known: Mapping[str, Head] = NO_HEADS
) -> dict[str, Head]:
    return {
        leaf: read_head(frame, leaf, inactive, world.settings)
        for leaf in frame.order
        if leaf not in known and frame.is_leaf(leaf)
    }


def _unchanged_paths(frame: Frame, former: Frame) -> set[str]:
    """Groups that are leaves or parents as before, and up to root hang on the very groups they hung on."""
    same: set[str] = set()
    for name in frame.order:
        parent = frame.parents.get(name)
        if (
            former.tree.get(name) is frame.tree[name]
            and former.parents.get(name) == parent
            and (parent is None or parent in same)
            and frame.is_leaf(name) == former.is_leaf(name)
        ):
            same.add(name)
    return same


def _runtimes(
    world: World, frame: Frame, homeless: Iterable[Bucket], system: AmountByKey
) -> dict[FlavorResource, Amount]:
    lost = [{key: use.used for key, use in bucket.use.items()} for bucket in homeless]
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
    frame: Frame, runtimes: AmountByKey, former: Ground | None
) -> tuple[dict[FlavorResource, Bounds], dict[FlavorResource, frozenset[str]]]:
    """The bounds of every key, and per key the groups for which they differ from the former ones."""
    if former is None or not (frame is former.frame or frame.has_same_shape(former.frame)):
        found: dict[FlavorResource, Bounds] = {
            key: compute_bounds(frame, key, runtimes[key]) for key in frame.limits[ROOT]
        }
        known = former.bounds if former is not None else {}
        return found, {key: changed_bounds(found.get(key), known.get(key)) for key in found.keys() | known.keys()}
    touched = {} if frame is former.frame else frame.changed_limits(former.frame)
    found, changed = dict(former.bounds), {}
    for key in former.bounds.keys() - frame.limits[ROOT].keys():
        changed[key] = frozenset(found.pop(key))
    for key in frame.limits[ROOT]:
        if key not in found:
            found[key] = compute_bounds(frame, key, runtimes[key])
            changed[key] = frozenset(found[key])
        elif key in touched or former.runtimes[key] != runtimes[key]:
            found[key], changed[key] = revise_bounds(frame, key, runtimes[key], found[key], touched.get(key, ()))
    return found, changed
