"""A group's page: its numbers, how its parent's runtime is divided, who lends and borrows."""

from typing import Any

from cli.render.quantities import readable
from dashboard.view.frame import Frame, Outlook
from dashboard.view.lending import pools_of
from dashboard.view.tree import keys_of
from shared.problems import Problem
from shared.quota.measure.group_usage import Numbers
from shared.quota.measure.groups.group_draft import floor_in
from shared.quota.measure.report import report_of, words_of
from shared.quota.model.tree import ROOT, SYSTEM, Group
from shared.resources import FlavorResource

Json = dict[str, Any]


class UnknownName(Problem):
    """What a page is asked for is not there, or not shown to this user."""


def group_page(frame: Frame, name: str) -> Json:
    """Return the page of one group. Raises UnknownName."""
    record = frame.groups.get(name)
    if record is None and frame.outlook is None and name in frame.world.workload_sets:
        return _bare_page(frame, name)
    if record is None:
        raise UnknownName(f"there is no QuotaGroup {name!r}, or it is not shown to you")
    tree, outlook = frame.world.tree, frame.outlook
    numbers = None if outlook is None else outlook.given.numbers.get(name, {})
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
        "mins": _mins(record.group),
        "keys": [*keys_of(record, numbers)],
        "words": [],
        "divisions": [],
        "pools": [],
    }
    if outlook is not None:
        page["words"] = _words(outlook, record.group)
        page["divisions"] = _divisions(outlook, name)
        page["pools"] = pools_of(outlook, name if record.group.is_parent or name == ROOT else page["parent"])
    return page


def _bare_page(frame: Frame, name: str) -> Json:
    """A group that only its workloads tell of: the user must not read QuotaGroups."""
    nothing: Json = {each: [] for each in ("children", "conditions", "mins", "keys", "words", "divisions", "pools")}
    return {"frame": frame.number, "name": name, "parent": None, "path": [name], "stopPolicy": "None", **nothing}


def _mins(group: Group) -> list[Json]:
    """Every min as written, for edits in the page."""
    return [
        {"flavor": entry.flavor, "resource": resource, "text": readable(resource, entry.min.get(resource, 0))}
        for entry in group.quotas
        for resource in sorted(entry.covered)
    ]


def _words(outlook: Outlook, group: Group) -> list[Json]:
    """Every number of the arithmetic, under the words of docs/glossary.md."""
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


def _divisions(outlook: Outlook, name: str) -> list[Json]:
    """For each key of the group, the table of its parent's children: what each starts from, and gets."""
    tree, numbers = outlook.given.world.tree, outlook.given.numbers
    if name == ROOT or name not in numbers:
        return []
    parent = tree[name].parent or ROOT
    siblings = [each for each in tree.children(parent) if each in numbers and each != SYSTEM]
    return [
        _division(outlook, parent, key, {each: numbers[each][key] for each in siblings if key in numbers[each]})
        for key in sorted(numbers[name])
    ]


def _division(outlook: Outlook, parent: str, key: FlavorResource, children: dict[str, Numbers]) -> Json:
    runtime = outlook.given.numbers.get(parent, {})[key].runtime
    floors = {name: floor_in(each) for name, each in children.items()}
    first = sum(floors.values())
    left = runtime - first
    text = f"{parent} has {readable(key.resource, runtime)} of {key.resource} in {key.flavor} to divide. "
    if left < 0:
        text += (
            f"What each gets first, {readable(key.resource, first)} together, exceeds that: "
            "it is shared in proportion to min."
        )
    else:
        text += (
            f"Each group first gets its min as far as it asks for it, {readable(key.resource, first)} together; "
            f"the other {readable(key.resource, left)} are shared by weight among those who ask for more."
        )
    return {
        "flavor": key.flavor,
        "resource": key.resource,
        "text": text,
        "rows": [_row(key.resource, name, each, floors[name]) for name, each in sorted(children.items())],
    }


def _row(resource: str, name: str, numbers: Numbers, floor: int) -> Json:
    words = words_of(numbers)
    shown = {word: words[word] for word in ("min", "weight", "demand", "runtime", "used")} | {"first": floor}
    return {"group": name, "text": {word: readable(resource, amount) for word, amount in shown.items()}}
