"""Random worlds and random changes to them, for properties that hold in every world."""

from dataclasses import replace
from random import Random

from shared.quota.measure.inputs.world import World
from shared.quota.model.flavor import Flavor
from shared.quota.model.settings import CapacitySource, QuotaSettings
from shared.quota.model.tree import ROOT, Entry, Group, StopPolicy, Tree
from shared.quota.model.workload import Workload
from shared.resources import FlavorResource
from tests.builders import NOW, after, claimed, evicting, pending, running

FLAVORS = ("a", "b")
SETS = (("cpu", "memory"), ("gpu",))
KEYS = [FlavorResource(flavor, resource) for flavor in FLAVORS for each in SETS for resource in each]


def random_world(dice: Random, groups: int = 12, jobs: int = 30) -> World:
    """A world of legal and less legal trees; a min may exceed the parent's, capacity may be short."""
    found = random_tree(dice, groups)
    leaves = [name for name, group in found.groups.items() if not group.is_parent]
    capacity = tuple((key.flavor, key.resource, dice.choice((0, 5, 20, 40, 80))) for key in KEYS)
    world = World.of(
        found,
        [Flavor(name) for name in FLAVORS],
        [random_job(dice, f"job-{index}", leaves) for index in range(jobs)],
        settings=QuotaSettings(
            capacity=() if dice.random() < 0.1 else capacity,
            capacity_source=dice.choice((CapacitySource.NODES, CapacitySource.NODES, CapacitySource.GROUPS)),
        ),
    )
    return replace(world, unmanaged=_some(dice, 4))


def random_tree(dice: Random, groups: int) -> Tree:
    """At most four levels under root."""
    found = [Group(ROOT, parent=None, is_parent=True, quotas=_quotas(dice) if dice.random() < 0.3 else ())]
    for index in range(groups):
        parents = [group.name for group in found if group.is_parent]
        found.append(random_group(dice, f"g{index}", dice.choice(parents), is_parent=dice.random() < 0.4))
    return Tree.of(found)


def random_group(dice: Random, name: str, parent: str, *, is_parent: bool) -> Group:
    """A group with entries for some flavors."""
    return Group(
        name,
        parent=parent,
        is_parent=is_parent,
        quotas=_quotas(dice),
        allow_lending=dice.random() < 0.8,
        stop_policy=dice.choices(list(StopPolicy), (12, 1, 1, 1, 1))[0],
    )


def random_job(dice: Random, name: str, leaves: list[str]) -> Workload:
    """Pending or running, of any kind of preemptibility."""
    request = {"cpu": dice.randint(0, 6), "memory": dice.randint(1, 9)}
    if dice.random() < 0.5:
        request["gpu"] = dice.randint(1, 30)
    fields = {"priority": dice.randint(0, 2), "preemptible": dice.random() < 0.7, "created": after(dice.randint(0, 5))}
    group = dice.choice(leaves) if leaves and dice.random() < 0.97 else "nowhere"
    if dice.random() < 0.4:
        flavors = {resource: dice.choice(FLAVORS) for resource in request}
        job = running(group, request, name, flavors, **fields)
        return evicting(job) if dice.random() < 0.2 else job
    return pending(
        group,
        request,
        name,
        hold=dice.random() < 0.05,
        not_before=after(dice.randint(-50, 50)) if dice.random() < 0.1 else None,
        only_flavor=dice.choice((None, None, None, "b")),
        **fields,
    )


def changed_world(dice: Random, world: World) -> World:
    """`world` after one to three random changes."""
    for _ in range(dice.randint(1, 3)):
        world = dice.choices(_CHANGES, _WEIGHTS)[0](dice, world)
    return world


def _jobs(world: World) -> list[Workload]:
    found = [job for workload_set in world.workload_sets.values() for job in workload_set.by_id.values()]
    return sorted(found, key=lambda job: job.key)


