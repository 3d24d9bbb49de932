"""Random worlds of shapes that small ones cannot have: deep, wide, open, edited meanwhile, with nodes that flap."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from shared.quota.model.tree import ROOT, Group, StopPolicy, Tree
from shared.resources import FlavorResource
from tests.prove.random_draw import Dice
from tests.prove.worlds.world import (
    ClosedWorld,
    Edit,
    Life,
    Loss,
    impatient,
    random_group,
    random_life,
    random_settings,
)

LAST_ARRIVAL = 30
"""Workloads come until that cycle, so that starts and ends are mixed."""


def random_large_world(dice: Dice) -> ClosedWorld:
    """Up to six levels, thirty leaves, three flavors and forty workloads, most of which finish by themselves."""
    keys = _keys(dice)
    size = dice.one_of((8, 9, 16, 24, 40))
    capacity = {key: dice.between(size // 2, size) for key in keys}
    tree = _tree(dice, keys, capacity)
    leaves = tree.leaves_below(ROOT)
    largest = max(1, dice.one_of((size // 2, size // 4, size // 8)))
    awakes = {leaf: dice.between(0, LAST_ARRIVAL) for leaf in leaves}
    lives = tuple(
        _ends(dice, random_life(dice, tree, awakes, keys, largest, number)) for number in range(dice.between(8, 40))
    )
    losses = _flapping(dice, capacity) if dice.chance(40) else ()
    edits = tuple(edit for _ in range(dice.between(0, 6)) for edit in _edits(dice, tree, leaves))
    return impatient(dice, ClosedWorld(tree, capacity, lives, random_settings(dice), losses, edits))


def _keys(dice: Dice) -> tuple[FlavorResource, ...]:
    """Codependent sets (every flavor has both resources) or independent ones (a flavor of its own for each)."""
    flavors = ("a", "b", "c")[: dice.between(1, 3)]
    if dice.chance(60):
        resources = ("cpu", "nvidia.com/gpu")[: dice.between(1, 2)]
        return tuple(FlavorResource(flavor, resource) for flavor in flavors for resource in resources)
    gpus = tuple(FlavorResource(flavor, "nvidia.com/gpu") for flavor in flavors)
    return (FlavorResource("z", "cpu"), *gpus)


def _tree(dice: Dice, keys: tuple[FlavorResource, ...], capacity: Mapping[FlavorResource, int]) -> Tree:
    levels, count = dice.one_of(((6, 12), (5, 14), (4, 16), (2, 30), (1, 30)))
    left = {ROOT: {key: amount * dice.one_of((100, 100, 120, 60)) // 100 for key, amount in capacity.items()}}
    depth, groups = {ROOT: 0}, list[Group]()
    for number in range(count):
        above = [ROOT, *(group.name for group in groups if group.is_parent)]
        deepest = max(above, key=lambda name: (depth[name], name))
        open_above = [name for name in above if depth[name] < levels]
        parent = deepest if levels > 2 and depth[deepest] < levels and dice.chance(60) else dice.one_of(open_above)
        name = f"g{number:02}"
        depth[name] = depth[parent] + 1
        group, left[name] = random_group(dice, name, parent, keys, left[parent])
        groups.append(replace(group, is_parent=depth[name] < levels and dice.chance(70 if levels > 2 else 25)))
    parents = {group.parent for group in groups}
    return Tree.of([replace(group, is_parent=group.name in parents) for group in groups])


def _ends(dice: Dice, life: Life) -> Life:
    arrives = life.arrives + dice.between(0, 6)
    born = life.work.created + timedelta(seconds=10 * (arrives - life.arrives))
    work = life.work if life.work.admission is not None else replace(life.work, created=born, queued=born)
    return replace(life, work=work, arrives=arrives, runs_for=dice.between(2, 12) if dice.chance(80) else None)


def _flapping(dice: Dice, capacity: Mapping[FlavorResource, int]) -> tuple[Loss, ...]:
    """Some nodes of one key go and come back, several times."""
    key = dice.one_of(sorted(capacity))
    period, less = dice.between(1, 4), dice.between(1, capacity[key])
    return tuple(
        Loss(1 + number * period, key, capacity[key] - (less if number % 2 == 0 else 0))
        for number in range(2 * dice.between(1, 6))
    )


def _edits(dice: Dice, tree: Tree, leaves: tuple[str, ...] | list[str]) -> tuple[Edit, ...]:
    """A leaf held for a while, or its max lowered and raised again, while work waits and runs."""
    group, at = tree[dice.one_of(sorted(leaves))], dice.between(1, LAST_ARRIVAL)
    back = Edit(at + dice.between(1, 8), group)
    if dice.chance(40):
        return Edit(at, replace(group, stop_policy=dice.one_of((StopPolicy.HOLD, StopPolicy.CLOSE)))), back
    lowered = tuple(replace(entry, max=entry.min) for entry in group.quotas)
    return Edit(at, replace(group, quotas=lowered)), back
