"""Remedies that raise a limit of one group: its min, its max, or its budget."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from shared.quota.measure.accounts.periods import milliseconds
from shared.quota.measure.idle_guarantees import idle_guarantees
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.budgets.budget import SpentBudget, WhenSpent
from shared.quota.model.budgets.raised import raised
from shared.quota.model.tree import ROOT, SYSTEM
from shared.quota.model.workload import Workload
from shared.quota.outlook.advise import changes
from shared.quota.outlook.advise.remedy import Remedy, RemedyAction, raise_by
from shared.quota.outlook.advise.search import Search, keys_of
from shared.quota.outlook.advise.smallest import SmallestNumber
from shared.quota.outlook.advise.steps import steps_of
from shared.resources import MAX_AMOUNT, Amount, FlavorResource


def raised_mins(search: Search) -> Iterator[Remedy]:
    """Raise the min of a group on the workload's path, with those of its ancestors that must grow too, these first."""
    for group in changes.path_below_root(search.world, search.workload.group):
        for key in search.keys:
            most = search.up_to_the_clusters_size(key, changes.min_of(search.snapshot.tree[group], key))
            found = search.smallest_of(key, partial(_with_min, group=group, key=key), most)
            ancestors = changes.with_raised_min(search.world, group, key, found.number)[1] if found is not None else {}
            if found is not None and not _is_enough_alone(search, ancestors, key):
                also = [_raised_min(search, name, key, SmallestNumber(more)) for name, more in ancestors.items()]
                yield replace(_raised_min(search, group, key, found), also=tuple(reversed(also)))


def raised_maxes(search: Search) -> Iterator[Remedy]:
    """Raise the max of a group on the workload's path, root's included."""
    for group in search.world.tree.path(search.workload.group):
        for key in search.keys:
            raised = partial(changes.with_raised_max, group=group, key=key)
            most = search.up_to_the_clusters_size(key, changes.max_of(search.snapshot.tree[group], key))
            found = search.smallest_of(key, raised, MAX_AMOUNT if group == ROOT else most)
            if found is not None:
                percent = changes.percent_after(search.world, group, "max", key, found.number)
                yield replace(raise_by(RemedyAction.RAISE_MAX, group, key, found), percent=percent)


def raised_budgets(search: Search) -> Iterator[Remedy]:
    """Raise a budget that keeps a group on the path within its min; if none would do alone, all of them, from the top.

    Those that let nothing start are raised in the search's world already.
    """
    found = list[Remedy]()
    for group in reversed(changes.path_below_root(search.world, search.workload.group)):
        for spent in search.world.tree[group].spent:
            matters = spent.budget.when_spent is WhenSpent.NO_BORROW and any(map(spent.budget.key.counts, search.keys))
            remedy = raised_budget(search.snapshot, search.workload, group, spent) if matters else None
            if remedy is not None:
                found.append(remedy)
    alone = [each for each in found if search.starts(steps_of(each, search.snapshot)[0])]
    if alone or len(found) < 2:
        yield from alone
        return
    together = replace(found[-1], also=tuple(found[:-1]))
    if search.starts_at_once(steps_of(together, search.snapshot)):
        yield together


def raised_budget(snapshot: Snapshot, workload: Workload, group: str, spent: SpentBudget) -> Remedy | None:
    """Raise a spent budget so that it lasts an hour at the present use and with the workload.

    None where it is not known what is used.
    """
    key, numbers = spent.budget.key, snapshot.numbers.get(group, {})
    known = snapshot.world.budgets_used.get(group, {}).get(key)
    if known is None or spent.at is None:
        return None
    of_system = snapshot.numbers.get(SYSTEM, {}) if group == ROOT else {}
    rate = sum(each.used for own, each in numbers.items() if key.counts(own))
    rate -= sum(each.used for own, each in of_system.items() if key.counts(own))
    used = known.by(milliseconds(snapshot.now), rate)
    counts = any(map(key.counts, keys_of(snapshot.tree, workload)))
    larger = raised(spent.budget, used, rate + counts * workload.request.get(key.resource, 0))
    return None if larger is None else Remedy(RemedyAction.RAISE_BUDGET, group=group, budget=larger)


def raised_lending_limits(search: Search) -> Iterator[Remedy]:
    """Let a group lend more of what it keeps while idle."""
    for key in search.keys:
        for idle in idle_guarantees(search.snapshot, ROOT, key):
            numbers = search.snapshot.numbers[idle.group][key]
            lent = numbers.min - numbers.guarantee
            lending = partial(_lending, group=idle.group, key=key, lent=lent)
            found = search.smallest_of(key, lending, numbers.guarantee)
            if found is not None:
                percent = changes.percent_after(search.world, idle.group, "lending_limit", key, found.number)
                yield replace(raise_by(RemedyAction.RAISE_LENDING_LIMIT, idle.group, key, found), percent=percent)


def _raised_min(search: Search, group: str, key: FlavorResource, by: SmallestNumber) -> Remedy:
    percent = changes.percent_after(search.world, group, "min", key, by.number)
    return replace(raise_by(RemedyAction.RAISE_MIN, group, key, by), percent=percent)


def _is_enough_alone(search: Search, ancestors: Mapping[str, Amount], key: FlavorResource) -> bool:
    """Return whether raising one of the ancestors would do without the group below it."""
    return any(search.starts(partial(_with_min, by=by, group=name, key=key)) for name, by in ancestors.items())


def _with_min(world: World, by: Amount, group: str, key: FlavorResource) -> World | None:
    return changes.with_raised_min(world, group, key, by)[0]


def _lending(world: World, by: Amount, group: str, key: FlavorResource, lent: Amount) -> World | None:
    return changes.with_lending_limit(world, group, key, lent + by)
