"""Worlds in which workloads come to deep leaves after everything else has come to rest.

Nothing changes below root meanwhile, and no past use is kept: what a process remembers of an idle cycle is still valid
everywhere but on the path of the workload that comes.
"""

from dataclasses import replace

from shared.quota.model.tree import ROOT
from tests.prove.random_draw import Dice
from tests.prove.worlds.world import STEP, ClosedWorld, Life

QUIET = 6
"""Cycles without an event, so that most worlds are idle before the next workload comes."""


def with_late_arrivals(dice: Dice, world: ClosedWorld) -> ClosedWorld:
    """The same; up to three workloads of leaves that are not directly below root come late, one after another."""
    deep = [life for life in world.lives if world.tree[life.work.group].parent != ROOT and life.work.admission is None]
    late: dict[str, int] = {}
    for life in deep:
        if len(late) < 3 and dice.chance(50):
            late[life.work.key] = world.last_event + QUIET * (len(late) + 1)
    lives = tuple(_postponed(life, late.get(life.work.key, life.arrives)) for life in world.lives)
    return replace(world, lives=lives)


def _postponed(life: Life, arrives: int) -> Life:
    by = arrives - life.arrives
    work = replace(life.work, created=life.work.created + STEP * by, queued=life.work.queued + STEP * by)
    return replace(life, work=work, arrives=arrives, leaves=None if life.leaves is None else life.leaves + by)
