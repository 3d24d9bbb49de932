"""The changes of a remedy that requires others, in the order in which they are made."""

from collections.abc import Mapping
from functools import partial
from typing import Final

from shared.quota.measure.snapshot import Snapshot
from shared.quota.outlook.advise import changes
from shared.quota.outlook.advise.remedy import Remedy, RemedyAction
from shared.quota.outlook.advise.search import WorldChange
from shared.resources import FlavorResource

LIMITS: Final[Mapping[RemedyAction, changes.LimitField]] = {
    RemedyAction.RAISE_MIN: changes.LimitField.MIN,
    RemedyAction.RAISE_MAX: changes.LimitField.MAX,
}
"""Action → the limit of a group that it raises."""


def steps_of(remedy: Remedy, snapshot: Snapshot) -> tuple[WorldChange, ...]:
    """Return the changes, which raise a min, a max, a budget or the capacity; `snapshot`: what there is before."""
    return tuple(_change(each, snapshot) for each in (*remedy.also, remedy))


def _change(remedy: Remedy, snapshot: Snapshot) -> WorldChange:
    if remedy.budget is not None:
        plain = changes.as_if_not_spent(snapshot.world, snapshot.now, remedy.group)
        return partial(changes.with_raised_budget, group=remedy.group, plain=plain, larger=remedy.budget)
    key = FlavorResource(remedy.flavor, remedy.resource)
    if remedy.do is RemedyAction.ADD_CAPACITY:
        return partial(changes.with_capacity, key=key, amount=snapshot.capacity.get(key, 0) + remedy.by)
    return partial(changes.with_raised_limit, group=remedy.group, field=LIMITS[remedy.do], key=key, by=remedy.by)
