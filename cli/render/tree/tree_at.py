"""Builds the lines of `quotree tree --at`: what groups say at a moment, with the overrides and windows open then."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from cli.render.listing import ListColumn
from shared.percents import write_percent
from shared.quota.model.in_force import amendments_at, group_in_force
from shared.quota.model.limits import covered_keys
from shared.quota.model.tree import ROOT, Entry, Group, StopPolicy, Tree
from shared.resources import FlavorResource
from shared.text.amendments import amended_text
from shared.text.quantities import readable

COLUMNS: Final = (
    ListColumn("GROUP", "name"),
    ListColumn("FLAVOR/RESOURCE", "key"),
    ListColumn("MIN", "min"),
    ListColumn("MAX", "max"),
    ListColumn("BORROW", "borrowingLimit", wide=True),
    ListColumn("LEND", "lendingLimit", wide=True),
    ListColumn("WEIGHT", "weight", wide=True),
    ListColumn("STOP", "stopPolicy"),
    ListColumn("IN FORCE", "amended", rank=1, text=True),
)
_NUMBERS: Final = {
    "min": "min",
    "max": "max",
    "borrowingLimit": "borrowing_limit",
    "lendingLimit": "lending_limit",
    "weight": "weight",
}


def groups_at(tree: Tree, top: str, at: datetime, depth: int | None) -> Iterator[tuple[int, Group]]:
    """Yield the groups from `top` down as they are in force then, each with how far below `top` it is."""
    levels = {top: 0}
    for name in tree.subtree(top):
        level = levels[name]
        levels.update(dict.fromkeys(tree.children(name), level + 1))
        if name in tree and (depth is None or level <= depth):
            yield level, group_in_force(tree[name], at)


def as_data(tree: Tree, top: str, at: datetime, depth: int | None) -> list[dict[str, Any]]:
    """Return one mapping for each group: exact integers in base units, percents as text.

    What is not written is absent.
    """
    return [
        {
            "name": group.name,
            "parent": None if group.name == ROOT else group.parent,
            "stopPolicy": group.stop_policy.value,
            "amended": amended_text(amendments_at(group, at)),
            "quotas": [
                {"flavor": key.flavor, "resource": key.resource, **_numbers(group, key), **_percents(group, key)}
                for key in covered_keys(group)
            ],
        }
        for _, group in groups_at(tree, top, at, depth)
    ]


def lines(tree: Tree, top: str, at: datetime, depth: int | None) -> Iterator[dict[str, Any]]:
    """Yield one line for each group and key, as text; children are indented."""
    for level, group in groups_at(tree, top, at, depth):
        stop = "" if group.stop_policy is StopPolicy.NONE else group.stop_policy.value
        head = {
            "name": f"{'  ' * level}{group.name}",
            "stopPolicy": stop,
            "amended": amended_text(amendments_at(group, at)),
        }
        for numbers in [_texts(group, key) for key in covered_keys(group)] or [{}]:
            yield {**head, **numbers}
            head = {"name": "", "stopPolicy": "", "amended": ""}


def _numbers(group: Group, key: FlavorResource) -> dict[str, int]:
    entry = group.entry(key.flavor) or Entry(key.flavor)
    found = {word: getattr(entry, field).get(key.resource) for word, field in _NUMBERS.items()}
    return {word: amount for word, amount in found.items() if amount is not None}


def _texts(group: Group, key: FlavorResource) -> dict[str, str]:
    numbers = {word: readable(key.resource, amount) for word, amount in _numbers(group, key).items()}
    return {"key": str(key), **numbers, **_percents(group, key)}


def _percents(group: Group, key: FlavorResource) -> dict[str, str]:
    """Return the limits that are written as percents; what they come to depends on the parent."""
    entry = group.entry(key.flavor) or Entry(key.flavor)
    found = {word: entry.percents.get(field, {}).get(key.resource) for word, field in _NUMBERS.items()}
    return {word: write_percent(percent) for word, percent in found.items() if percent is not None}
