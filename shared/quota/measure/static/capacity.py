"""How much root has to divide: nodes or the first level's mins, capped by root's own max, less what is used outside.

A node counts for one flavor: of those whose labels it carries the one with the most labels, ties by name. No node says
which devices claims may take: of these root has its own max, or else the first level's mins.

See docs/specification.md §3.6.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from shared.quota.model.flavor import Flavor
from shared.quota.model.node import ClusterNode
from shared.quota.model.settings import CapacitySource, QuotaSettings
from shared.quota.model.tree import DEFAULT_FLAVOR, ROOT, SYSTEM, Amounts, Tree
from shared.resources import Amount, FlavorResource, sum_amounts

UNCOUNTED: Final = frozenset({"pods"})
"""What nodes offer and no group has quota for."""

Capacity = Mapping[FlavorResource, Amount]


class FlavorMatcher:
    """Finds a node's flavor by its labels, and caches the answer for nodes with equal labels."""

    def __init__(self, flavors: Iterable[Flavor]) -> None:
        self._ranked = sorted(flavors, key=lambda flavor: (-len(flavor.node_labels), flavor.name))
        self._labels = sorted({label for flavor in self._ranked for label in flavor.node_labels})
        self._known: dict[tuple[str | None, ...], str | None] = {}

    def flavor_of(self, labels: Mapping[str, str]) -> str | None:
        """Return the name of the flavor that a node with these labels counts for; None when it counts for none."""
        look = tuple(labels.get(label) for label in self._labels)
        if look not in self._known:
            fitting = (flavor for flavor in self._ranked if flavor.node_labels.items() <= labels.items())
            self._known[look] = next((flavor.name for flavor in fitting), None)
        return self._known[look]


def with_default_flavor(flavors: Mapping[str, Flavor]) -> list[Flavor]:
    """Return all flavors; `default` exists also before its object does."""
    return list(flavors.values()) if DEFAULT_FLAVOR in flavors else [*flavors.values(), Flavor(DEFAULT_FLAVOR)]


def capacity_of_nodes(nodes: Iterable[ClusterNode], flavors: Mapping[str, Flavor]) -> dict[FlavorResource, Amount]:
    """Return what the nodes offer, by the flavor that each counts for."""
    matcher = FlavorMatcher(with_default_flavor(flavors))
    by_flavor: dict[str, list[Amounts]] = {}
    for node in nodes:
        flavor = matcher.flavor_of(node.labels) if node.offer else None
        if flavor is not None:
            by_flavor.setdefault(flavor, []).append(node.offer)
    return {
        FlavorResource(flavor, resource): amount
        for flavor, offers in by_flavor.items()
        for resource, amount in sum_amounts(offers).items()
        if resource not in UNCOUNTED
    }


def capacity_of_groups(tree: Tree) -> dict[FlavorResource, Amount]:
    """Return the sum of the first level's mins; `system` has none."""
    total: dict[FlavorResource, Amount] = {}
    for name in tree.children(ROOT):
        if name != SYSTEM:
            for entry in tree[name].quotas:
                for resource, amount in entry.min.items():
                    key = FlavorResource(entry.flavor, resource)
                    total[key] = total.get(key, 0) + amount
    return total


def capacity_of_devices(tree: Tree, settings: QuotaSettings) -> dict[FlavorResource, Amount]:
    """Root's own max of each resource that devices count as; without one, the sum of the first level's mins."""
    found = capacity_of_groups(tree)
    for entry in tree[ROOT].quotas:
        found.update((FlavorResource(entry.flavor, resource), most) for resource, most in entry.max.items())
    return {key: amount for key, amount in found.items() if settings.is_of_devices(key.resource)}


def compute_capacity(
    tree: Tree, flavors: Mapping[str, Flavor], nodes: Iterable[ClusterNode], settings: QuotaSettings
) -> dict[FlavorResource, Amount]:
    """Root's capacity: from its source, replaced by keys given by hand, and capped by root's own max."""
    if settings.capacity_source is CapacitySource.GROUPS:
        found = capacity_of_groups(tree)
    else:
        found = capacity_of_nodes(nodes, flavors)
        if settings.devices is not None:
            found = {key: amount for key, amount in found.items() if not settings.is_of_devices(key.resource)}
            found.update(capacity_of_devices(tree, settings))
    found.update((FlavorResource(flavor, resource), amount) for flavor, resource, amount in settings.capacity)
    for entry in tree[ROOT].quotas:
        for resource, most in entry.max.items():
            key = FlavorResource(entry.flavor, resource)
            if key in found:
                found[key] = min(found[key], most)
    return {key: amount for key, amount in found.items() if key.resource not in settings.ignored_resources}


def runtime_of_root(capacity: Amount, outside: Amount, key: FlavorResource, settings: QuotaSettings) -> Amount:
    """Return what groups may use of `capacity` when `system`, unmanaged pods and orphaned workloads use `outside`."""
    if settings.capacity_source is CapacitySource.GROUPS and not _is_given(key, settings):
        return capacity
    return max(0, capacity - outside)


def _is_given(key: FlavorResource, settings: QuotaSettings) -> bool:
    return any((flavor, resource) == key for flavor, resource, _ in settings.capacity)
