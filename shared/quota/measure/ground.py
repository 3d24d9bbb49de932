"""What holds before any leaf's work is looked at: the frame, what is in force where, root's runtime, every bound."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from shared.quota.measure.bounds import Bounds, compute_bounds
from shared.quota.measure.buckets import Bucket
from shared.quota.measure.capacity import compute_capacity, runtime_of_root
from shared.quota.measure.frame import Frame, build_frame
from shared.quota.measure.leaves import Head, read_head
from shared.quota.measure.world import World
from shared.quota.model.lifecycle import Inactive
from shared.quota.model.tree import ROOT, SYSTEM
from shared.resources import Amount, FlavorResource

AmountByKey = Mapping[FlavorResource, Amount]


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """All of it, for one world. Parts that have not changed are the same objects as in the former one."""

    frame: Frame
    heads: Mapping[str, Head]
    """By leaf."""
    inactive: Mapping[str, Inactive]
    homeless: tuple[Bucket, ...]
    system: AmountByKey
    """used(system)."""
    runtimes: AmountByKey
    """runtime(root)."""
    bounds: Mapping[FlavorResource, Bounds]


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
    bounds = _bounds(frame, runtimes, former)
    return Ground(frame, heads, inactive, homeless, system, runtimes, bounds)


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
    known: Mapping[str, Head] = {}
    if former_world is not None and former is not None:
        known = former.heads
        if frame is former.frame and inactive is former.inactive and world.settings is former_world.settings:
            return known
    heads = {leaf: read_head(frame, leaf, inactive, world.settings) for leaf in frame.order if frame.is_leaf(leaf)}
    return {leaf: known[leaf] if known.get(leaf) == head else head for leaf, head in heads.items()}


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


def _bounds(frame: Frame, runtimes: AmountByKey, former: Ground | None) -> dict[FlavorResource, Bounds]:
    known: Mapping[FlavorResource, Bounds] = {}
    if former is not None and former.frame is frame:
        known = {key: former.bounds[key] for key in former.bounds if former.runtimes[key] == runtimes.get(key)}
    elif former is not None and frame.has_same_shape(former.frame):
        changed = frame.changed_limits(former.frame)
        known = {
            key: former.bounds[key]
            for key in former.bounds
            if key not in changed and former.runtimes[key] == runtimes.get(key)
        }
    return {key: known.get(key) or compute_bounds(frame, key, runtimes[key]) for key in frame.limits[ROOT]}
