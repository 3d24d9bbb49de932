"""The nodes that take pods, by flavor and shape: equal nodes count together, and of a flavor the largest are known.

A pod is compared with the largest shapes only, so the cost follows them and not the number of nodes.

See docs/specification.md §6.6.
"""

from collections.abc import Iterable, Mapping

from shared.api.names import POD_COUNT
from shared.quota.measure.inputs.world import World
from shared.quota.measure.static.capacity import FlavorMatcher, with_default_flavor
from shared.quota.model.flavor import Flavor
from shared.quota.model.node import NOT_COMPARED, ClusterNode, LargestNodes, is_within_any, largest_of
from shared.quota.model.settings import CapacitySource, QuotaSettings
from shared.quota.model.tree import Amounts
from shared.resources import Amount

NodeShape = tuple[tuple[str, Amount], ...]
"""resource -> what a node offers of it; without resources that are not counted."""


class NodeShapes:
    """How many nodes there are of each shape. Mutable: one node changes one count."""

    def __init__(self, flavors: Iterable[Flavor], settings: QuotaSettings) -> None:
        known = list(flavors)
        given = {flavor for flavor, _, _ in settings.capacity}
        compares = settings.capacity_source is CapacitySource.NODES
        self._names = [flavor.name for flavor in known if compares and flavor.name not in given]
        self._matcher = FlavorMatcher(known)
        self._uncounted = {POD_COUNT, *settings.ignored_resources}
        self._numbers: dict[str, dict[NodeShape, int]] = {name: {} for name in self._names}
        self._largest: LargestNodes | None = None

    def change(self, before: ClusterNode | None, after: ClusterNode | None) -> None:
        """Take a node that appeared, changed or went."""
        for node, more in ((before, -1), (after, 1)):
            flavor = self._matcher.flavor_of(node.labels) if node is not None and node.takes_pods else None
            if node is not None and flavor in self._numbers:
                self._count(flavor, self._shape(node), more)

    def _shape(self, node: ClusterNode) -> NodeShape:
        offered = ((name, amount) for name, amount in node.allocatable.items() if name not in self._uncounted)
        return tuple(sorted((name, amount) for name, amount in offered if amount > 0))

    def _count(self, flavor: str, shape: NodeShape, more: int) -> None:
        numbers = self._numbers[flavor]
        number = numbers.get(shape, 0) + more
        if number:
            numbers[shape] = number
        else:
            numbers.pop(shape, None)
        if self._largest is not None and (shape not in numbers or number == more):
            self._reset(flavor, dict(shape))

    def _reset(self, flavor: str, offer: Amounts) -> None:
        """Forget the largest if a shape that appeared or is gone can change which they are."""
        known = () if self._largest is None else self._largest[flavor]
        if offer in known or not is_within_any(offer, known):
            self._largest = None

    def largest(self) -> LargestNodes:
        """Return the largest nodes of every flavor that is compared with nodes; the same object until they change."""
        if self._largest is None:
            self._largest = {name: largest_of(map(dict, self._numbers[name])) for name in self._names}
        return self._largest


def largest_nodes(world: World) -> LargestNodes:
    """Return what this world's pods are compared with."""
    if world.largest_nodes is not None:
        return world.largest_nodes
    return group_nodes(world.nodes, world.flavors, world.settings)


def group_nodes(nodes: Iterable[ClusterNode], flavors: Mapping[str, Flavor], settings: QuotaSettings) -> LargestNodes:
    """Return the largest of these nodes, by flavor."""
    if settings.capacity_source is not CapacitySource.NODES:
        return NOT_COMPARED
    shapes = NodeShapes(with_default_flavor(flavors), settings)
    for node in nodes:
        shapes.change(None, node)
    return shapes.largest()
