"""All leaves' snapshots: a leaf is built again only if it may differ from the previous one."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from shared.quota.measure.identity import changed_names
from shared.quota.measure.inputs.requester_use import current_use
from shared.quota.measure.inputs.world import World
from shared.quota.measure.leaves.leaf_order import BY_AGE, RequesterOrder, capacity_by_resource
from shared.quota.measure.leaves.leaf_snapshot import LeafSnapshot, OpenClaim, build_leaf, claims_in
from shared.quota.measure.static.flavor_eligibility import FlavorEligibility
from shared.quota.measure.static.static_state import StaticState
from shared.quota.model.tree import QueueOrder
from shared.quota.model.workload import PreemptorId

Claims = Mapping[PreemptorId, OpenClaim]
NO_CLAIMS: Final[Claims] = {}
_SPARE: Final = 200
"""How many shapes of workloads that no longer wait can be kept for a leaf, in addition to those that it has."""


@dataclass(frozen=True, slots=True, eq=False)
class LeafSnapshots:
    """All leaves of one world at one moment."""

    world: World
    now: datetime
    static: StaticState
    claims: Claims
    leaves: Mapping[str, LeafSnapshot]
    wake_times: Mapping[str, datetime]
    """leaf -> when time alone changes it; only leaves that time does change."""
    changed: frozenset[str]
    """Leaves that are other objects than before, and leaves that no longer exist; all others are the previous ones."""


def build_leaves(world: World, now: datetime, static: StaticState, previous: LeafSnapshots | None) -> LeafSnapshots:
    """Build all leaves; what `previous` shares with this world is reused."""
    claims = _claims(world, now, static, previous)
    changed = _changed_leaves(world, now, static, claims, previous)
    leaves = dict(previous.leaves) if previous is not None else {}
    revised = _with_other_answers(static, leaves, changed, previous)
    changed |= {name for name, each in revised.items() if each.alike is not leaves[name].eligibility.alike}
    for name in revised.keys() - changed:
        leaves[name] = replace(leaves[name], eligibility=revised[name])
    wake_times = dict(previous.wake_times) if previous is not None else {}
    by_leaf = claims_by_leaf(claims)
    for name in changed:
        wake_times.pop(name, None)
        if name not in static.leaf_settings:
            leaves.pop(name, None)
            continue
        workload_set = world.workloads_of(name)
        eligibility = revised.get(name) or _eligibility(name, static, leaves.get(name))
        leaf = leaves[name] = build_leaf(
            static.leaf_settings[name],
            workload_set,
            by_leaf.get(name, NO_CLAIMS),
            eligibility,
            order=order_of(name, world, static),
            now=now,
        )
        wake_time = leaf.wake_time
        if wake_time is not None:
            wake_times[name] = wake_time
    return LeafSnapshots(world, now, static, claims, leaves, wake_times, frozenset(changed | revised.keys()))


def order_of(leaf: str, world: World, static: StaticState) -> RequesterOrder:
    """Return what sorts the pending workloads of the leaf."""
    group = static.leaf_settings[leaf].group
    if group.order is QueueOrder.AGE:
        return BY_AGE
    return RequesterOrder(
        group.order,
        group.order_weights,
        world.requester_use.get(leaf, {}),
        current_use(group.order, world.workloads_of(leaf)),
        capacity_by_resource(static.tree_index.capacity),
    )


def _claims(world: World, now: datetime, static: StaticState, previous: LeafSnapshots | None) -> Claims:
    if not world.victims:
        return NO_CLAIMS
    found = claims_in(world, static.tree_index, now)
    if previous is not None:
        found = {preemptor: _same(claim, previous.claims.get(preemptor)) for preemptor, claim in found.items()}
    return found


def _same(claim: OpenClaim, known: OpenClaim | None) -> OpenClaim:
    """Return `known` in place of `claim` when both are about the same objects."""
    if known is None or known.preemptor is not claim.preemptor or len(known.victims) != len(claim.victims):
        return claim
    same = all(one is other for one, other in zip(claim.victims, known.victims, strict=True))
    return known if same else claim


def claims_by_leaf(claims: Claims) -> dict[str, dict[PreemptorId, OpenClaim]]:
    """Return the claims of pending workloads, by leaf."""
    found: dict[str, dict[PreemptorId, OpenClaim]] = {}
    for preemptor_id, claim in claims.items():
        if claim.preemptor is not None:
            found.setdefault(claim.preemptor.group, {})[preemptor_id] = claim
    return found


def _changed_leaves(
    world: World, now: datetime, static: StaticState, claims: Claims, previous: LeafSnapshots | None
) -> set[str]:
    """Return the leaves that may differ from the previous ones by more than bounds, or that no longer exist."""
    if previous is None:
        return set(static.leaf_settings)
    changed = changed_names(static.leaf_settings, previous.static.leaf_settings)
    if now < previous.now:
        return changed.union(static.leaf_settings)
    changed.update(world.changed_since(previous.world))
    changed.update(_in_other_order(world, static, previous))
    here, there = claims_by_leaf(claims), claims_by_leaf(previous.claims)
    changed.update(name for name in here.keys() | there.keys() if not _all_same(here.get(name), there.get(name)))
    changed.update(leaf for leaf, at in previous.wake_times.items() if at <= now)
    return changed & (static.leaf_settings.keys() | previous.leaves.keys())


def _in_other_order(world: World, static: StaticState, previous: LeafSnapshots) -> set[str]:
    """Return the leaves whose order may differ because of what requesters have used, or of the capacity."""
    if static.tree_index.capacity != previous.static.tree_index.capacity:
        return {name for name, each in static.leaf_settings.items() if each.group.order is not QueueOrder.AGE}
    return changed_names(world.requester_use, previous.world.requester_use)


def _all_same(here: Claims | None, there: Claims | None) -> bool:
    here, there = here or NO_CLAIMS, there or NO_CLAIMS
    return here.keys() == there.keys() and all(here[preemptor] is there[preemptor] for preemptor in here)


def _with_other_answers(
    static: StaticState, leaves: Mapping[str, LeafSnapshot], but: Set[str], previous: LeafSnapshots | None
) -> dict[str, FlavorEligibility]:
    """Return what replaces the eligibility of leaves whose bounds or flavors have changed; of the others nothing."""
    same_offer = previous is None or previous.static.offer is static.offer
    names = (frozenset[str]().union(*static.changed.values()) if same_offer else leaves.keys()) - but
    found = {name: _eligibility(name, static, leaves[name]) for name in names & leaves.keys()}
    return {name: each for name, each in found.items() if each is not leaves[name].eligibility}


def _eligibility(name: str, static: StaticState, known: LeafSnapshot | None) -> FlavorEligibility:
    group = static.leaf_settings[name].group
    bounds = {key: static.bounds[key][name] for key in static.tree_index.limits[name]}
    if known is None:
        return FlavorEligibility(group, static.offer, bounds)
    return known.eligibility.revised(group, static.offer, bounds, most=2 * len(known.pending) + _SPARE)
