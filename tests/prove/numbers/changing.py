"""Whether measuring a changed world from the previous snapshot gives what measuring it from nothing gives."""

from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import datetime, timedelta

from shared.quota.measure.inputs.workload_set import WorkloadChange
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import LeafSnapshot, Snapshot
from shared.quota.measure.snapshot import measure as measured
from shared.quota.model.tree import ROOT, Group, StopPolicy
from shared.quota.model.workload import Admission, Eviction, EvictionReason, Workload
from tests.prove.numbers.comparing import world_of
from tests.prove.numbers.placements import random_flavor
from tests.prove.numbers.random_inputs import random_inputs
from tests.prove.random_draw import Dice, Seeded
from tests.shared.quota.reference.inputs import ReferenceInputs


def stale_numbers(inputs: ReferenceInputs, dice: Dice) -> Iterator[str]:
    """What is out of date in the snapshot after any of a few random changes."""
    world, now = world_of(inputs), inputs.now
    snapshot = measured(world, now)
    for step in range(4):
        world, now, what = changed(world, now, dice)
        snapshot = measured(world, now, snapshot)
        for found in unequal(snapshot, measured(_rebuilt(world), now)):
            yield f"after {what}, change {step}: {found}"


def all_stale_numbers(seed: str) -> Iterator[str]:
    """The same for one seed's inputs; an exception is a finding."""
    dice = Seeded(f"changes {seed}")
    try:
        yield from stale_numbers(random_inputs(dice, groups=20), dice)
    except Exception as problem:
        yield f"exception: {type(problem).__name__}: {problem}"


def changed(world: World, now: datetime, dice: Dice) -> tuple[World, datetime, str]:
    """The world after one change of some sort, and the sort."""
    kind = dice.between(0, 8)
    if kind <= 3:
        changes = [_change(each, dice, now) for each in _some_work(world, dice)]
        return world.with_changes(changes), now, "work"
    if kind == 4:
        groups = [group for name, group in sorted(world.tree.groups.items()) if name != ROOT]
        return replace(world, tree=world.tree.with_group(_edited(dice.one_of(groups), dice))), now, "an edit"
    if kind == 5:
        capacity = tuple(
            (flavor, name, dice.between(0, 2 * amount)) for flavor, name, amount in world.settings.capacity
        )
        return replace(world, settings=replace(world.settings, capacity=capacity)), now, "another capacity"
    if kind == 6:
        past_use = {name: {key: 2 * amount for key, amount in own.items()} for name, own in world.past_use.items()}
        kept = {name: own for name, own in past_use.items() if dice.chance(70)}
        requesters = {
            name: {who: {each: 2 * amount + 1 for each, amount in use.items()} for who, use in own.items()}
            for name, own in world.requester_use.items()
            if dice.chance(70)
        }
        return replace(world, past_use=kept, requester_use=requesters), now, "more past use"
    if kind == 7 and world.flavors:
        name = dice.one_of(sorted(world.flavors))
        others = {other: each for other, each in world.flavors.items() if other != name}
        edited = {name: random_flavor(dice, name)} if dice.chance(80) else {}
        return replace(world, flavors={**others, **edited}), now, f"an edit of flavor {name}"
    return world, now + timedelta(minutes=dice.between(0, 3)), "time"


def _some_work(world: World, dice: Dice) -> list[Workload]:
    every = sorted(
        (work for workloads in world.workload_sets.values() for work in workloads.by_id.values()),
        key=lambda each: each.key,
    )
    return [work for work in every if dice.chance(15)]


def _change(work: Workload, dice: Dice, now: datetime) -> WorkloadChange:
    if dice.chance(20):
        return work, None
    if dice.chance(20):
        twin = replace(work, key=f"{work.key}x", uid=f"{work.uid}x", admission=None, eviction=None, claim=None)
        return None, replace(twin, queued=now)
    if work.admission is None:
        one = dice.one_of(("a", "b", "c"))
        flavors = {each.name: dict.fromkeys(each.request, one) for each in work.sets}
        return work, replace(work, admission=Admission(flavors, now), eviction=None)
    if work.eviction is None:
        return work, replace(work, eviction=Eviction(EvictionReason.RECLAIMED, now), queued=now)
    return work, replace(work, admission=None, hold=dice.chance(20))


def _edited(group: Group, dice: Dice) -> Group:
    policy = dice.one_of((StopPolicy.NONE, StopPolicy.NONE, StopPolicy.HOLD))
    if not group.quotas or dice.chance(30):
        return replace(group, stop_policy=policy)
    entry = group.quotas[0]
    field = dice.one_of(("max", "weight", "lending_limit"))
    if field == "lending_limit":
        lower = replace(entry, lending_limit={name: dice.between(0, low) for name, low in entry.min.items()})
    elif field == "weight":
        lower = replace(entry, weight={name: dice.between(0, 3) for name in entry.covered})
    else:
        lower = replace(entry, max={name: entry.min.get(name, 0) + dice.between(0, 9) for name in entry.covered})
    return replace(group, quotas=(lower, *group.quotas[1:]))


def _rebuilt(world: World) -> World:
    """The same world sharing no part with the previous one."""
    work = [each for workloads in world.workload_sets.values() for each in workloads.by_id.values()]
    fresh = World.of(replace(world.tree), list(world.flavors.values()), work, world.nodes, replace(world.settings))
    past_use = {name: dict(by_key) for name, by_key in world.past_use.items()}
    return replace(
        fresh,
        unmanaged=dict(world.unmanaged),
        system=dict(world.system),
        past_use=past_use,
        requester_use={name: dict(own) for name, own in world.requester_use.items()},
    )


def unequal(one: Snapshot, other: Snapshot) -> Iterator[str]:
    """What two snapshots of equal worlds do not agree on."""
    for name in ("now", "capacity", "claims", "inactive", "orphaned"):
        if getattr(one, name) != getattr(other, name):
            yield f"{name} {getattr(one, name)}, afresh {getattr(other, name)}"
    for group in sorted(one.numbers.keys() | other.numbers.keys()):
        mine, theirs = dict(one.numbers.get(group, {})), dict(other.numbers.get(group, {}))
        for key in sorted(mine.keys() | theirs.keys()):
            if mine.get(key) != theirs.get(key):
                yield f"{group} {key} {mine.get(key)}, afresh {theirs.get(key)}"
    if one.leaves.keys() != other.leaves.keys():
        yield f"leaves {sorted(one.leaves)}, afresh {sorted(other.leaves)}"
    for name in sorted(one.leaves.keys() & other.leaves.keys()):
        yield from _unequal_leaves(name, one.leaves[name], other.leaves[name])


def _unequal_leaves(name: str, one: LeafSnapshot, other: LeafSnapshot) -> Iterator[str]:
    for field in fields(LeafSnapshot):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        if field.repr and not field.name.startswith("_") and mine != theirs:
            yield f"leaf {name} {field.name} {mine}, afresh {theirs}"
    for work in one.pending:
        if work in other.pending and one.options(work) != other.options(work):
            yield f"leaf {name} options of {work.key} {one.options(work)}, afresh {other.options(work)}"
