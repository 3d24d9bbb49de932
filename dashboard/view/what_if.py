"""What another min would change: the same prediction as `quotree what-if`, and the rules it would break."""

from dataclasses import replace

import msgspec

from dashboard.view.frame import Frame
from dashboard.view.group_page import UnknownName
from shared.json_data import Json
from shared.problems import Problem
from shared.quota.decide.simulate.what_if import prediction_as_data
from shared.quota.model import rules
from shared.quota.model.tree import Group
from shared.resources import Amount, QuantityError, read_amount
from shared.text.what_if import lines


class EditedMin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One min, as it would be written."""

    group: str
    flavor: str
    resource: str
    min: str


def what_if(frame: Frame, edit: EditedMin) -> Json:
    """Return the lines that the command prints, and the prediction as data. Nothing is written. Raises Problem."""
    if frame.outlook is None:
        raise Problem("what an edit changes cannot be computed: not everything that it depends on is shown to you")
    before = frame.outlook.given.world
    if edit.group not in frame.groups:
        raise UnknownName(f"there is no QuotaGroup {edit.group!r}")
    changed = _with_min(before.tree[edit.group], edit, _amount(edit))
    tree = before.tree.with_group(changed)
    context = rules.Context(
        flavors=before.flavors, max_depth=before.settings.max_depth, capacity=frame.outlook.given.capacity
    )
    found = rules.check_change(before.tree, tree, edit.group, context)
    after = replace(before, tree=tree, inactive=rules.inactive_groups(tree, before.flavors, before.settings.max_depth))
    data = {
        **prediction_as_data(frame.outlook.prediction(after)),
        "violations": [each.as_data() for each in found.violations],
    }
    return {"frame": frame.number, "lines": [*lines(data)], "data": data}


def _amount(edit: EditedMin) -> Amount:
    try:
        amount = read_amount(edit.resource, edit.min)
    except QuantityError as error:
        raise Problem(f"min {edit.min!r}: {error}") from error
    if amount < 0:
        raise Problem(f"min {edit.min!r} is negative; a min is 0 or more")
    return amount


def _with_min(group: Group, edit: EditedMin, amount: Amount) -> Group:
    entry = group.entry(edit.flavor)
    if entry is None or edit.resource not in entry.covered:
        raise Problem(f"group {group.name!r} has no quota of {edit.resource} in flavor {edit.flavor!r}")
    edited = replace(entry, min={**entry.min, edit.resource: amount})
    return replace(group, quotas=tuple(edited if each is entry else each for each in group.quotas))
