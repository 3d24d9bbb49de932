"""Builds the lines of `quotree tree`: min, used, runtime and borrowed, one line per group and key."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from shared.api.json.reading import ResourceList
from shared.api.quotagroup import PercentStatus, QuotaGroup, QuotaStatus
from shared.problems import Problem
from shared.quota.model.tree import ROOT
from shared.resources import Amount, FlavorResource, read_amount
from shared.text.conditions import note_of
from shared.text.quantities import readable

ALL_FLAVORS: Final = "*"
_INNER: Final = {"": "", "├─ ": "│  ", "└─ ": "   "}
"""The prefix of the lines below a branch."""


@dataclass(frozen=True, slots=True)
class KeyNumbers:
    """One group's numbers for one key, in base units."""

    key: FlavorResource
    min: Amount
    used: Amount
    runtime: Amount
    borrowed: Amount
    percents: tuple[PercentStatus, ...] = ()
    """Limits that are written as percents, with what they come to."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line: the first of a group has its name, note and pending count, the others only another key."""

    trunk: str
    name: str
    note: str
    pending: int | None
    numbers: KeyNumbers | None


@dataclass(frozen=True, slots=True)
class Filter:
    """Which lines to show; None and the defaults mean all."""

    flavor: str | None = None
    resource: str | None = None
    depth: int | None = None
    only_busy: bool = False
    """Only groups with pending or running workloads, and those above them."""
    summed: bool = False
    """One line for each resource: the sum over the flavors, which is called `*`."""

    def keys(self, group: QuotaGroup) -> list[KeyNumbers]:
        """Return the wanted keys of a group, without those that are 0 in every column."""
        found = [
            numbers
            for status in group.status.quotas
            if self.flavor in (None, status.flavor)
            for numbers in _numbers(status)
            if self.resource in (None, numbers.key.resource)
        ]
        return [*_summed(found)] if self.summed else found

    def check(self, groups: Iterable[QuotaGroup]) -> None:
        """Raise Problem for a flavor or a resource that no group has, with those that there are."""
        quotas = [status for group in groups for status in group.status.quotas]
        flavors = {each.flavor for each in quotas}
        resources = {resource for each in quotas for resource in (*each.min, *each.used, *each.runtime, *each.request)}
        for option, wanted, known in (("--flavor", self.flavor, flavors), ("--resource", self.resource, resources)):
            if wanted is not None and wanted not in known:
                raise Problem(f"{option} {wanted!r}: no group has it; there are {', '.join(sorted(known)) or 'none'}")

    def wants(self, group: QuotaGroup) -> bool:
        """Return whether the group itself is shown.

        The counts of a parent cover its subtree, so no busy leaf loses its parents.
        """
        return not self.only_busy or bool(group.status.workloads.pending or group.status.workloads.admitted)


def rows(groups: Mapping[str, QuotaGroup], top: str, wanted: Filter) -> Iterator[Row]:
    """Yield the tree from `top` down, siblings by name; after the tree of root the groups that do not reach root."""
    children: dict[str, list[str]] = {}
    for name in sorted(groups):
        if name != ROOT and wanted.wants(groups[name]):
            children.setdefault(groups[name].spec.parent or ROOT, []).append(name)
    shown: set[str] = set()
    for head in (top, *(_unreachable(groups, children) if top == ROOT else ())):
        if head not in shown:
            yield from _subtree(groups, children, head, wanted, shown)


def _unreachable(groups: Mapping[str, QuotaGroup], children: Mapping[str, list[str]]) -> list[str]:
    """Groups to show that do not reach root: first those with a missing parent, then the members of cycles."""
    reached, waiting = {ROOT}, [ROOT]
    while waiting:
        below = children.get(waiting.pop(), ())
        reached.update(below)
        waiting.extend(below)
    lost = [name for siblings in children.values() for name in siblings if name not in reached]
    return sorted(lost, key=lambda name: (groups[name].spec.parent in groups, name))


