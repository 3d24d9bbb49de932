"""The QuotaGroups under construction, and what is computed once all of them are known."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from shared.api.names import API_VERSION, COUNTED, COUNTS
from shared.quota.model.tree import DEFAULT_FLAVOR
from shared.resources import Amount, FlavorResource, write_quantity

LIMITS: Final = ("min", "max", "borrowingLimit", "lendingLimit", "weight")
"""In the order in which an entry writes them."""

LimitAmounts = dict[str, dict[str, Amount]]
"""Limit -> resource -> amount of one flavor."""


@dataclass
class QuotaGroupDraft:
    """One QuotaGroup. `spec`: its fields other than parent, isParent and quotas, as they are written."""

    name: str
    parent: str | None = None
    is_parent: bool = False
    entries: dict[str, LimitAmounts] = field(default_factory=dict)
    spec: dict[str, Any] = field(default_factory=dict)

    def set(self, limit: str, amounts: Mapping[str, Amount], flavor: str = DEFAULT_FLAVOR) -> None:
        """Set a limit of some resources of a flavor, and leave its other resources as they are; counts have none."""
        counts = {resource: amount for resource, amount in amounts.items() if resource in COUNTED}
        if counts:
            self.entries.setdefault(COUNTS, {}).setdefault(limit, {}).update(counts)
        if not counts or len(counts) < len(amounts):
            others = {resource: amount for resource, amount in amounts.items() if resource not in COUNTED}
            self.entries.setdefault(flavor, {}).setdefault(limit, {}).update(others)

    def keys(self) -> Iterator[FlavorResource]:
        """Yield every flavor and resource that the group covers."""
        for flavor, limits in self.entries.items():
            for resource in dict.fromkeys((*limits.get("min", ()), *limits.get("max", ()))):
                yield FlavorResource(flavor, resource)

    def amount(self, limit: str, key: FlavorResource) -> Amount | None:
        """Return the limit of one key, or None when it has none."""
        return self.entries.get(key.flavor, {}).get(limit, {}).get(key.resource)

    def manifest(self) -> dict[str, Any]:
        """Return the QuotaGroup as a person would write it."""
        spec: dict[str, Any] = {}
        if self.parent is not None:
            spec["parent"] = self.parent
        if self.is_parent:
            spec["isParent"] = True
        if self.entries:
            spec["quotas"] = [_entry(flavor, limits) for flavor, limits in _with_counts(self.entries).items()]
        return {
            "apiVersion": API_VERSION,
            "kind": "QuotaGroup",
            "metadata": {"name": self.name},
            "spec": {**spec, **self.spec},
        }


def _with_counts(entries: Mapping[str, LimitAmounts]) -> dict[str, LimitAmounts]:
    """Return the entries as they are written: counts stand in the one without flavor."""
    counts = entries.get(COUNTS)
    others = {flavor: limits for flavor, limits in entries.items() if flavor != COUNTS}
    if counts is None:
        return others
    own = others.get(DEFAULT_FLAVOR, {})
    return others | {DEFAULT_FLAVOR: {limit: {**own.get(limit, {}), **counts.get(limit, {})} for limit in LIMITS}}


def _entry(flavor: str, limits: LimitAmounts) -> dict[str, Any]:
    named = {} if flavor == DEFAULT_FLAVOR else {"flavor": flavor}
    return named | {
        limit: {resource: write_quantity(resource, amount) for resource, amount in limits[limit].items()}
        for limit in LIMITS
        if limits.get(limit)
    }


@dataclass(frozen=True, slots=True)
class NamedParent:
    """A group, the object that it was made of, and the object that this names as its parent."""

    draft: QuotaGroupDraft
    source: str
    parent: str


def set_parents(named: Sequence[NamedParent], roots: tuple[str, ...]) -> dict[str, QuotaGroupDraft]:
    """Put each group below the group of the object that it names as its parent; return all groups by name.

    `roots`: the parents that mean the first level. A parent that is not in the files keeps its name.
    """
    group_of = {each.source: each.draft.name for each in named}
    for each in named:
        each.draft.parent = group_of.get(each.parent, each.parent) if each.parent not in roots else None
    return {each.draft.name: each.draft for each in named}


def parents_first(groups: Mapping[str, QuotaGroupDraft]) -> list[QuotaGroupDraft]:
    """Return every group once, none before its parent; members of a cycle last."""
    placed: dict[str, QuotaGroupDraft] = {}
    waiting = dict(groups)
    while waiting:
        ready = [each for each in waiting.values() if each.parent is None or each.parent not in waiting]
        for each in ready or list(waiting.values()):
            placed[each.name] = each
            del waiting[each.name]
    return list(placed.values())


def cover_requested(groups: Mapping[str, QuotaGroupDraft], requested: Iterable[str]) -> None:
    """Give each leaf min 0 of what it does not name: elsewhere that is no limit, here it would be no quota.

    These are the resources that any of the groups names, and `requested`. A leaf has them in its first flavor.
    """
    named = (key.resource for group in groups.values() for key in list(group.keys()) if key.flavor != COUNTS)
    resources = dict.fromkeys((*requested, *named))
    for leaf in (each for each in groups.values() if not each.is_parent):
        known = {key.resource for key in list(leaf.keys())}
        missing = {resource: 0 for resource in resources if resource not in known}
        if missing:
            leaf.set("min", missing, next((each for each in leaf.entries if each != COUNTS), DEFAULT_FLAVOR))


def cover_children(groups: Mapping[str, QuotaGroupDraft], *, additive: bool) -> None:
    """Give each parent the keys of its children, with the sum of their min, at most its max, where it has none.

    `additive`: what a parent has already is its own, beside what its children have (a Cohort of Kueue), so that the sum
    is added to it. A cohort with 4 of its own above queues of 6 and 2 becomes a parent with min 12.
    """
    for parent in reversed(parents_first(groups)):
        children = [each for each in groups.values() if each.parent == parent.name]
        for key in dict.fromkeys(key for child in children for key in child.keys()):  # noqa: SIM118 - not a mapping
            promised = sum(child.amount("min", key) or 0 for child in children)
            own, most = parent.amount("min", key), parent.amount("max", key)
            if additive:
                parent.set("min", {key.resource: (own or 0) + promised}, key.flavor)
            elif own is None and (promised or (most is None and key.flavor != COUNTS)):
                parent.set("min", {key.resource: promised if most is None else min(promised, most)}, key.flavor)


def join_entries(groups: Mapping[str, QuotaGroupDraft]) -> None:
    """Let the entries of each parent cover equal or disjoint resources, as they must: what is added has min 0.

    Its children may combine resources in different ways, each by itself legal; no child gets more or less by this.
    """
    for parent in (each for each in groups.values() if each.is_parent):
        covered: dict[str, dict[str, None]] = {flavor: {} for flavor in parent.entries}
        for key in parent.keys():  # noqa: SIM118 - not a mapping
            covered[key.flavor][key.resource] = None
        for _ in parent.entries:  # a round joins neighbours; no chain of overlaps is longer than the entries
            for flavor, own in covered.items():
                for other in covered.values():
                    covered[flavor] = covered[flavor] | other if own.keys() & other.keys() else covered[flavor]
        for flavor, resources in covered.items():
            for key in (FlavorResource(flavor, each) for each in resources):
                if parent.amount("min", key) is None:
                    parent.set("min", {key.resource: 0}, flavor)


def cover_parents(groups: Mapping[str, QuotaGroupDraft]) -> None:
    """Give each group the keys of its parent that it does not name, with min 0: it may use what is idle, up to max.

    Counts of its parent bind it anyway.
    """
    for child in parents_first(groups):
        parent = groups.get(child.parent or "")
        named = set(child.keys())
        for key in list(parent.keys()) if parent is not None else ():
            if key not in named and key.flavor != COUNTS:
                child.set("min", {key.resource: 0}, key.flavor)
