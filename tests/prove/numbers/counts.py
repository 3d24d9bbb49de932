"""Trees in which some groups name pods and workloads, and work that requests them."""

from dataclasses import replace
from typing import Any

from shared.quota.model.tree import ROOT, SYSTEM, Entry, Group, Tree
from shared.quota.model.workload import PodSet, Workload
from tests.prove.random_draw import Dice

COUNTS = "counts"
NAMES = ("pods", "workloads")


def drawn_counts(dice: Dice, tree: Tree) -> Tree:
    """The same; some groups name counts. Σ min of children is at most the parent's."""
    groups = dict(tree.groups)
    left: dict[tuple[str, str], int] = {}
    for name in [name for name in tree.subtree(ROOT) if name != SYSTEM]:
        found = {each: _limits(dice, groups[name], each, left) for each in NAMES if dice.chance(20)}
        limits: dict[str, Any] = {}
        for each, numbers in found.items():
            for limit, amount in numbers.items():
                limits.setdefault(limit, {})[each] = amount
        if found:
            groups[name] = replace(groups[name], quotas=(*groups[name].quotas, Entry(COUNTS, **limits)))
    return Tree.of(groups.values())


def _limits(dice: Dice, group: Group, count: str, left: dict[tuple[str, str], int]) -> dict[str, int]:
    most = dice.one_of((0, 1, 2, 3, 5, 9, 40))
    if group.name == ROOT:
        return {"max": most}
    low = dice.between(0, most)
    if group.parent != ROOT:
        low = min(low, left.get((group.parent or ROOT, count), 0))
        left[group.parent or ROOT, count] = left.get((group.parent or ROOT, count), 0) - low
    left[group.name, count] = low
    found = {"min": low}
    if dice.chance(60):
        found["max"] = most
    for limit, highest in (("borrowing_limit", most), ("lending_limit", low), ("weight", 3)):
        if dice.chance(20):
            found[limit] = dice.between(0, highest)
    return found


def counting(tree: Tree, work: Workload) -> Workload:
    """The work as it counts: all its pods and 1 for itself, of what some group on its path names."""
    path = [tree[name] for name in tree.path(work.group)]
    named = {each for group in path for entry in group.quotas if entry.flavor == COUNTS for each in entry.covered}
    sets = work.pod_sets or (PodSet("main", work.request, work.pods),)
    amounts = {"pods": sum(each.pods for each in sets), "workloads": 1}
    own = {name: amount for name, amount in amounts.items() if name in named and amount}
    if not own:
        return work
    pod_sets = tuple(
        replace(each, request={**each.request, **own}) if at == 0 else each for at, each in enumerate(work.pod_sets)
    )
    admission = work.admission
    if admission is not None:
        flavors = {**admission.flavors.get(sets[0].name, {}), **dict.fromkeys(own, COUNTS)}
        admission = replace(admission, flavors={**admission.flavors, sets[0].name: flavors})
    return replace(work, request={**work.request, **own}, pod_sets=pod_sets, admission=admission)
