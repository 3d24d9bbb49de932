"""Worlds after one change that a person could make; None where the rules refuse the change."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from shared.api.core.placement import Placement
from shared.api.names import WORKLOAD_COUNT
from shared.percents import percent_for, write_percent
from shared.quota.measure.inputs.world import World
from shared.quota.measure.static.capacity import percent_base, resolved_tree
from shared.quota.measure.static.node_shapes import largest_nodes
from shared.quota.measure.static.static_state import capacity_of
from shared.quota.model import rules
from shared.quota.model.amounts.resolution import base_below
from shared.quota.model.budgets.budget import Budget
from shared.quota.model.budgets.raised import with_raised as with_larger
from shared.quota.model.in_force import group_in_force
from shared.quota.model.node import ClusterNode
from shared.quota.model.tree import ROOT, Amounts, Group, StopPolicy, Tree
from shared.quota.model.workload import PodSet, Workload
from shared.resources import Amount, FlavorResource


class LimitField(StrEnum):
    """A limit of a quota entry that can be raised."""

    MIN = "min"
    MAX = "max"


Raised = tuple[World | None, dict[str, Amount]]
"""A world, and by how much each ancestor was raised for it."""


def with_raised_min(world: World, group: str, key: FlavorResource, by: Amount) -> Raised:
    """Raise the min of `group`, and of its ancestors by what their children's sum then exceeds theirs.

    Return the world and what each ancestor was raised by.
    """
    tree, raised = world.tree, dict[str, Amount]()
    for name in tree.path(group)[:-1]:
        now = replace(world, tree=tree)
        amount = by if name == group else _missing_min(with_amounts(now), name, key)
        if amount <= 0:
            continue
        changed = with_raised(now, name, LimitField.MIN, key, amount)
        if changed is None:
            return None, {}
        tree = tree.with_group(changed)
        if name != group:
            raised[name] = amount
    names = (*reversed(raised), group)
    return with_tree(world, tree, names), raised


def _missing_min(tree: Tree, parent: str, key: FlavorResource) -> Amount:
    """Return by how much the sum of the children's min exceeds the parent's."""
    return sum(min_of(tree[child], key) for child in tree.children(parent)) - min_of(tree[parent], key)


def min_of(group: Group, key: FlavorResource) -> Amount:
    """Return the min as written; 0 where absent."""
    entry = group.entry(key.flavor)
    return entry.min.get(key.resource, 0) if entry is not None else 0


def max_of(group: Group, key: FlavorResource) -> Amount:
    """Return the max as written; 0 where absent."""
    entry = group.entry(key.flavor)
    return entry.max.get(key.resource, 0) if entry is not None else 0


def with_lending_limit(world: World, group: str, key: FlavorResource, amount: Amount) -> World | None:
    """Let `group` lend that much of its min; None where no entry covers the key."""
    changed = _with_limit(world, group, "lending_limit", key, amount)
    return None if changed is None else with_tree(world, world.tree.with_group(changed), (group,))


def with_raised_max(world: World, by: Amount, group: str, key: FlavorResource) -> World | None:
    """Raise the max of `group`; None where it has none of its own."""
    return with_raised_limit(world, by, group, LimitField.MAX, key)


def with_raised_limit(world: World, by: Amount, group: str, field: LimitField, key: FlavorResource) -> World | None:
    """Raise one limit of `group` and nothing else; None where no entry covers the key, or a max is not written."""
    changed = with_raised(world, group, field, key, by)
    return None if changed is None else with_tree(world, world.tree.with_group(changed), (group,))


def with_raised(world: World, group: str, field: LimitField, key: FlavorResource, by: Amount) -> Group | None:
    """Raise one limit of one entry; None where no entry covers the key, or a max is not written."""
    entry = with_amounts(world)[group].entry(key.flavor)
    if entry is None or (field is LimitField.MAX and key.resource not in entry.max):
        return None
    amounts: Amounts = getattr(entry, field.value)
    return _with_limit(world, group, field.value, key, amounts.get(key.resource, 0) + by)


def percent_after(world: World, group: str, limit: str, key: FlavorResource, by: Amount) -> str:
    """Return what a person writes to raise a limit by so much; empty if it is written as an amount."""
    entry = with_amounts(world)[group].entry(key.flavor)
    if entry is None or entry.percent(limit, key.resource) is None:
        return ""
    before: Amounts = getattr(entry, limit)
    percent = percent_for(_whole(world, group, key), before.get(key.resource, 0) + by)
    return "" if percent is None else write_percent(percent)


def _whole(world: World, group: str, key: FlavorResource) -> Amount:
    """Return the amount of which percents of the group are shares."""
    base = percent_base(world.tree, world.flavors, world.nodes, world.settings)
    return base_below(world.tree, base, world.tree[group].parent or ROOT)(key) or 0


def _with_limit(world: World, group: str, limit: str, key: FlavorResource, amount: Amount) -> Group | None:
    """Return the group with that limit, written as a percent if it was one; None where no entry covers the key.

    None too if the percent would be too large to be written.
    """
    entry = world.tree[group].entry(key.flavor)
    if entry is None or key.resource not in entry.covered:
        return None
    amounts: dict[str, Any] = {limit: {**getattr(entry, limit), key.resource: amount}}
    changed = replace(entry, **amounts)
    if entry.percent(limit, key.resource) is not None:
        percent = percent_for(_whole(world, group, key), amount)
        if percent is None:
            return None
        percents = {**entry.percents, limit: {**entry.percents[limit], key.resource: percent}}
        changed = replace(entry, percents=percents)
    quotas = tuple(changed if each is entry else each for each in world.tree[group].quotas)
    return replace(world.tree[group], quotas=quotas)


def with_tree(world: World, tree: Tree, names: tuple[str, ...]) -> World | None:
    """Put another tree into the world; None where the rules refuse the edit of one of these groups."""
    context = rules.Context(
        flavors=world.flavors,
        max_depth=world.settings.max_depth,
        capacity=_capacity(world) if tree.has_percents else None,
        promised=world.settings.is_promised,
    )
    before = world.tree
    for name in names:
        after = before.with_group(tree[name])
        if rules.check_change(before, after, name, context).violations:
            return None
        before = after
    # A change that breaks no rule makes no group inactive; where one is, it might become active.
    inactive = world.inactive and rules.inactive_groups(tree, world.flavors, world.settings.max_depth)
    return replace(world, tree=tree, written=None, inactive=inactive)


def with_amounts(world: World) -> Tree:
    """Return the tree with the amounts that its percents have in this world."""
    return resolved_tree(world.tree, world.flavors, world.nodes, world.settings)


def _capacity(world: World) -> Mapping[FlavorResource, Amount]:
    return capacity_of(world, with_amounts(world))


def with_capacity(world: World, key: FlavorResource, amount: Amount) -> World:
    """Give root that much of the key, on nodes that are no larger than those there are."""
    others = tuple(each for each in world.settings.capacity if (each[0], each[1]) != key)
    settings = replace(world.settings, capacity=(*others, (*key, amount)))
    return replace(world, settings=settings, largest_nodes=largest_nodes(world))


def with_nodes(world: World, number: int, like: ClusterNode) -> World:
    """Add this many nodes like that one."""
    first = len(world.nodes) + 1
    names = [f"{like.name}+{count}" for count in range(first, first + number)]
    added = tuple(replace(like, name=name, takes_pods=True) for name in names)
    return replace(world, nodes=(*world.nodes, *added), largest_nodes=None)


def current(world: World, workload: Workload) -> Workload | None:
    """Return the workload as it is in this world; None if it is not there any more."""
    return world.workloads_of(workload.group).by_id.get(workload.id)


def without(world: World, workload: Workload) -> World:
    """End a workload."""
    return world.with_changes([(current(world, workload), None)])


def with_workload(world: World, workload: Workload, **fields: Any) -> World:
    """Give other values to some fields of a workload."""
    found = current(world, workload)
    return world if found is None else world.with_changes([(found, replace(found, **fields))])


def with_less(world: World, by: Amount, workload: Workload, pod_set: str, resource: str) -> World:
    """Reduce the request of that pod set of a workload, or of the only one, by this much."""
    sets = tuple(
        replace(each, request=_lowered(each.request, resource, by)) if each.name == pod_set else each
        for each in workload.pod_sets
    )
    return with_workload(world, workload, request=_lowered(workload.request, resource, by), pod_sets=sets)


def with_fewer_pods(world: World, by: int, workload: Workload, pod_set: str) -> World:
    """Let that pod set of a workload, or the only one, have so many pods less; each requests what it did."""
    if workload.pod_sets:
        sets = tuple(_with_pods(each, each.pods - by) if each.name == pod_set else each for each in workload.pod_sets)
        request: dict[str, Amount] = {}
        for each in sets:
            for resource, amount in each.request.items():
                request[resource] = request.get(resource, 0) + amount
        return with_workload(world, workload, request=request, pod_sets=sets)
    (one,) = workload.sets
    fewer = _with_pods(one, one.pods - by)
    return with_workload(world, workload, request=fewer.request, pods=fewer.pods)


def _with_pods(pod_set: PodSet, pods: int) -> PodSet:
    amounts = {
        resource: amount if resource == WORKLOAD_COUNT else amount // pod_set.pods * pods
        for resource, amount in pod_set.request.items()
    }
    return replace(pod_set, request=amounts, pods=pods)


def in_flavor(world: World, workload: Workload, flavor: str, others: Iterable[str]) -> World:
    """Let a workload take that flavor instead of these others, whichever nodes its owner wrote; tolerations stay."""
    return with_workload(
        world,
        workload,
        only_flavor=None,
        placement=Placement(tolerations=workload.placement.tolerations),
        pod_sets=tuple(
            replace(each, placement=Placement(tolerations=each.placement.tolerations)) for each in workload.pod_sets
        ),
        blocked_flavors=workload.blocked_flavors | frozenset(others),
    )


def _lowered(request: Amounts, resource: str, by: Amount) -> Amounts:
    return {**request, resource: request[resource] - by}


def with_resumed(world: World, workload: Workload, now: datetime) -> World:
    """Take away the hold of a workload's owner, and its deactivation; it waits from now on."""
    queued = max(workload.queued, now)
    return with_workload(
        world, workload, hold=False, deactivated=False, failed_starts=0, not_before=None, queued=queued
    )


def with_held(world: World, workload: Workload) -> World:
    """Stop a workload that runs, and hold it."""
    return with_workload(world, workload, admission=None, hold=True)


def with_opened(world: World, group: str) -> World:
    """Let `group` start workloads again."""
    tree = world.tree.with_group(replace(world.tree[group], stop_policy=StopPolicy.NONE))
    return replace(world, tree=tree, written=None)


def as_if_not_spent(world: World, now: datetime, group: str) -> Group:
    """Return the group as it is in force at `now`, without what follows from its spent budgets."""
    return world.tree[group] if world.written is None else group_in_force(world.written[group], now)


def with_raised_budget(world: World, group: str, plain: Group, larger: Budget) -> World:
    """Give `group` a larger budget in place of one that is spent; `plain`: as if none of its budgets were spent."""
    tree = world.tree.with_group(with_larger(world.tree[group], plain, larger))
    return replace(world, tree=tree, written=None)


def path_below_root(world: World, leaf: str) -> tuple[str, ...]:
    """Return the leaf and its ancestors without root."""
    return tuple(name for name in world.tree.path(leaf) if name != ROOT)