def _subtree(
    groups: Mapping[str, QuotaGroup], children: Mapping[str, list[str]], head: str, wanted: Filter, shown: set[str]
) -> Iterator[Row]:
    waiting = [(head, "", "", 0)]
    while waiting:
        name, trunk, branch, depth = waiting.pop()
        shown.add(name)
        below = [child for child in children.get(name, ()) if child not in shown] if depth != wanted.depth else []
        inner = trunk + _INNER[branch]
        yield from _group_rows(name, groups[name], trunk + branch, inner + ("│  " if below else ""), wanted)
        waiting += [(child, inner, "└─ " if child == below[-1] else "├─ ", depth + 1) for child in reversed(below)]


def _group_rows(name: str, group: QuotaGroup, trunk: str, later: str, wanted: Filter) -> Iterator[Row]:
    keys: list[KeyNumbers | None] = [*wanted.keys(group)]
    if name == ROOT:
        # Root borrows from no group: without a min of its own, everything would look borrowed.
        keys = [numbers and replace(numbers, borrowed=0) for numbers in keys]
    first, *rest = keys or [None]
    yield Row(trunk, name, note_of(group.status.conditions), group.status.workloads.pending, first)
    yield from (Row(later, "", "", None, numbers) for numbers in rest)


def _numbers(status: QuotaStatus) -> Iterator[KeyNumbers]:
    for resource in sorted({*status.min, *status.used, *status.runtime, *status.request}):
        columns = (status.min, status.used, status.runtime, status.borrowed)
        amounts = [_amount(resource, column) for column in columns]
        if any(amounts) or _amount(resource, status.request):
            percents = tuple(each for each in status.percents if each.resource == resource)
            low, used, runtime, borrowed = amounts
            yield KeyNumbers(FlavorResource(status.flavor, resource), low, used, runtime, borrowed, percents)


def _summed(found: Iterable[KeyNumbers]) -> Iterator[KeyNumbers]:
    sums: dict[str, KeyNumbers] = {}
    for each in found:
        resource = each.key.resource
        known = sums.get(resource, KeyNumbers(FlavorResource(ALL_FLAVORS, resource), 0, 0, 0, 0))
        sums[resource] = KeyNumbers(
            known.key,
            known.min + each.min,
            known.used + each.used,
            known.runtime + each.runtime,
            known.borrowed + each.borrowed,
        )
    yield from (sums[resource] for resource in sorted(sums))


def _amount(resource: str, quantities: ResourceList) -> Amount:
    return read_amount(resource, str(quantities.get(resource, 0)))


def as_data(groups: Mapping[str, QuotaGroup], top: str, wanted: Filter) -> list[dict[str, Any]]:
    """Return the same for programs: one mapping per group, exact integers in base units, parents before children."""
    found: list[dict[str, Any]] = []
    for row in rows(groups, top, wanted):
        if row.name:
            group = groups[row.name]
            parent = None if row.name == ROOT else group.spec.parent or ROOT
            found.append({"name": row.name, "parent": parent, "pending": row.pending, "note": row.note, "quotas": []})
        if row.numbers:
            key, *amounts = (getattr(row.numbers, each) for each in ("key", "min", "used", "runtime", "borrowed"))
            named = dict(zip(("min", "used", "runtime", "borrowed"), amounts, strict=True))
            quota = {"flavor": key.flavor, "resource": key.resource, **named}
            if row.numbers.percents:
                quota["percents"] = [*map(_percent_as_data, row.numbers.percents)]
            found[-1]["quotas"].append(quota)
    return found


def _percent_as_data(percent: PercentStatus) -> dict[str, Any]:
    data: dict[str, Any] = {"limit": percent.limit, "percent": percent.percent}
    return data | ({"amount": read_amount(percent.resource, percent.amount)} if percent.amount else {})


def percents_text(numbers: KeyNumbers) -> str:
    """Return every limit that is a percent, with what it comes to: `min 40% = 8, max 60% = 12`."""
    return ", ".join(
        f"{each.limit} {each.percent}" + (f" = {_readable(each)}" if each.amount else "") for each in numbers.percents
    )


def _readable(percent: PercentStatus) -> str:
    return readable(percent.resource, read_amount(percent.resource, percent.amount))


def quantity(numbers: KeyNumbers, amount: Amount) -> str:
    """Return an amount of that key as text."""
    return readable(numbers.key.resource, amount)
