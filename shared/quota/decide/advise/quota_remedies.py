"""Remedies that raise a limit of one group: its min, or its max."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from shared.quota.decide.advise import changes
from shared.quota.decide.advise.remedy import Remedy, RemedyAction, raise_by
from shared.quota.decide.advise.search import Search
from shared.quota.decide.advise.smallest import SmallestNumber
from shared.quota.measure.idle_guarantees import idle_guarantees
from shared.quota.measure.inputs.world import World
from shared.quota.model.tree import ROOT
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
