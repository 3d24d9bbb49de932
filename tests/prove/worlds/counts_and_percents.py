"""Worlds in which some groups count pods and workloads, or have limits that are percents."""

from dataclasses import replace

from shared.quota.model.tree import Tree
from tests.prove.numbers.counts import COUNTS, counting, drawn_counts
from tests.prove.numbers.percents import with_percents
from tests.prove.random_draw import Dice
from tests.prove.worlds.world import ClosedWorld, Edit


def with_counts_and_percents(dice: Dice, world: ClosedWorld) -> ClosedWorld:
    """The same; some with counts, some with percents where nothing edits them. Drawn last: the rest stays."""
    if dice.chance(12):
        world = _counted(world, drawn_counts(dice, world.tree))
    is_timed = any(group.overrides or group.windows for group in world.tree.groups.values())
    if dice.chance(12) and not world.edits and not is_timed:
        world = replace(world, tree=with_percents(dice, world.tree))
    return world


def _counted(world: ClosedWorld, tree: Tree) -> ClosedWorld:
    lives = tuple(replace(each, work=counting(tree, each.work)) for each in world.lives)
    return replace(world, tree=tree, lives=lives, edits=tuple(_with_counts_of(tree, each) for each in world.edits))


def _with_counts_of(tree: Tree, edit: Edit) -> Edit:
    counts = tuple(each for each in tree[edit.group.name].quotas if each.flavor == COUNTS)
    return replace(edit, group=replace(edit.group, quotas=(*edit.group.quotas, *counts)))
