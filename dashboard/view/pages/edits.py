"""Edits of the tree to try: what a remedy says as new values of min and max, and the tree that has them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import msgspec

from shared.json_data import Json
from shared.percents import is_percent, read_percent
from shared.problems import Problem
from shared.quota.model.tree import Entry, Group, Tree
from shared.resources import Amount, QuantityError, read_amount, write_quantity

_EDITS: Final = {"RaiseMin": "min", "RaiseMax": "max"}
"""What a remedy does -> the field that it edits."""


class Edit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Another min or max of one group, as it would be written."""

    group: str
    flavor: str
    resource: str
    min: str | None = None
    max: str | None = None


class Edits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Edits in the order in which they would be applied."""

    edits: list[Edit]


def apply(tree: Tree, edits: Sequence[Edit]) -> Tree:
    """Return the tree with all edits. Raises Problem."""
    for each in edits:
        tree = tree.with_group(_edited(tree, each))
    return tree


def _edited(tree: Tree, edit: Edit) -> Group:
    """Return the group with the edit. Raises Problem."""
    group = tree[edit.group]
    entry = group.entry(edit.flavor)
    if entry is None or edit.resource not in entry.covered:
        raise Problem(f"group {group.name!r} has no quota of {edit.resource} in flavor {edit.flavor!r}")
    changed = entry
    if edit.min is not None:
        changed = _with_limit(changed, "min", edit.resource, edit.min)
    if edit.max is not None:
        changed = _with_limit(changed, "max", edit.resource, edit.max)
    return replace(group, quotas=tuple(changed if each is entry else each for each in group.quotas))


def _with_limit(entry: Entry, limit: str, resource: str, text: str) -> Entry:
    """Return the entry with that limit, an amount or a percent. Raises Problem."""
    amounts = {name: amount for name, amount in getattr(entry, limit).items() if name != resource}
    shares = {name: share for name, share in entry.percents.get(limit, {}).items() if name != resource}
    if is_percent(text):
        try:
            shares[resource] = read_percent(text)
        except QuantityError as error:
            raise Problem(f"{limit}: {error}") from error
    else:
        amounts[resource] = _amount(limit, resource, text)
    others = {name: each for name, each in entry.percents.items() if name != limit}
    limits: dict[str, Any] = {limit: amounts}
    return replace(entry, percents={**others, limit: shares} if shares else others, **limits)


def edits_of(tree: Tree, remedy: Json) -> list[Json]:
    """Return a remedy as edits to try; empty if it is not one of min and max alone, as they are written."""
    found = []
    for each in (*remedy.get("and", ()), remedy):
        edit = _edit_of(tree, each)
        if edit is None:
            return []
        found.append(edit)
    return found


def _edit_of(tree: Tree, remedy: Json) -> Json | None:
    field = _EDITS.get(remedy["do"])
    group = tree.get(remedy.get("group", ""))
    entry = group.entry(remedy["flavor"]) if group is not None and field else None
    if field is None or entry is None:
        return None
    # An absent min is 0; an absent max is inherited, so there is no number to raise.
    written = getattr(entry, field).get(remedy["resource"], 0 if field == "min" else None)
    if written is None and "percent" not in remedy:
        return None
    value = remedy.get("percent") or write_quantity(remedy["resource"], (written or 0) + remedy["by"])
    return {"group": remedy["group"], "flavor": remedy["flavor"], "resource": remedy["resource"], field: value}


def _amount(field: str, resource: str, text: str) -> Amount:
    try:
        amount = read_amount(resource, text)
    except QuantityError as error:
        raise Problem(f"{field} {text!r}: {error}") from error
    if amount < 0:
        raise Problem(f"{field} {text!r} is negative; a {field} is 0 or more")
    return amount
