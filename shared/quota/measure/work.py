"""All leaves' work: their states and accounts, those built anew that may differ from the former ones."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from shared.quota.measure.choosing import Chooser
from shared.quota.measure.ground import Ground
from shared.quota.measure.leaves import HeldClaim, LeafState, build_leaf, claims_in
from shared.quota.measure.world import World
from shared.quota.model.workload import AskerId

Claims = Mapping[AskerId, HeldClaim]
NO_CLAIMS: Final[Claims] = {}


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """The work of one world at one moment, on its ground."""

    world: World
    now: datetime
    ground: Ground
    claims: Claims
    leaves: Mapping[str, LeafState]
    alarms: Mapping[str, datetime]
    """leaf -> when time alone changes it; only leaves that it does change."""
    changed: frozenset[str]
    """Leaves built anew, and leaves that are no more; the others are those of the former work."""


def read_work(world: World, now: datetime, ground: Ground, former: Work | None) -> Work:
    """Read all work; what `former` shares with this world is taken over."""
    claims = _claims(world, now, ground, former)
    changed = frozenset(_changed_leaves(world, now, ground, claims, former))
    leaves = dict(former.leaves) if former is not None else {}
    alarms = dict(former.alarms) if former is not None else {}
    by_leaf = claims_by_leaf(claims)
    for name in changed:
        alarms.pop(name, None)
        if name not in ground.heads:
            leaves.pop(name, None)
            continue
        bucket = world.workloads_of(name)
        chooser = _chooser(name, ground, former)
        leaf = leaves[name] = build_leaf(ground.heads[name], bucket, by_leaf.get(name, NO_CLAIMS), chooser, now)
        if leaf.next_change is not None:
            alarms[name] = leaf.next_change
    return Work(world, now, ground, claims, leaves, alarms, changed)


def _claims(world: World, now: datetime, ground: Ground, former: Work | None) -> Claims:
    if not world.victims:
        return NO_CLAIMS
    found = claims_in(world, ground.frame, now)
    if former is not None:
        found = {asker: _same(claim, former.claims.get(asker)) for asker, claim in found.items()}
    return found


def _same(claim: HeldClaim, known: HeldClaim | None) -> HeldClaim:
    """`known` in place of `claim` when they are about the same objects."""
    if known is None or known.asker is not claim.asker or len(known.victims) != len(claim.victims):
        return claim
    same = all(one is other for one, other in zip(claim.victims, known.victims, strict=True))
    return known if same else claim


def claims_by_leaf(claims: Claims) -> dict[str, dict[AskerId, HeldClaim]]:
    """The claims of work that is pending somewhere, by its leaf."""
    found: dict[str, dict[AskerId, HeldClaim]] = {}
    for asker_id, claim in claims.items():
        if claim.asker is not None:
            found.setdefault(claim.asker.group, {})[asker_id] = claim
    return found


def _changed_leaves(world: World, now: datetime, ground: Ground, claims: Claims, former: Work | None) -> Iterable[str]:
    """The leaves that may differ from the former ones, or that are no more."""
    if former is None:
        return ground.heads
    changed = _not_the_same(ground.heads, former.ground.heads)
    if now < former.now or ground.offer is not former.ground.offer:
        return changed.union(ground.heads)
    changed.update(world.changed_since(former.world))
    here, there = claims_by_leaf(claims), claims_by_leaf(former.claims)
    changed.update(name for name in here.keys() | there.keys() if not _all_same(here.get(name), there.get(name)))
    changed.update(*ground.changed.values())
    changed.update(leaf for leaf, at in former.alarms.items() if at <= now)
    return changed & (ground.heads.keys() | former.leaves.keys())


def _not_the_same(now: Mapping[str, object], before: Mapping[str, object]) -> set[str]:
    """The names under which the two do not have the very same object."""
    if now is before:
        return set()
    changed = {name for name, found in now.items() if before.get(name) is not found}
    changed.update(before.keys() - now.keys())
    return changed


def _all_same(here: Claims | None, there: Claims | None) -> bool:
    here, there = here or NO_CLAIMS, there or NO_CLAIMS
    return here.keys() == there.keys() and all(here[asker] is there[asker] for asker in here)


def _chooser(name: str, ground: Ground, former: Work | None) -> Chooser:
    group = ground.heads[name].group
    bounds = {key: ground.bounds[key][name] for key in ground.frame.limits[name]}
    known = former.leaves.get(name) if former is not None else None
    if known is not None and known.chooser.answers(group, ground.offer, bounds):
        return known.chooser
    return Chooser(group, ground.offer, bounds)
