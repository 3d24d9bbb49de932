"""A group's page: its numbers, how its parent's runtime is divided, who lends and borrows."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from dashboard.view.frame import Frame
from dashboard.view.history import WORDS, History
from dashboard.view.lending import pools_of
from dashboard.view.tree import keys_of, measured, unit_of
from shared.json_data import Json
from shared.percents import write_percent
from shared.problems import Problem
from shared.quota.measure.division_table import division_tables, table_as_data
from shared.quota.measure.report import report_of
from shared.quota.model.tree import ROOT, Entry, Group
from shared.quota.outlook.outlook import Outlook
from shared.resources import FlavorResource
from shared.text.accounts.budgets import budget_lines
from shared.text.quantities import readable


class UnknownName(Problem):
    """The requested object does not exist, or is not visible to this user."""


def group_page(
    frame: Frame, name: str, key: FlavorResource, history: History, division: Iterable[Mapping[str, Any]] = ()
) -> Json:
    """Return the page of one group, with its past use of one flavor and resource. Raises UnknownName.

    `division`: what the visibility API says of its runtime, where the user cannot see all that it depends on.
    """
    record = frame.groups.get(name)
    if record is None and frame.outlook is None and name in frame.world.workload_sets:
        return _bare_page(frame, name)
    if record is None:
        raise UnknownName(f"there is no QuotaGroup {name!r}, or it is not shown to you")
    tree, outlook = frame.world.tree, frame.outlook
    page: Json = {
        "frame": frame.number,
        "name": name,
        "parent": None if name == ROOT else record.group.parent or ROOT,
        "path": [*reversed(tree.path(name))] if name in tree else [name],
        "children": sorted(tree.children(name)) if name in tree else [],
        "stopPolicy": record.group.stop_policy.value,
        "conditions": [
            {"type": each.type, "status": each.status, "reason": each.reason, "message": each.message}
            for each in record.status.conditions
        ],
        "budgets": [*budget_lines(msgspec.to_builtins(record.status.budgets))],
        "mins": _mins(record.group),
        "keys": [*keys_of(record, measured(frame, record))],
        "words": [],
        "divisions": [*map(_division, division)],
        "pools": [],
        "history": _past(history, name, key),
    }
    if outlook is not None:
        page["words"] = _words(outlook, record.group)
        page["divisions"] = [_division(table_as_data(each)) for each in division_tables(outlook.given, name)]
        around = [page["parent"]] if name != ROOT else []
        below = [name] if page["children"] else []
        page["pools"] = [pool for parent in around + below for pool in pools_of(outlook, parent)]
    return page


def _bare_page(frame: Frame, name: str) -> Json:
    """Return the page of a group known only from its workloads: the user cannot read QuotaGroups."""
    parts = ("children", "conditions", "budgets", "mins", "keys", "words", "divisions", "pools")
    nothing: Json = {each: [] for each in parts}
    past = _past(History(), name, FlavorResource("", ""))
    place: Json = {"parent": None, "path": [name], "stopPolicy": "None"}
    return {"frame": frame.number, "name": name, **place, **nothing, "history": past}


def _past(history: History, name: str, key: FlavorResource) -> Json:
    return {
        "unit": unit_of(key.resource),
        "times": history.times(),
        **{word: history.of(name, key, word) for word in WORDS},
    }


def _mins(group: Group) -> list[Json]:
    """Return every min as written, for edits in the page."""
    return [
        {"flavor": entry.flavor, "resource": resource, "text": _written_min(entry, resource)}
        for entry in group.quotas
        for resource in sorted(entry.covered)
    ]


def _written_min(entry: Entry, resource: str) -> str:
    percent = entry.percent("min", resource)
    return readable(resource, entry.min.get(resource, 0)) if percent is None else write_percent(percent)


def _words(outlook: Outlook, group: Group) -> list[Json]:
    """Return every number of the arithmetic, under the words of docs/glossary.md."""
    report = report_of(outlook.given.numbers.get(group.name, {}), [entry.flavor for entry in group.quotas])
    return [
        {
            "flavor": flavor,
            "resource": resource,
            "text": {word: readable(resource, amount) for word, amount in words.items()},
        }
        for flavor, resources in report.items()
        for resource, words in resources.items()
        if any(words.values())
    ]


def _division(table: Mapping[str, Any]) -> Json:
    """Return how the runtime of a group's parent is divided for one key: what each child starts from, and gets."""
    resource, children = table["resource"], table["children"]
    first = readable(resource, sum(each["first"] for each in children))
    shared = readable(resource, sum(sum(each["rounds"]) for each in children))
    rule = "their min (it is short)" if table["sharedBy"] == "min" else "weight, among those who ask for more"
    turn = f" {table['turn']} has a turn and gets what that needs first." if table.get("turn") else ""
    return {
        "flavor": table["flavor"],
        "resource": resource,
        "text": f"{table['parent']} has {readable(resource, table['runtime'])} of {resource} in {table['flavor']} "
        f"to divide: {first} are given first, {shared} are shared in proportion to {rule}.{turn}",
        "rows": [_row(resource, each) for each in children],
    }


def _row(resource: str, child: Mapping[str, Any]) -> Json:
    shown = {word: child[word] for word in ("min", "weight", "demand", "used", "first", "runtime")}
    shown["shared"] = sum(child["rounds"])
    return {"group": child["group"], "text": {word: readable(resource, amount) for word, amount in shown.items()}}
