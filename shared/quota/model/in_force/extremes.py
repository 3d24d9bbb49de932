"""The least and the most that a group promises at any time to come, by its own overrides and windows. Pure.

An amendment names any min: so the most is at least what is in force at each moment, and the least at most that.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime

from shared.api.crds.timed import MAX_OVERRIDES, MAX_WINDOWS
from shared.quota.model.tree import Amounts, Entry, Group


def has_percents(group: Group) -> bool:
    """Return whether the group has a percent at some time."""
    overrides, windows = (
        (entry for each in said for entry in each.quotas) for said in (group.overrides, group.windows)
    )
    return any(entry.percents for entry in (*group.quotas, *overrides, *windows))


def at_its_most(group: Group, now: datetime) -> Group:
    """Return the group with the largest min that it has from `now` on, each resource by itself; no percents."""
    return _with(group, now, max)


def at_its_least(group: Group, now: datetime) -> Group:
    """Return the group with the smallest min that it has from `now` on, each resource by itself; no percents."""
    return _with(group, now, min)


def _with(group: Group, now: datetime, choose: Callable[[list[int]], int]) -> Group:
    amended = [*_amended(group, now)]
    if not amended:
        return group
    return replace(group, quotas=tuple(replace(entry, min=_min(entry, amended, choose)) for entry in group.quotas))


def _amended(group: Group, now: datetime) -> Iterator[Entry]:
    for override in group.overrides[:MAX_OVERRIDES]:
        yield from override.quotas if override.end > now else ()
    for window in group.windows[:MAX_WINDOWS]:
        yield from window.quotas


def _min(entry: Entry, amended: list[Entry], choose: Callable[[list[int]], int]) -> Amounts:
    found = {resource: [entry.min.get(resource, 0)] for resource in entry.covered}
    for each in amended:
        for resource, amount in each.min.items() if each.flavor == entry.flavor else ():
            if resource in found:
                found[resource].append(amount)
    return {resource: choose(amounts) for resource, amounts in found.items()}