def _job_changes(dice: Random, world: World) -> World:
    leaves = [name for name, group in world.tree.groups.items() if not group.is_parent]
    before = dice.choice([None, *_jobs(world)])
    name = before.key.removeprefix("ns/") if before else f"new-{dice.randint(0, 99)}"
    after_it = random_job(dice, name, leaves) if dice.random() < 0.8 else None
    known = next((job for job in _jobs(world) if job.key == f"ns/{name}"), None)
    return world.with_changes([(known, after_it)])


def _job_claims(dice: Random, world: World) -> World:
    jobs = _jobs(world)
    if len(jobs) < 2:
        return world
    victim, preemptor = dice.sample(jobs, 2)
    marked = claimed(
        replace(victim, claim=None), preemptor if dice.random() < 0.8 else None, after(1), dice.choice("ab")
    )
    return world.with_changes([(victim, marked)])


def _unmanaged_changes(dice: Random, world: World) -> World:
    return replace(world, unmanaged=_some(dice, 15), system=_some(dice, 3))


def _group_changes(dice: Random, world: World) -> World:
    name = dice.choice(list(world.tree.groups))
    group = world.tree[name]
    changed = random_group(dice, name, group.parent or ROOT, is_parent=group.is_parent)
    return replace(world, tree=world.tree.with_group(replace(changed, parent=group.parent)))


def _group_moves(dice: Random, world: World) -> World:
    name = dice.choice(list(world.tree.groups))
    if name == ROOT:
        return world
    parent = dice.choice([*(each for each, group in world.tree.groups.items() if group.is_parent), "absent"])
    return replace(world, tree=world.tree.with_group(replace(world.tree[name], parent=parent)))


def _group_goes(dice: Random, world: World) -> World:
    name = dice.choice(list(world.tree.groups))
    return world if name == ROOT else replace(world, tree=world.tree.without(name))


def _capacity_changes(dice: Random, world: World) -> World:
    capacity = tuple((key.flavor, key.resource, dice.choice((0, 5, 20, 40, 80))) for key in KEYS)
    return replace(world, settings=replace(world.settings, capacity=capacity))


def _past_use_changes(dice: Random, world: World) -> World:
    name = dice.choice(list(world.tree.groups))
    own = {key: dice.choice((0, 1, 5, 400)) for key in KEYS if dice.random() < 0.7}
    return replace(world, past_use={**world.past_use, name: own})


_CHANGES = (
    _job_changes,
    _past_use_changes,
    _job_claims,
    _unmanaged_changes,
    _group_changes,
    _group_moves,
    _group_goes,
    _capacity_changes,
)
_WEIGHTS = (20, 6, 4, 4, 3, 1, 1, 1)


def _quotas(dice: Random) -> tuple[Entry, ...]:
    entries = []
    for resources in SETS:
        for flavor in dice.sample(FLAVORS, dice.choice((0, 1, 2, 2))):
            entries.append(_entry(dice, flavor, resources))  # noqa: PERF401
    by_flavor: dict[str, Entry] = {}
    for entry in entries:
        by_flavor.setdefault(entry.flavor, entry)
    return tuple(by_flavor.values())


def _entry(dice: Random, flavor: str, resources: tuple[str, ...]) -> Entry:
    least = {resource: dice.choice((0, 0, 2, 5, 10, 20)) for resource in resources}
    most = {resource: least[resource] + dice.choice((0, 3, 10, 40)) for resource in resources if dice.random() < 0.5}
    return Entry(
        flavor,
        min=least,
        max=most,
        weight={resource: dice.choice((0, 1, 3, 7)) for resource in resources if dice.random() < 0.4},
        lending_limit={resource: least[resource] // 2 for resource in resources if dice.random() < 0.3},
        borrowing_limit={resource: dice.choice((0, 4)) for resource in resources if dice.random() < 0.2},
    )


def _some(dice: Random, most: int) -> dict[FlavorResource, int]:
    return {key: dice.randint(0, most) for key in KEYS if dice.random() < 0.4}


__all__ = ["KEYS", "NOW", "changed_world", "random_group", "random_job", "random_tree", "random_world"]
