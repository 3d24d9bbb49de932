"""From the ground to every number: first the leaves whose own work or bounds changed, then the keys they touch."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from shared.quota.measure.accounts import NO_ACCOUNT, Account, Tally, tally
from shared.quota.measure.bounds import Bounds
from shared.quota.measure.choosing import Chooser
from shared.quota.measure.ground import Ground, lay_ground
from shared.quota.measure.leaves import HeldClaim, LeafState, build_leaf, claims_in, waiting_in
from shared.quota.measure.numbers import Numbers
from shared.quota.measure.runtime import Column, Families, is_worth_keeping
from shared.quota.measure.world import World
from shared.quota.model.workload import AskerId
from shared.resources import FlavorResource

Claims = Mapping[AskerId, HeldClaim]
NO_CLAIMS: Final[Claims] = {}


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """One world measured at one moment, with all that makes the next measure cheap."""

    world: World
    now: datetime
    ground: Ground
    claims: Claims
    leaves: Mapping[str, LeafState]
    alarms: Mapping[str, datetime]
    tallies: Mapping[str, Tally]
    families: Mapping[FlavorResource, Families]
    numbers: Mapping[str, dict[FlavorResource, Numbers]]
    """Of the groups of the frame."""


def measure_all(world: World, now: datetime, former: Measured | None) -> Measured:
    """Measure `world`; what `former` shares with it is taken over."""
    ground = lay_ground(world, former.world if former else None, former.ground if former else None)
    claims = _claims(world, now, ground, former)
    leaves, tallies = _leaves(world, now, ground, claims, former)
    numbers, families = _numbers(ground, tallies, former)
    return Measured(world, now, ground, claims, leaves, _alarms(leaves, former), tallies, families, numbers)


def _claims(world: World, now: datetime, ground: Ground, former: Measured | None) -> Claims:
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


def changed_bounds(now: Bounds | None, before: Bounds | None) -> list[str]:
    """The groups whose bounds for one key differ."""
    if now is before:
        return []
    now, before = now or {}, before or {}
    return [name for name in now.keys() | before.keys() if now.get(name) != before.get(name)]


def _changed_leaves(
    world: World, now: datetime, ground: Ground, claims: Claims, former: Measured | None
) -> Iterable[str]:
    """The leaves that may differ from the former measure."""
    if (
        former is None
        or now < former.now
        or world.flavors is not former.world.flavors
        or world.settings is not former.world.settings
    ):
        return ground.heads
    changed = _not_the_same(world.buckets, former.world.buckets)
    if ground.heads is not former.ground.heads:
        changed.update(_not_the_same(ground.heads, former.ground.heads))
    here, there = claims_by_leaf(claims), claims_by_leaf(former.claims)
    changed.update(name for name in here.keys() | there.keys() if not _all_same(here.get(name), there.get(name)))
    for key in ground.bounds.keys() | former.ground.bounds.keys():
        changed.update(changed_bounds(ground.bounds.get(key), former.ground.bounds.get(key)))
    changed.update(leaf for leaf, at in former.alarms.items() if at <= now)
    return changed & ground.heads.keys()


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


def _leaves(
    world: World, now: datetime, ground: Ground, claims: Claims, former: Measured | None
) -> tuple[Mapping[str, LeafState], Mapping[str, Tally]]:
    """All leaves and their tallies, when those of the former measure that may differ are built anew."""
    leaves: dict[str, LeafState] = {}
    tallies: dict[str, Tally] = {}
    if former is not None:
        leaves, tallies = dict(former.leaves), dict(former.tallies)
        for name in former.leaves.keys() - ground.heads.keys():
            del leaves[name], tallies[name]
    by_leaf = claims_by_leaf(claims)
    changed = _changed_leaves(world, now, ground, claims, former)
    for name in changed:
        bucket = world.workloads_of(name)
        chooser = _chooser(name, world, ground, former)
        leaf = build_leaf(ground.heads[name], bucket, by_leaf.get(name, NO_CLAIMS), chooser, now)
        leaves[name] = leaf
        tallies[name] = tally(bucket, waiting_in(leaf, bucket, now), chooser)
    return leaves, tallies


def _alarms(leaves: Mapping[str, LeafState], former: Measured | None) -> Mapping[str, datetime]:
    """leaf -> when time alone changes it; of the leaves where it does."""
    found = dict(former.alarms) if former is not None else {}
    for name in _not_the_same(leaves, former.leaves if former is not None else {}):
        at = leaves[name].next_change if name in leaves else None
        if at is not None:
            found[name] = at
        else:
            found.pop(name, None)
    return found


def _chooser(name: str, world: World, ground: Ground, former: Measured | None) -> Chooser:
    group = ground.heads[name].group
    bounds = {key: ground.bounds[key][name] for key in ground.frame.limits[name]}
    known = former.leaves.get(name) if former is not None else None
    if known is not None and known.chooser.answers(group, world.flavors, world.settings.uncovered, bounds):
        return known.chooser
    return Chooser(group, world.flavors, world.settings.uncovered, bounds)


def _numbers(
    ground: Ground, tallies: Mapping[str, Tally], former: Measured | None
) -> tuple[Mapping[str, dict[FlavorResource, Numbers]], Mapping[FlavorResource, Families]]:
    """All groups' numbers and families, from the former ones where the tree has kept its shape."""
    if former is None or not (former.ground.frame is ground.frame or ground.frame.has_same_shape(former.ground.frame)):
        return _settle(ground, tallies, None)
    return _settle(ground, tallies, former)


