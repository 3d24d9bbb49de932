"""Who takes turns in a leaf whose order is by namespace or user, and how much each of them has used there.

A *requester* is a namespace or a user, as the leaf's order says. Use is by resource, over all flavors: which flavor a
workload gets is not known while it waits.

See docs/specification.md §6.7.
"""

from collections.abc import Mapping
from typing import Final

from shared.quota.measure.inputs.workload_set import WorkloadSet
from shared.quota.measure.largest import largest_first
from shared.quota.model.tree import NAMESPACE_ACCOUNTS, Amounts, QueueOrder
from shared.quota.model.workload import Workload, namespace_of

RequesterUse = Mapping[str, Mapping[str, Amounts]]
"""leaf -> requester -> resource -> decayed past use; a leaf's mapping is another object when one of them changed."""

MAX_REQUESTERS: Final = 200
"""How many requesters of a leaf are written one by one."""
KEPT_REQUESTERS: Final = 2_000
"""How many the leader keeps one by one: who comes after the 200 largest can become one of them."""
OTHERS: Final = ""
"""Stands for all other requesters of a leaf together; none has this name."""


def requester_of(order: QueueOrder, workload: Workload) -> str:
    """Return for whom the workload counts."""
    return _requester(order, namespace_of(workload.key), workload.user)


def _requester(order: QueueOrder, namespace: str, user: str) -> str:
    if order is QueueOrder.USER:
        return user or NAMESPACE_ACCOUNTS + namespace
    return namespace


def current_use(order: QueueOrder, workloads: WorkloadSet) -> Mapping[str, Amounts]:
    """requester -> resource -> what their admitted workloads use now; nothing where the order is by age."""
    if order is QueueOrder.AGE:
        return {}
    found: dict[str, Amounts] = {}
    for (namespace, user), own in workloads.use_by_creator.items():
        requester = _requester(order, namespace, user)
        found[requester] = sum_of(found[requester], own) if requester in found else own
    return found


def sum_of(one: Amounts, other: Amounts) -> Amounts:
    """Return the sum by resource."""
    return {resource: one.get(resource, 0) + other.get(resource, 0) for resource in {**one, **other}}


def with_use(known: Mapping[str, Amounts], more: Mapping[str, Amounts]) -> Mapping[str, Amounts]:
    """Return `known` with what each requester has used beside it; the same object for nothing."""
    if not more:
        return known
    return {**known, **{name: sum_of(known.get(name, {}), own) for name, own in more.items()}}


def keep_largest(use: Mapping[str, Amounts], most: int) -> Mapping[str, Amounts]:
    """Return so many that have the largest part of some resource, and OTHERS; those of 0 are left out."""
    named = {name: own for name, own in use.items() if name != OTHERS and any(own.values())}
    others = use.get(OTHERS, {})
    if len(named) > most:
        all_use: Amounts = {}
        for own in named.values():
            all_use = sum_of(all_use, own)
        for name in largest_first(named, all_use)[most:]:
            others = sum_of(others, named.pop(name))
    return {**named, OTHERS: others} if any(others.values()) else named
