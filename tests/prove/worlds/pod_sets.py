"""Workloads of several pod sets: drawn from those of one, and put together from sets."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from shared.quota.model.workload import PodSet, Workload
from shared.resources import sum_amounts
from tests.builders import in_main
from tests.prove.numbers.placements import random_placement
from tests.prove.random_draw import Dice
from tests.prove.worlds.world import ClosedWorld


def with_pod_sets(work: Workload, sets: Sequence[PodSet]) -> Workload:
    """The same work with these pod sets; what it runs in is kept for sets that it still has."""
    names = {each.name for each in sets}
    admission = work.admission and replace(
        work.admission, flavors={name: own for name, own in work.admission.flavors.items() if name in names}
    )
    return replace(work, request=sum_amounts(each.request for each in sets), pod_sets=tuple(sets), admission=admission)


def random_pod_sets(dice: Dice, work: Workload, *, placed: bool) -> Workload:
    """The work split into up to four sets, of equal or of different requests; `placed`: some agree with few flavors."""
    sets = []
    for number in range(dice.between(1, 4)):
        wanted = {name: amount for name, amount in work.request.items() if dice.chance(70)}
        request = {name: max(1, dice.between(0, amount) * 2 // 3) for name, amount in wanted.items()}
        if placed and dice.chance(4):
            request["uncovered"] = 1
        own = {"placement": random_placement(dice)} if placed and dice.chance(15) else {}
        sets.append(PodSet(f"set{number}", request, dice.one_of((0, 1, 1, 2)), **own))
    return with_pod_sets(replace(work, admission=None), sets)


def in_sets(work: Workload, chosen: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Flavors for every pod set in which each resource has the same one in all sets."""
    return {
        each.name: {name: chosen[name] for name in each.request if name in chosen}
        for each in work.sets
        if any(name in chosen for name in each.request)
    }


def with_several_pod_sets(dice: Dice, world: ClosedWorld) -> ClosedWorld:
    """The same world, in which half of the workloads have pods of several kinds."""
    lives = []
    for life in world.lives:
        work = life.work
        if dice.chance(50):
            split = random_pod_sets(dice, work, placed=False)
            if work.admission is not None:
                flavors = in_sets(split, work.admission.flavors.get("main", {})) or in_main({})
                split = replace(split, admission=replace(work.admission, flavors=flavors))
            work = split
        lives.append(replace(life, work=work))
    return replace(world, lives=tuple(lives))
