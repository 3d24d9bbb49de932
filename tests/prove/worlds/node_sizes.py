"""Nodes of a closed world: of which sizes each flavor has some, and how many pods a workload is split into."""

from dataclasses import replace

from shared.quota.model.tree import Amounts
from tests.prove.random_draw import Dice
from tests.prove.worlds.world import ClosedWorld, Resize


def with_node_sizes(dice: Dice, world: ClosedWorld) -> ClosedWorld:
    """The same world with nodes that not every pod fits; larger and smaller ones come and go."""
    flavors = [flavor.name for flavor in world.flavors]
    lives = tuple(
        each if each.work.pod_sets else replace(each, work=replace(each.work, pods=dice.one_of((1, 1, 2, 3))))
        for each in world.lives
    )
    sizes = {flavor: _sizes(dice, world, flavor) for flavor in flavors if dice.chance(70)}
    resizes = tuple(
        Resize(dice.between(1, 8), flavor, _sizes(dice, world, flavor)) for flavor in flavors if dice.chance(40)
    )
    return replace(world, lives=lives, sizes=sizes, resizes=resizes)


def _sizes(dice: Dice, world: ClosedWorld, flavor: str) -> tuple[Amounts, ...]:
    """None, one or two sizes; most workloads fit one of them."""
    resources = [key.resource for key in world.capacity if key.flavor == flavor]
    requests = [amount for life in world.lives for amount in life.work.request.values()] or [1]
    largest = max(requests)
    return tuple(
        {name: dice.one_of((largest, dice.between(0, largest))) for name in resources}
        for _ in range(dice.one_of((0, 1, 1, 1, 2)))
    )
