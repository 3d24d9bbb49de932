"""Trees in which some limits are percents: of a legal tree, without making it illegal by what they say alone."""

from dataclasses import replace
from typing import Any

from shared.percents import WHOLE
from shared.quota.model.tree import LIMITS, ROOT, SYSTEM, Entry, Group, Tree
from shared.resources import FlavorResource
from tests.prove.random_draw import Dice

Left = dict[tuple[str, FlavorResource], int]
"""(parent, key) -> how much of 100 % its children's mins have not taken."""


def with_percents(dice: Dice, tree: Tree) -> Tree:
    """The same; each limit of a group below root is a percent in place of its amount, or stays."""
    left: Left = {}
    groups = [
        group
        if name in (ROOT, SYSTEM)
        else replace(group, quotas=tuple(_entry(dice, tree, group, each, left) for each in group.quotas))
        for name, group in sorted(tree.groups.items())
    ]
    return Tree.of(groups)


def _entry(dice: Dice, tree: Tree, group: Group, entry: Entry, left: Left) -> Entry:
    percents: dict[str, dict[str, int]] = {}
    for resource in sorted(entry.covered):
        if not _has_base(tree, group, entry, resource):
            continue
        for limit in LIMITS:
            if resource in getattr(entry, limit) and dice.chance(40):
                key = (group.parent or ROOT, FlavorResource(entry.flavor, resource))
                most = left.setdefault(key, WHOLE) if limit == "min" else 2 * WHOLE
                share = min(most, dice.one_of((0, 1, 12_500, 33_333, 40_000, 50_000, WHOLE, 150_000)))
                percents.setdefault(limit, {})[resource] = share
                if limit == "min":
                    left[key] -= share
    return _consistent(replace(entry, percents=percents)) if percents else entry


def _has_base(tree: Tree, group: Group, entry: Entry, resource: str) -> bool:
    """Whether its parent has a min of the resource."""
    above = tree[group.parent or ROOT]
    found = above.entry(entry.flavor)
    return above.name == ROOT or (found is not None and resource in found.min)


def _consistent(entry: Entry) -> Entry:
    """Leave amounts out where a percent stands, and what is larger than it may be as a percent."""
    percents = {limit: dict(shares) for limit, shares in entry.percents.items()}
    low = percents.get("min", {})
    for resource, share in low.items():
        if resource in percents.get("max", {}):
            percents["max"][resource] = max(share, percents["max"][resource])
        if resource in percents.get("lending_limit", {}):
            percents["lending_limit"][resource] = min(share, percents["lending_limit"][resource])
    amounts: dict[str, Any] = {
        limit: {name: amount for name, amount in getattr(entry, limit).items() if name not in percents.get(limit, {})}
        for limit in LIMITS
    }
    return replace(entry, percents=percents, **amounts)
