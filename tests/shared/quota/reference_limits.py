"""The limits of all groups, as written and as inherited, and the capacity of root; half of the reference engine."""

from shared.quota.model.node import ClusterNode
from shared.quota.model.tree import ROOT, SYSTEM, Entry
from shared.resources import FlavorResource
from tests.shared.quota.reference_inputs import ReferenceInputs


class Limits:
    """What the tree promises and forbids. Groups without a path to root do not count."""

    def __init__(self, inputs: ReferenceInputs) -> None:
        self.inputs = inputs
        self.tree = inputs.tree
        self.groups = tuple(
            name for name in sorted(inputs.tree.groups) if inputs.tree.reaches_root(name) and name != SYSTEM
        )
        self.keys = tuple(sorted(self._all_keys()))

    def _all_keys(self) -> set[FlavorResource]:
        quotas = (
            FlavorResource(entry.flavor, resource)
            for name in self.groups
            for entry in self.tree[name].quotas
            for resource in entry.covered
        )
        return set(quotas) | set(self.inputs.capacity)

    def _entry(self, name: str, key: FlavorResource) -> Entry | None:
        entry = self.tree[name].entry(key.flavor)
        return entry if entry is not None and key.resource in entry.covered else None

    def covers(self, name: str, key: FlavorResource) -> bool:
        return self._entry(name, key) is not None

    def min(self, name: str, key: FlavorResource) -> int:
        entry = self._entry(name, key)
        return entry.min.get(key.resource, 0) if entry else 0

    def _inherited_max(self, name: str, key: FlavorResource) -> int:
        for at in self.tree.path(name):
            entry = self._entry(at, key)
            if entry and key.resource in entry.max:
                return entry.max[key.resource]
        return self.capacity(key)

    def max(self, name: str, key: FlavorResource) -> int:
        return self.capacity(key) if name == ROOT else self._inherited_max(name, key)

    def weight(self, name: str, key: FlavorResource) -> int:
        entry = self._entry(name, key)
        if entry and key.resource in entry.weight:
            return entry.weight[key.resource]
        return self._inherited_max(name, key)

    def lending_limit(self, name: str, key: FlavorResource) -> int:
        entry = self._entry(name, key)
        if entry and key.resource in entry.lending_limit:
            return entry.lending_limit[key.resource]
        return self.min(name, key) if self.tree[name].allow_lending else 0

    def borrowing_limit(self, name: str, key: FlavorResource) -> int | None:
        entry = self._entry(name, key)
        return entry.borrowing_limit.get(key.resource) if entry else None

    def guarantee(self, name: str, key: FlavorResource) -> int:
        return max(0, self.min(name, key) - self.lending_limit(name, key))

    def ceiling(self, name: str, key: FlavorResource) -> int:
        limit = self.borrowing_limit(name, key)
        highest = self.max(name, key)
        return highest if limit is None else min(highest, self.min(name, key) + limit)

    def capacity(self, key: FlavorResource) -> int:
        entry = self.tree[ROOT].entry(key.flavor)
        most = entry.max.get(key.resource) if entry else None
        if key in self.inputs.capacity:
            whole = self.inputs.capacity[key]
        elif self.inputs.from_groups:
            whole = sum(self.min(child, key) for child in self.children(ROOT))
        else:
            whole = sum(
                node.allocatable.get(key.resource, 0)
                for node in self.inputs.nodes
                if node.takes_pods and self.flavor_of(node) == key.flavor
            )
        return whole if most is None else min(whole, most)

    def flavor_of(self, node: ClusterNode) -> str | None:
        """The one flavor the node counts for: most labels first, then the first name."""
        matching = [
            flavor
            for flavor in self.inputs.flavors.values()
            if all(node.labels.get(label) == value for label, value in flavor.node_labels.items())
        ]
        ordered = sorted(matching, key=lambda flavor: (-len(flavor.node_labels), flavor.name))
        return ordered[0].name if ordered else None

    def children(self, name: str) -> tuple[str, ...]:
        """The children that share the parent's runtime: system has no part in it."""
        return tuple(child for child in self.tree.children(name) if child != SYSTEM)

    def is_leaf(self, name: str) -> bool:
        return not self.tree[name].is_parent
