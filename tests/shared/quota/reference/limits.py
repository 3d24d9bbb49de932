"""The limits of all groups, as written and as inherited, and the capacity of root; half of the reference engine."""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from math import floor

from shared.percents import WHOLE
from shared.quota.model.flavor import Flavor
from shared.quota.model.node import ClusterNode
from shared.quota.model.tree import ROOT, SYSTEM, Entry
from shared.resources import MAX_AMOUNT, FlavorResource
from tests.shared.quota.reference.inputs import ReferenceInputs

COUNTS = "counts"
NO_BOUND = 2**63 - 1


class Limits:
    """What the tree promises and forbids. Groups without a path to root do not count."""

    def __init__(self, inputs: ReferenceInputs) -> None:
        self.inputs = inputs
        self.tree = inputs.tree
        self.flavors = {**inputs.flavors, COUNTS: Flavor(COUNTS)}
        self.of_nodes = {"default": Flavor("default"), **inputs.flavors}  # which exists without an object too
        self._entries = {name: tuple(self._entries_of(name)) for name in inputs.tree.groups}
        self.groups = tuple(
            name for name in sorted(inputs.tree.groups) if inputs.tree.reaches_root(name) and name != SYSTEM
        )
        self.keys = tuple(sorted(self._all_keys()))
        for name in ("_amount", "_base", "_source"):
            setattr(self, name, cache(getattr(self, name)))

    def _all_keys(self) -> set[FlavorResource]:
        quotas = (
            FlavorResource(entry.flavor, resource)
            for name in self.groups
            for entry in self.entries(name)
            for resource in entry.covered
        )
        return set(quotas) | set(self.inputs.capacity)

    def entries(self, name: str) -> tuple[Entry, ...]:
        """What the group has: its own entries, and of counts what a group above or below names."""
        return self._entries[name]

    def _entries_of(self, name: str) -> Iterator[Entry]:
        yield from self.tree[name].quotas
        others = () if name in (ROOT, SYSTEM) else (*self.tree.path(name), *self.tree.subtree(name))
        for resource in ("pods", "workloads"):
            if not self._names(name, resource) and any(self._names(other, resource) for other in others):
                yield Entry(COUNTS, min={resource: 0})

    def _names(self, name: str, count: str) -> bool:
        entry = self.tree[name].entry(COUNTS)
        return entry is not None and count in entry.covered

    def _entry(self, name: str, key: FlavorResource) -> Entry | None:
        found = (entry for entry in self.entries(name) if entry.flavor == key.flavor and key.resource in entry.covered)
        return next(found, None)

    def covers(self, name: str, key: FlavorResource) -> bool:
        return self._entry(name, key) is not None

    def min(self, name: str, key: FlavorResource) -> int:
        low = self._amount(name, key, "min") or 0
        entry = self._entry(name, key)
        high = self._amount(name, key, "max")
        return low if entry is None or not entry.percents or high is None else min(low, high)

    def _amount(self, name: str, key: FlavorResource, limit: str) -> int | None:
        """A limit as written, or what the percent comes to; None where it is absent."""
        entry = self._entry(name, key)
        percent = entry.percent(limit, key.resource) if entry else None
        if percent is None or entry is None:
            amounts: Mapping[str, int] = getattr(entry, limit) if entry else {}
            return amounts.get(key.resource)
        if name == ROOT:
            return percent * self._source(key) // WHOLE
        share, low = self._share(name, key, limit), entry.percent("min", key.resource)
        if limit == "max" and low is not None and low <= percent:
            return max(share, self._share(name, key, "min"))
        if limit == "lending_limit" and low is not None and low >= percent:
            return min(share, self._share(name, key, "min"))
        return share

    def _share(self, name: str, key: FlavorResource, limit: str) -> int:
        """Exact parts of what the parent has, then the whole of their sum by largest remainder, ties by name.

        No amount is larger than what a quantity may be.
        """
        entries = {child: self._entry(child, key) for child in self.children(self.tree[name].parent or ROOT)}
        percents = {child: entry.percent(limit, key.resource) for child, entry in entries.items() if entry}
        base = self._base(name, key)
        exact = {child: Fraction(base * share, WHOLE) for child, share in percents.items() if share is not None}
        return min(_rounded(exact)[name], MAX_AMOUNT)

    def _base(self, name: str, key: FlavorResource) -> int:
        """What the percents of the group are parts of: its parent's min as if nothing outside the groups was used."""
        parent = self.tree[name].parent or ROOT
        if parent == ROOT:
            most = self._amount(ROOT, key, "max")
            is_of_nodes = not self.inputs.from_groups and key.resource != "workloads"
            if not is_of_nodes and key not in self.inputs.capacity:
                return most or 0
            whole = self._source(key, of_closed=True)
            return whole if most is None else min(whole, most)
        above, siblings = self._base(parent, key), self.children(self.tree[parent].parent or ROOT)
        mins = {child: self.min(child, key) for child in siblings}
        together = sum(mins.values())
        if together <= above:
            return mins[parent]
        return _rounded({child: Fraction(above * low, together) for child, low in mins.items()})[parent]

    def _inherited_max(self, name: str, key: FlavorResource) -> int:
        for at in self.tree.path(name):
            entry = self._entry(at, key)
            if entry and key.resource in entry.named("max"):
                return self._amount(at, key, "max") or 0
        return self.capacity(key)

    def max(self, name: str, key: FlavorResource) -> int:
        return self.capacity(key) if name == ROOT else self._inherited_max(name, key)

    def weight(self, name: str, key: FlavorResource) -> int:
        entry = self._entry(name, key)
        if entry and key.resource in entry.named("weight"):
            return self._amount(name, key, "weight") or 0
        return self._inherited_max(name, key)

    def lending_limit(self, name: str, key: FlavorResource) -> int:
        entry = self._entry(name, key)
        if entry and key.resource in entry.named("lending_limit"):
            return self._amount(name, key, "lending_limit") or 0
        return self.min(name, key) if self.tree[name].allow_lending else 0

    def borrowing_limit(self, name: str, key: FlavorResource) -> int | None:
        return self._amount(name, key, "borrowing_limit")

    def guarantee(self, name: str, key: FlavorResource) -> int:
        return max(0, self.min(name, key) - self.lending_limit(name, key))

    def ceiling(self, name: str, key: FlavorResource) -> int:
        limit = self.borrowing_limit(name, key)
        highest = self.max(name, key)
        return highest if limit is None else min(highest, self.min(name, key) + limit)

    def keys_of_root(self) -> Iterable[FlavorResource]:
        """Return every key of which root has something, also those that no group covers; pods of nodes are a count."""
        offered = {name for node in self.inputs.nodes for name in node.allocatable} - {"pods"}
        return {*self.keys, *(FlavorResource(flavor, name) for flavor in self.of_nodes for name in offered)}

    def capacity(self, key: FlavorResource) -> int:
        whole, most = self._source(key), self._amount(ROOT, key, "max")
        return whole if most is None else min(whole, most)

    def _source(self, key: FlavorResource, *, of_closed: bool = False) -> int:
        """Root's capacity before its own max; maybe with the nodes that take no pods."""
        if key in self.inputs.capacity:
            return self.inputs.capacity[key]
        if key.flavor == COUNTS:
            return self._counted_by_nodes(of_closed=of_closed) if key.resource == "pods" else NO_BOUND
        if self.inputs.from_groups:
            return sum(self.min(child, key) for child in self.children(ROOT))
        offered = sum(
            node.allocatable.get(key.resource, 0)
            for node in self.inputs.nodes
            if (of_closed or node.takes_pods) and self.flavor_of(node) == key.flavor
        )
        return offered + (0 if of_closed else self._running_on_closed(key))

    def _running_on_closed(self, key: FlavorResource) -> int:
        """What workloads hold on nodes that take no more pods."""
        return sum(each.on_closed_nodes.get(key, 0) for each in self.inputs.workloads)

    def _counted_by_nodes(self, *, of_closed: bool) -> int:
        """How many pods there can be on the nodes of all flavors; no bound where nobody says."""
        if self.inputs.from_groups or (self.inputs.capacity and not self.inputs.nodes):
            return NO_BOUND
        nodes = (
            node for node in self.inputs.nodes if (of_closed or node.takes_pods) and self.flavor_of(node) is not None
        )
        running = 0 if of_closed else self._running_on_closed(FlavorResource(COUNTS, "pods"))
        return sum(node.allocatable.get("pods", 0) for node in nodes) + running

    def flavor_of(self, node: ClusterNode) -> str | None:
        """The one flavor the node counts for: most labels first, then the first name."""
        matching = [
            flavor
            for flavor in self.of_nodes.values()
            if all(node.labels.get(label) == value for label, value in flavor.node_labels.items())
        ]
        ordered = sorted(matching, key=lambda flavor: (-len(flavor.node_labels), flavor.name))
        return ordered[0].name if ordered else None

    def children(self, name: str) -> tuple[str, ...]:
        """The children that share the parent's runtime: system has no part in it."""
        return tuple(child for child in self.tree.children(name) if child != SYSTEM)

    def is_leaf(self, name: str) -> bool:
        return not self.tree[name].is_parent


def _rounded(exact: Mapping[str, Fraction]) -> dict[str, int]:
    """The whole part of each, and of the units that are left in the whole part of the sum one each."""
    left = floor(sum(exact.values())) - sum(floor(each) for each in exact.values())
    first = sorted(exact, key=lambda name: (floor(exact[name]) - exact[name], name))[:left]
    return {name: floor(each) + (name in first) for name, each in exact.items()}
