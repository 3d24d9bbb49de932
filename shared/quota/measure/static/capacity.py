"""How much root has to divide: nodes or the first level's mins, capped by root's own max, less what is used outside.

A node counts for one flavor: of those whose labels it carries the one with the most labels, ties by name. No node says
which devices claims may take: of these root has its own max, or else the first level's mins. Nothing else
bounds how many workloads there are.

See docs/specification.md §3.6.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

from shared.api.names import COUNTS, POD_COUNT, WORKLOAD_COUNT
from shared.percents import share_out
from shared.quota.model.amounts.resolution import Base, base_of_root, min_in, resolve
from shared.quota.model.counts.entries import with_counts
from shared.quota.model.flavor import Flavor
from shared.quota.model.node import ClusterNode
from shared.quota.model.settings import CapacitySource, QuotaSettings
from shared.quota.model.tree import DEFAULT_FLAVOR, ROOT, SYSTEM, Amounts, Group, Tree
from shared.resources import MAX_AMOUNT, Amount, FlavorResource, sum_amounts

UNBOUNDED: Final = MAX_AMOUNT
"""The capacity of a count that nothing bounds."""

Capacity = Mapping[FlavorResource, Amount]
NO_MORE: Final[Capacity] = {}


def _offer(node: ClusterNode) -> Amounts:
    return node.offer


def _size(node: ClusterNode) -> Amounts:
    return node.size


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


def capacity_of_nodes(
    nodes: Iterable[ClusterNode],
    flavors: Mapping[str, Flavor],
    offer: Callable[[ClusterNode], Amounts] = _offer,
) -> dict[FlavorResource, Amount]:
    """Return what the nodes offer, by the flavor that each counts for; `offer`: what of a node counts."""
    matcher = FlavorMatcher(with_default_flavor(flavors))
    by_flavor: dict[str, list[Amounts]] = {}
    for node in nodes:
        offered = offer(node)
        flavor = matcher.flavor_of(node.labels) if offered else None
        if flavor is not None:
            by_flavor.setdefault(flavor, []).append(offered)
    found: dict[FlavorResource, Amount] = {}
    for flavor, offers in by_flavor.items():
        for resource, amount in sum_amounts(offers).items():
            key = FlavorResource(COUNTS if resource == POD_COUNT else flavor, resource)
            found[key] = found.get(key, 0) + amount
    return found


def capacity_of_groups(tree: Tree) -> dict[FlavorResource, Amount]:
    """Return the sum of the first level's mins; `system` has none."""
    total: dict[FlavorResource, Amount] = {}
    for name in tree.children(ROOT):
        if name != SYSTEM:
            for entry in tree[name].quotas:
                for resource in entry.min:
                    key = FlavorResource(entry.flavor, resource)
                    total[key] = total.get(key, 0) + (min_in(entry, resource) or 0)
    return total


def capacity_of_devices(tree: Tree, settings: QuotaSettings) -> dict[FlavorResource, Amount]:
    """Root's own max of each resource that devices count as; without one, the sum of the first level's mins."""
    found = capacity_of_groups(tree)
    for entry in tree[ROOT].quotas:
        found.update((FlavorResource(entry.flavor, resource), most) for resource, most in entry.max.items())
    return {key: amount for key, amount in found.items() if settings.is_of_devices(key.resource)}


def _with_counts(
    found: dict[FlavorResource, Amount], tree: Tree, settings: QuotaSettings, nodes: Collection[ClusterNode]
) -> dict[FlavorResource, Amount]:
    """Return capacity with that of the counts that some group names: the pods that nodes take, and no bound of others.

    Where nodes do not decide, or none is given beside capacity by hand, pods have no bound either.
    """
    on_nodes = found.pop(_PODS, 0)
    is_of_nodes = settings.capacity_source is CapacitySource.NODES and (bool(nodes) or not settings.capacity)
    counts = {POD_COUNT: on_nodes if is_of_nodes else UNBOUNDED, WORKLOAD_COUNT: UNBOUNDED}
    return {**found, **{FlavorResource(COUNTS, name): counts[name] for name in sorted(tree.counts)}}


