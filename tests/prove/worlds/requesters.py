"""Leaves in which namespaces or users take turns, and workloads of several of these."""

from dataclasses import replace

from shared.quota.model.tree import Group, QueueOrder
from shared.quota.model.workload import Workload
from tests.prove.random_draw import Dice

NAMESPACES = ("ns", "other", "third")
USERS = ("ann", "bob")


def with_order(dice: Dice, group: Group) -> Group:
    """The group, maybe in another order with some weights."""
    if group.is_parent:
        return group
    weights = {who: dice.one_of((0, 500, 1000, 3000)) for who in (*NAMESPACES, *USERS) if dice.chance(25)}
    order = dice.one_of(list(QueueOrder))
    return group if order is QueueOrder.AGE else replace(group, order=order, order_weights=weights)


def by_requester(dice: Dice, work: Workload) -> Workload:
    """The workload in some namespace, created by some user or by a controller."""
    name = work.key.split("/")[1]
    return replace(work, key=f"{dice.one_of(NAMESPACES)}/{name}", user=dice.one_of((*USERS, "")))
