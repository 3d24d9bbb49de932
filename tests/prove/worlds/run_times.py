"""Random run-time limits, of groups and of workloads, in closed worlds."""

from dataclasses import replace

from shared.quota.model.tree import ROOT, Group, Tree
from tests.prove.random_draw import Dice
from tests.prove.worlds.world import STEP, ClosedWorld, Life


def limited_in_time(dice: Dice, world: ClosedWorld) -> ClosedWorld:
    """The same; in some worlds, some groups and workloads have limits. Drawn last: the rest stays."""
    if not dice.chance(15):
        return world
    limits = {
        name: STEP * dice.between(1, 12) for name in sorted(world.tree.groups) if name != ROOT and dice.chance(40)
    }

    def changed(group: Group) -> Group:
        return replace(group, max_run_time=limits.get(group.name))

    lives = tuple(_declaring(dice, each) for each in world.lives)
    edits = tuple(replace(each, group=_edited(dice, changed(each.group))) for each in world.edits)
    return replace(world, tree=Tree.of(map(changed, world.tree.groups.values())), lives=lives, edits=edits)


def _declaring(dice: Dice, life: Life) -> Life:
    if not dice.chance(25):
        return life
    return replace(life, work=replace(life.work, max_run_time=STEP * dice.between(1, 10)))


def _edited(dice: Dice, group: Group) -> Group:
    """A limit below what runs already, or none any more."""
    limit = dice.one_of((group.max_run_time, STEP, None))
    return replace(group, max_run_time=limit)