_PODS: Final = FlavorResource(COUNTS, POD_COUNT)


def compute_capacity(
    tree: Tree,
    flavors: Mapping[str, Flavor],
    nodes: Collection[ClusterNode],
    settings: QuotaSettings,
    on_closed_nodes: Capacity = NO_MORE,
) -> dict[FlavorResource, Amount]:
    """Root's capacity: from its source, replaced by keys given by hand, and capped by root's own max.

    `tree`: with the amounts of its percents. `on_closed_nodes`: what workloads hold on nodes that take no more pods.
    """
    if settings.capacity_source is CapacitySource.GROUPS:
        found = capacity_of_groups(tree)
    else:
        found = _from_nodes(capacity_of_nodes(nodes, flavors), settings)
        for key, amount in on_closed_nodes.items():
            found[key] = found.get(key, 0) + amount
        if settings.devices is not None:
            found.update(capacity_of_devices(tree, settings))
    return _bounded(_with_counts(found, tree, settings, nodes), tree[ROOT], settings)


def resolved_tree(  # noqa: PLR0913, PLR0917
    tree: Tree,
    flavors: Mapping[str, Flavor],
    nodes: Collection[ClusterNode],
    settings: QuotaSettings,
    previous: Tree | None = None,
    more: Capacity = NO_MORE,
) -> Tree:
    """Return the tree with its counts and the amounts of its percents, those with `more` capacity.

    What has not changed is the same object as in `previous`.
    """
    counted = with_counts(tree, previous)
    if not tree.has_percents:
        return counted
    return resolve(counted, percent_base(counted, flavors, nodes, settings, more), previous)


def percent_base(
    tree: Tree,
    flavors: Mapping[str, Flavor],
    nodes: Collection[ClusterNode],
    settings: QuotaSettings,
    more: Capacity = NO_MORE,
) -> Base:
    """Return what percents of the first level are shares of: root's capacity, and `more`; 0 where there is none.

    Cordoned nodes, and those that are not ready for a short time, count in full: else `kubectl cordon` would lower a
    max below what runs, and evict.
    """
    found: dict[FlavorResource, Amount] = {}
    if settings.capacity_source is CapacitySource.NODES:
        found = _from_nodes(capacity_of_nodes(nodes, flavors, _size), settings)
    whole = _bounded(_with_counts(found, tree, settings, nodes), tree[ROOT], settings)
    for key, amount in more.items():
        whole[key] = whole.get(key, 0) + amount
    base = base_of_root(tree[ROOT], whole, settings.is_promised)
    return lambda key: base(key) or 0


def _from_nodes(found: dict[FlavorResource, Amount], settings: QuotaSettings) -> dict[FlavorResource, Amount]:
    """Leave out devices: no node says how many claims may take."""
    return {key: amount for key, amount in found.items() if not settings.is_of_devices(key.resource)}


def _bounded(found: dict[FlavorResource, Amount], root: Group, settings: QuotaSettings) -> dict[FlavorResource, Amount]:
    """Replace what is given by hand, apply root's own max, and leave out resources that are not counted."""
    found.update((FlavorResource(flavor, resource), amount) for flavor, resource, amount in settings.capacity)
    for key, amount in found.items():
        entry = root.entry(key.flavor)
        if entry is not None:
            percent = entry.percent("max", key.resource)
            most = entry.max.get(key.resource, amount) if percent is None else share_out(amount, [percent])[0]
            found[key] = min(amount, most)
    return {key: amount for key, amount in found.items() if key.resource not in settings.ignored_resources}


def runtime_of_root(capacity: Amount, outside: Amount, key: FlavorResource, settings: QuotaSettings) -> Amount:
    """Return what groups may use of `capacity` when `system`, unmanaged pods and orphaned workloads use `outside`."""
    if capacity == UNBOUNDED or (settings.capacity_source is CapacitySource.GROUPS and not settings.is_given(key)):
        return capacity
    return max(0, capacity - outside)
