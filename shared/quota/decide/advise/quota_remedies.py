"""Remedies that raise a limit of one group: its min, or its max."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from shared.quota.decide.advise import changes
from shared.quota.decide.advise.remedy import Remedy, RemedyAction, raise_by
from shared.quota.decide.advise.search import Search
from shared.quota.measure.inputs.world import World
from shared.resources import Amount, FlavorResource


def raised_mins(search: Search) -> Iterator[Remedy]:
    """Raise the min of a group on the workload's path, with those of its ancestors that must grow too."""
    for group in changes.path_below_root(search.world, search.workload.group):
        for key in search.keys:
            by = search.smallest_of(key, partial(_with_min, search, group, key))
            ancestors = changes.with_raised_min(search.world, group, key, by)[1] if by is not None else {}
            if by is not None and not _is_enough_alone(search, ancestors, key):
                also = tuple(raise_by(RemedyAction.RAISE_MIN, name, key, more) for name, more in ancestors.items())
                yield replace(raise_by(RemedyAction.RAISE_MIN, group, key, by), also=also)


def raised_maxes(search: Search) -> Iterator[Remedy]:
    """Raise the max of a group on the workload's path, root's included."""
    for group in search.world.tree.path(search.workload.group):
        for key in search.keys:
            by = search.smallest_of(key, partial(changes.with_raised_max, search.world, group, key))
            if by is not None:
                yield raise_by(RemedyAction.RAISE_MAX, group, key, by)


def _is_enough_alone(search: Search, ancestors: Mapping[str, Amount], key: FlavorResource) -> bool:
    """Return whether raising one of the ancestors would do without the group below it."""
    return any(search.starts(_with_min(search, name, key, by)) for name, by in ancestors.items())


def _with_min(search: Search, group: str, key: FlavorResource, by: Amount) -> World | None:
    return changes.with_raised_min(search.world, group, key, by)[0]
