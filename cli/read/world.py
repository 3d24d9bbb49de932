"""Build the engine's world from objects, with the use of nodes outside quota."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

import msgspec

from cli.read.kind_objects import namespace_of
from cli.read.objects import ManifestObjects
from cli.read.workloads import SubmittedWorkloads, pod_name, read_tree
from shared.api.core.node import NodeObject as NodeView
from shared.api.core.node import allocatable
from shared.api.core.pod import Pod
from shared.quota.measure.inputs.world import World
from shared.quota.measure.static.node_shapes import group_nodes
from shared.quota.measure.static.node_usage import NodeUsage
from shared.quota.measure.static.using_pods import UsingPod, using_pod
from shared.quota.model import rules
from shared.quota.model.flavor import Flavor
from shared.quota.model.in_force import DatedTree
from shared.quota.model.namespace_context import NamespaceContexts
from shared.quota.model.node import ClusterNode, LargestNodes
from shared.quota.model.read.jobs import pod_request_of
from shared.quota.model.settings import QuotaSettings
from shared.resources import QuantityError


def build_world(
    objects: ManifestObjects, workloads: SubmittedWorkloads, settings: QuotaSettings, now: datetime
) -> World:
    """Return the world that the engine measures and decides on."""
    tree = DatedTree.at(read_tree(objects, workloads), now)
    flavors = {flavor.name: flavor for flavor in objects.flavors}
    usage = _node_usage(objects, workloads, flavors, settings, now)
    placed = (
        each.holding_on_closed_nodes(usage.on_closed_nodes(workloads.accounts[each.id])) for each in workloads.workloads
    )
    world = World.of(tree.in_force, flavors.values(), placed, usage.nodes(), settings)
    return replace(
        world.with_tree(tree),
        unmanaged=usage.others,
        system=usage.system,
        inactive=rules.inactive_groups(tree.in_force, flavors, settings.max_depth),
    )


def nodes_in(objects: ManifestObjects, settings: QuotaSettings) -> LargestNodes:
    """Return the largest nodes of each flavor with a node among the objects; those of others are unknown."""
    flavors = {flavor.name: flavor for flavor in objects.flavors}
    found = group_nodes(map(_node, objects.nodes), flavors, settings)
    return {flavor: largest for flavor, largest in found.items() if largest}


def _node(view: NodeView) -> ClusterNode:
    return ClusterNode(
        view.metadata.name, view.metadata.labels, allocatable(view), view.takes_pods, view.not_ready_since
    )


def _node_usage(
    objects: ManifestObjects,
    workloads: SubmittedWorkloads,
    flavors: Mapping[str, Flavor],
    settings: QuotaSettings,
    now: datetime,
) -> NodeUsage:
    contexts = workloads.contexts
    usage = NodeUsage(workloads.managed.__contains__, contexts.labels, settings)
    usage.observe_flavors(flavors)
    usage.observe_nodes((None, _node(each)) for each in objects.nodes)
    usage.advance(now)
    usage.observe_pods([(None, _using(pod, contexts, settings)) for pod in objects.pods if _uses_a_node(pod)])
    usage.count()
    return usage


def _uses_a_node(pod: Pod) -> bool:
    return bool(pod.spec.node_name) and not pod.has_ended


def _using(pod: Pod, contexts: NamespaceContexts, settings: QuotaSettings) -> UsingPod:
    namespace = namespace_of(pod.metadata)
    try:
        request = pod_request_of(pod.spec, contexts.of(namespace), settings)
    except QuantityError:
        request = {}  # reported where the workload is read
    using = using_pod(pod, namespace, request)
    if using.uid:
        return using
    return msgspec.structs.replace(using, uid=pod_name(pod), key=using.key or pod_name(pod))
