"""What the groups used in a month of one flavor and resource, and what their namespaces did."""

from typing import Final

from dashboard.view.frame import Frame
from shared.json_data import Json
from shared.quota.model.tree import ROOT, Tree
from shared.resources import FlavorResource
from shared.text.accounts.rows import PARTS, account_rows, chosen_month, months_of
from shared.text.quantities import hour_unit

_WITH_WHOM: Final = ("borrowedFromHours", "lentToHours")
_SHOWN: Final = (
    "group", "namespace", *PARTS, *(f"{part}Hours" for part in PARTS), *_WITH_WHOM, "budgetLeft", "ofExpected"
)  # fmt: skip


def accounts(frame: Frame, key: FlavorResource, month: str | None) -> Json:
    """Return the accounts of that month, without one of the latest: groups below their parents, and namespaces, the
    largest first.

    Amounts are whole base units times milliseconds, as text: they may be larger than a number of JavaScript.
    Raises Problem if no group has accounts of the month.
    """
    tree = Tree.of(record.group for record in frame.groups.values())
    names = [*tree.subtree(ROOT), *sorted(name for name in tree.groups if not tree.reaches_root(name))]
    statuses = {name: frame.groups[name].status for name in names if name in frame.groups}
    chosen = chosen_month(statuses.values(), month)
    rows = [
        row
        for row in account_rows(statuses, chosen, namespaces=True, tree=tree)
        if (row["flavor"], row["resource"]) == (key.flavor, key.resource)
    ]
    shown = [{**{name: row[name] for name in _SHOWN}, "depth": len(tree.path(row["group"])) - 1} for row in rows]
    return {
        "frame": frame.number,
        "months": months_of(statuses.values()),
        "month": chosen,
        "until": max((row["until"] for row in rows), default=""),
        "unit": hour_unit(key.resource),
        "groups": [row for row in shown if not row["namespace"]],
        "namespaces": sorted((row for row in shown if row["namespace"]), key=lambda row: -int(row["used"])),
    }
