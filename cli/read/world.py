"""Build the engine's world from objects, with the use of nodes outside quota."""

from collections.abc import Iterable
from dataclasses import replace

from cli.read.objects import ManifestObjects
from cli.read.workloads import ManifestContexts, SubmittedWorkloads
from shared.api.core.node import NodeObject as NodeView
from shared.api.core.node import allocatable
from shared.api.core.pod import Pod
from shared.quota.measure.inputs.world import World
from shared.quota.measure.static.capacity import FlavorMatcher, known_flavors
from shared.quota.model import rules
from shared.quota.model.job_reading import pod_request_of
from shared.quota.model.node import ClusterNode
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Tree
from shared.resources import Amount, FlavorResource, QuantityError


def build_world(objects: ManifestObjects, workloads: SubmittedWorkloads, settings: QuotaSettings) -> World:
    """Return the world that the engine measures and decides on."""
    tree = Tree.of(objects.groups)
    flavors = {flavor.name: flavor for flavor in objects.flavors}
    nodes = tuple(_node(each) for each in objects.nodes)
    world = World.of(tree, flavors.values(), workloads.workloads, nodes, settings)
    return replace(
        world,
        unmanaged=_unmanaged(objects, workloads.unmanaged, world),
        inactive=rules.inactive_groups(tree, flavors, settings.max_depth),
    )


def _node(view: NodeView) -> ClusterNode:
    return ClusterNode(view.metadata.name, view.metadata.labels, allocatable(view), view.takes_pods)


def _unmanaged(objects: ManifestObjects, pods: Iterable[Pod], world: World) -> dict[FlavorResource, Amount]:
    """Sum what those pods use, by the flavor of the node each runs on."""
    cluster = ManifestContexts.of(objects)
    matcher = FlavorMatcher(known_flavors(world.flavors))
    flavor_of = {node.name: matcher.flavor_of(node.labels) for node in world.nodes}
    used: dict[FlavorResource, Amount] = {}
    for pod in pods:
        flavor = flavor_of.get(pod.spec.node_name)
        if flavor is None:
            continue
        try:
            request = pod_request_of(pod.spec, cluster.of_namespace(pod.metadata.namespace), world.settings)
        except QuantityError:
            continue
        for resource, amount in request.items():
            key = FlavorResource(flavor, resource)
            used[key] = used.get(key, 0) + amount
    return used
