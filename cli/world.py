"""From objects to the engine's world, with what runs outside of quota on the nodes."""

from collections.abc import Iterable
from dataclasses import replace

from cli.objects import Objects
from cli.work import Cluster, Work
from shared.api.node import Node as NodeView
from shared.api.node import allocatable
from shared.api.pod import Pod
from shared.quota.measure.capacity import FlavorMatcher, known_flavors
from shared.quota.measure.world import World
from shared.quota.model import rules
from shared.quota.model.node import Node
from shared.quota.model.reading import pod_request_of
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Tree
from shared.resources import Amount, FlavorResource, QuantityError


def build_world(objects: Objects, work: Work, settings: QuotaSettings) -> World:
    """The engine's world."""
    tree = Tree.of(objects.groups)
    flavors = {flavor.name: flavor for flavor in objects.flavors}
    nodes = tuple(_node(each) for each in objects.nodes)
    world = World.of(tree, flavors.values(), work.workloads, nodes, settings)
    return replace(
        world,
        unmanaged=_unmanaged(objects, work.unmanaged, world),
        inactive=rules.inactive_groups(tree, flavors, settings.max_depth),
    )


def _node(view: NodeView) -> Node:
    return Node(view.metadata.name, view.metadata.labels, allocatable(view), view.takes_pods)


def _unmanaged(objects: Objects, pods: Iterable[Pod], world: World) -> dict[FlavorResource, Amount]:
    """What those pods use, by the flavor of the node each runs on."""
    cluster = Cluster.of(objects)
    matcher = FlavorMatcher(known_flavors(world.flavors))
    flavor_of = {node.name: matcher.flavor_of(node.labels) for node in world.nodes}
    used: dict[FlavorResource, Amount] = {}
    for pod in pods:
        flavor = flavor_of.get(pod.spec.node_name)
        if flavor is None:
            continue
        try:
            request = pod_request_of(pod.spec, cluster.around(pod.metadata.namespace), world.settings)
        except QuantityError:
            continue
        for resource, amount in request.items():
            key = FlavorResource(flavor, resource)
            used[key] = used.get(key, 0) + amount
    return used