def _settle(
    ground: Ground, tallies: Mapping[str, Tally], former: Measured | None
) -> tuple[Mapping[str, dict[FlavorResource, Numbers]], Mapping[FlavorResource, Families]]:
    numbers = dict(former.numbers) if former is not None else {name: {} for name in ground.frame.order}
    families: dict[FlavorResource, Families] = dict(former.families) if former is not None else {}
    touched = _touched_groups(ground, former)
    accounts = _changed_accounts(tallies, former)
    system = _changed_system(ground, former)
    written: set[str] = set()
    for key in touched.keys() | accounts.keys() | system.keys() | _changed_runtimes(ground, former):
        column = Column(ground.frame, key, former.numbers if former else {}, families.get(key, {}))
        column.touch(touched.get(key, ()))
        for leaf, account in accounts.get(key, {}).items():
            column.put(leaf, account)
        column.put_system(*system.get(key, (NO_ACCOUNT, NO_ACCOUNT)))
        column.settle(ground.runtimes.get(key, 0))
        families[key] = {**families.get(key, {}), **column.families()}
        _write(ground, key, column.results(ground.bounds.get(key, {})), numbers, written)
    return numbers, families


def _write(
    ground: Ground,
    key: FlavorResource,
    results: Mapping[str, Numbers],
    numbers: dict[str, dict[FlavorResource, Numbers]],
    written: set[str],
) -> None:
    """Put one column's results into `numbers`; a group's own mapping is copied before it is first written to."""
    for name, found in results.items():
        known = numbers[name]
        keeps = is_worth_keeping(ground.frame, name, key, found)
        if (known.get(key) == found) if keeps else (key not in known):
            continue
        if name not in written:
            known = numbers[name] = dict(known)
            written.add(name)
        if keeps:
            known[key] = found
        else:
            del known[key]


def _touched_groups(ground: Ground, former: Measured | None) -> dict[FlavorResource, list[str]]:
    """key -> groups whose limits or bounds for it differ from the former ones."""
    if former is None:
        touched: dict[FlavorResource, list[str]] = {}
        for name, limits in ground.frame.limits.items():
            for key in limits:
                touched.setdefault(key, []).append(name)
        return touched
    touched = {}
    if ground.frame is not former.ground.frame:
        touched = ground.frame.changed_limits(former.ground.frame)
    for key in ground.bounds.keys() | former.ground.bounds.keys():
        changed = changed_bounds(ground.bounds.get(key), former.ground.bounds.get(key))
        if changed:
            touched.setdefault(key, []).extend(changed)
    return touched


def _changed_accounts(
    tallies: Mapping[str, Tally], former: Measured | None
) -> dict[FlavorResource, dict[str, Account]]:
    found: dict[FlavorResource, dict[str, Account]] = {}
    known = former.tallies if former is not None else {}
    for leaf, now in tallies.items():
        before = known.get(leaf, {})
        if now is not before:
            for key in now.keys() | before.keys():
                account = now.get(key, NO_ACCOUNT)
                if account != before.get(key, NO_ACCOUNT):
                    found.setdefault(key, {})[leaf] = account
    return found


def _changed_system(ground: Ground, former: Measured | None) -> dict[FlavorResource, tuple[Account, Account]]:
    """key -> what `system` used and uses; all of it is held, for it is never taken back."""
    known = former.ground.system if former is not None else {}
    found = {}
    for key in ground.system.keys() | known.keys():
        before, now = known.get(key, 0), ground.system.get(key, 0)
        if now != before:
            found[key] = Account(before, before, before), Account(now, now, now)
    return found


def _changed_runtimes(ground: Ground, former: Measured | None) -> set[FlavorResource]:
    if former is None:
        return set(ground.runtimes)
    known = former.ground.runtimes
    keys = ground.runtimes.keys() | known.keys()
    return {key for key in keys if ground.runtimes.get(key, 0) != known.get(key, 0)}
