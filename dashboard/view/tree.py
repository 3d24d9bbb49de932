"""One line of JSON per group: its numbers, counts and notes. A line is encoded again only if something in it changed.

`min` is the one in effect, as in `quotree tree`. Root borrows from no other group.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from dashboard.view.frame import Frame
from shared.api.quotagroup import QuotaStatus, WorkloadCounts
from shared.cluster.state.observed.projections import GroupStatusRecord
from shared.json_data import Json
from shared.quota.measure.counts import Counts
from shared.quota.measure.group_usage import GroupNumbers
from shared.quota.measure.report import Words
from shared.quota.model.tree import ROOT
from shared.resources import FlavorResource, is_counted_in_bytes, read_amount
from shared.text.conditions import note_of
from shared.text.quantities import readable

SHOWN: Final = ("min", "used", "runtime", "borrowed", "request")


@dataclass(slots=True)
class TreeLines:
    """The encoded lines of the latest frame, by group; a line that did not change is the same object as before."""

    lines: dict[str, bytes] = field(default_factory=dict)
    _basis: dict[str, tuple[object, ...]] = field(default_factory=dict)
    _counts: Counts = field(default_factory=Counts)

    def show(self, frame: Frame) -> Mapping[str, bytes]:
        """Return every group's line, sorted by name."""
        lines: dict[str, bytes] = {}
        basis: dict[str, tuple[object, ...]] = {}
        for name, record in sorted(frame.groups.items()):
            on = self._read(frame, record)
            known = self._basis.get(name)
            if known is not None and known[0] is on[0] and known[1:] == on[1:]:
                lines[name] = self.lines[name]
            else:
                line = msgspec.json.encode(_line(record, *on[:2]))
                lines[name] = self.lines[name] if line == self.lines.get(name) else line
            basis[name] = on
        for name, line in _lines_of_unseen(frame):
            lines[name] = self.lines[name] if line == self.lines.get(name) else line
        self.lines, self._basis = lines, basis
        return lines

    def _read(self, frame: Frame, record: GroupStatusRecord) -> tuple[Any, WorkloadCounts, GroupStatusRecord]:
        outlook = frame.outlook
        if outlook is None:
            return None, record.status.workloads, record
        name = record.group.name
        # A group that the tree has and the world does not exists only while the two are read.
        counts = self._counts.below(outlook.given, name) if name in outlook.given.world.tree else WorkloadCounts()
        return outlook.given.numbers.get(name, {}), counts, record


def _lines_of_unseen(frame: Frame) -> Iterator[tuple[str, bytes]]:
    """Groups known only from their workloads, for a user who cannot read QuotaGroups."""
    if frame.outlook is not None:
        return
    for name, workloads in sorted(frame.world.workload_sets.items()):
        if name not in frame.groups and workloads.by_id:
            admitted = sum(1 for each in workloads.by_id.values() if each.admission is not None)
            pending = len(workloads.by_id) - admitted
            line: Json = {"name": name, "parent": None, "isParent": False, "note": "not shown to you", "keys": []}
            yield name, msgspec.json.encode({**line, "pending": pending, "admitted": admitted})


def keys_of(record: GroupStatusRecord, numbers: GroupNumbers | None) -> Iterator[Json]:
    """Yield each flavor and resource of a group that is not 0 throughout, in the group's order of preference."""
    place = {entry.flavor: index for index, entry in enumerate(record.group.quotas)}
    found = [(key, amounts) for key, amounts in amounts_of(record, numbers) if any(amounts.values())]
    found.sort(key=lambda each: (place.get(each[0].flavor, len(place)), each[0]))
    for key, amounts in found:
        yield _key(record.group.name, key.flavor, key.resource, amounts)


def amounts_of(record: GroupStatusRecord, numbers: GroupNumbers | None) -> Iterator[tuple[FlavorResource, Words]]:
    """Yield the words of SHOWN for each flavor and resource; from the group's status where nothing is measured."""
    if numbers is None:
        for status in record.status.quotas:
            yield from _written(status)
        return
    for key, number in numbers.items():
        yield (
            key,
            {
                "min": number.effective_min,
                "used": number.used,
                "runtime": number.runtime,
                "borrowed": number.borrowed,
                "request": number.request,
            },
        )


def measured(frame: Frame, record: GroupStatusRecord) -> GroupNumbers | None:
    """Return the group's numbers; None where only its status is known."""
    return None if frame.outlook is None else frame.outlook.given.numbers.get(record.group.name, {})


def _written(status: QuotaStatus) -> Iterator[tuple[FlavorResource, Words]]:
    columns = {word: getattr(status, word) for word in SHOWN}
    for resource in set().union(*columns.values()):
        amounts = {word: read_amount(resource, str(column.get(resource, 0))) for word, column in columns.items()}
        yield FlavorResource(status.flavor, resource), amounts


def unit_of(resource: str) -> str:
    """Return how a page writes amounts of the resource on an axis."""
    return "cpu" if resource == "cpu" else "bytes" if is_counted_in_bytes(resource) else "count"


def _key(group: str, flavor: str, resource: str, amounts: Words) -> Json:
    shown = {**amounts, "borrowed": 0} if group == ROOT else dict(amounts)
    return {
        "flavor": flavor,
        "resource": resource,
        **shown,
        "text": {word: readable(resource, amount) for word, amount in shown.items()},
    }


def _line(record: GroupStatusRecord, numbers: GroupNumbers | None, counts: WorkloadCounts) -> Json:
    group = record.group
    return {
        "name": group.name,
        "parent": None if group.name == ROOT else group.parent or ROOT,
        "isParent": group.is_parent or group.name == ROOT,
        "pending": counts.pending,
        "admitted": counts.admitted,
        "note": note_of(record.status.conditions),
        "keys": [*keys_of(record, numbers)],
    }
