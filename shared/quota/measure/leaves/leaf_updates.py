"""All leaves' work: their states and accounts, those built again that may differ from the previous ones."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from shared.quota.measure.inputs.world import World
from shared.quota.measure.leaves.leaf_snapshot import LeafSnapshot, OpenClaim, build_leaf, claims_in
from shared.quota.measure.static.flavor_eligibility import FlavorEligibility
from shared.quota.measure.static.static_state import StaticState
from shared.quota.model.workload import PreemptorId

Claims = Mapping[PreemptorId, OpenClaim]
NO_CLAIMS: Final[Claims] = {}


@dataclass(frozen=True, slots=True, eq=False)
class LeafSnapshots:
    """The work of one world at one moment, on its ground."""

    world: World
    now: datetime
    ground: StaticState
    claims: Claims
    leaves: Mapping[str, LeafSnapshot]
    alarms: Mapping[str, datetime]
    """leaf -> when time alone changes it; only leaves that it does change."""
    changed: frozenset[str]
    """Leaves built again, and leaves that are no more; the others are those of the previous work."""


def build_leaves(world: World, now: datetime, ground: StaticState, previous: LeafSnapshots | None) -> LeafSnapshots:
    """Read all work; what `previous` shares with this world is taken over."""
    claims = _claims(world, now, ground, previous)
    changed = frozenset(_changed_leaves(world, now, ground, claims, previous))
    leaves = dict(previous.leaves) if previous is not None else {}
    alarms = dict(previous.alarms) if previous is not None else {}
    by_leaf = claims_by_leaf(claims)
    for name in changed:
        alarms.pop(name, None)
        if name not in ground.heads:
            leaves.pop(name, None)
            continue
        bucket = world.workloads_of(name)
        chooser = _chooser(name, ground, previous)
        leaf = leaves[name] = build_leaf(ground.heads[name], bucket, by_leaf.get(name, NO_CLAIMS), chooser, now)
        if leaf.next_change is not None:
            alarms[name] = leaf.next_change
    return LeafSnapshots(world, now, ground, claims, leaves, alarms, changed)


def _claims(world: World, now: datetime, ground: StaticState, previous: LeafSnapshots | None) -> Claims:
    if not world.victims:
        return NO_CLAIMS
    found = claims_in(world, ground.frame, now)
    if previous is not None:
        found = {preemptor: _same(claim, previous.claims.get(preemptor)) for preemptor, claim in found.items()}
    return found


def _same(claim: OpenClaim, known: OpenClaim | None) -> OpenClaim:
    """`known` in place of `claim` when they are about the same objects."""
    if known is None or known.preemptor is not claim.preemptor or len(known.victims) != len(claim.victims):
        return claim
    same = all(one is other for one, other in zip(claim.victims, known.victims, strict=True))
    return known if same else claim


def claims_by_leaf(claims: Claims) -> dict[str, dict[PreemptorId, OpenClaim]]:
    """The claims of work that is pending somewhere, by its leaf."""
    found: dict[str, dict[PreemptorId, OpenClaim]] = {}
    for preemptor_id, claim in claims.items():
        if claim.preemptor is not None:
            found.setdefault(claim.preemptor.group, {})[preemptor_id] = claim
    return found


def _changed_leaves(
    world: World, now: datetime, ground: StaticState, claims: Claims, previous: LeafSnapshots | None
) -> Iterable[str]:
    """The leaves that may differ from the previous ones, or that are no more."""
    if previous is None:
        return ground.heads
    changed = _not_the_same(ground.heads, previous.ground.heads)
    if now < previous.now or ground.offer is not previous.ground.offer:
        return changed.union(ground.heads)
    changed.update(world.changed_since(previous.world))
    here, there = claims_by_leaf(claims), claims_by_leaf(previous.claims)
    changed.update(name for name in here.keys() | there.keys() if not _all_same(here.get(name), there.get(name)))
    changed.update(*ground.changed.values())
    changed.update(leaf for leaf, at in previous.alarms.items() if at <= now)
    return changed & (ground.heads.keys() | previous.leaves.keys())


def _not_the_same(now: Mapping[str, object], before: Mapping[str, object]) -> set[str]:
    """The names under which the two do not have the very same object."""
    if now is before:
        return set()
    changed = {name for name, found in now.items() if before.get(name) is not found}
    changed.update(before.keys() - now.keys())
    return changed


def _all_same(here: Claims | None, there: Claims | None) -> bool:
    here, there = here or NO_CLAIMS, there or NO_CLAIMS
    return here.keys() == there.keys() and all(here[preemptor] is there[preemptor] for preemptor in here)


def _chooser(name: str, ground: StaticState, previous: LeafSnapshots | None) -> FlavorEligibility:
    group = ground.heads[name].group
    bounds = {key: ground.bounds[key][name] for key in ground.frame.limits[name]}
    known = previous.leaves.get(name) if previous is not None else None
    if known is not None and known.chooser.answers(group, ground.offer, bounds):
        return known.chooser
    return FlavorEligibility(group, ground.offer, bounds)
