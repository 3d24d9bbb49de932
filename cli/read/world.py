"""Build the engine's world from objects, with the use of nodes outside quota."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from cli.read.objects import ManifestObjects
from cli.read.workloads import SubmittedWorkloads, contexts_of, namespace_of
from shared.api.core.node import NodeObject as NodeView
from shared.api.core.node import allocatable
from shared.api.core.pod import Pod
from shared.api.names import GROUP_LABEL
from shared.quota.measure.inputs.world import World
from shared.quota.measure.static.capacity import FlavorMatcher, known_flavors
from shared.quota.measure.static.node_shapes import group_nodes
from shared.quota.model import rules
from shared.quota.model.job_reading import pod_request_of
from shared.quota.model.membership import is_of_system
from shared.quota.model.node import ClusterNode
from shared.quota.model.node_fit import LargestNodes
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Tree
from shared.resources import Amount, FlavorResource, QuantityError, sum_amounts


def build_world(
    objects: ManifestObjects, workloads: SubmittedWorkloads, settings: QuotaSettings, now: datetime
) -> World:
    """Return the world that the engine measures and decides on."""
    tree = Tree.of(objects.groups)
    flavors = {flavor.name: flavor for flavor in objects.flavors}
    nodes = [_node(each) for each in objects.nodes]
    counting = {node.name: node for node in nodes if node.counts_use(now, settings.node_grace_period)}
    requests = _Requests(objects, settings)
    on_node: dict[str, list[Mapping[str, Amount]]] = {}
    for pod in objects.pods:
        if pod.spec.node_name in counting and not pod.has_ended:
            on_node.setdefault(pod.spec.node_name, []).append(requests.of(pod))
    nodes = [node.keeping(sum_amounts(on_node[node.name])) if node.name in on_node else node for node in nodes]
    outside = _OutsideUse(FlavorMatcher(known_flavors(flavors)), counting, requests)
    world = World.of(tree, flavors.values(), workloads.workloads, nodes, settings)
    return replace(
        world,
        unmanaged=outside.total(pod for pod in workloads.unmanaged if not requests.is_of_system(pod)),
        system=outside.total(pod for pod in workloads.unmanaged if requests.is_of_system(pod)),
        inactive=rules.inactive_groups(tree, flavors, settings.max_depth),
    )


def nodes_in(objects: ManifestObjects, settings: QuotaSettings) -> LargestNodes:
    """Return the largest nodes of each flavor that has a node among the objects; of others they are not known."""
    flavors = {flavor.name: flavor for flavor in objects.flavors}
    found = group_nodes(map(_node, objects.nodes), flavors, settings)
    return {flavor: largest for flavor, largest in found.items() if largest}


def _node(view: NodeView) -> ClusterNode:
    return ClusterNode(
        view.metadata.name, view.metadata.labels, allocatable(view), view.takes_pods, view.not_ready_since
    )


class _Requests:
    """What pods of the manifests request, and whether they belong to `system`."""

    def __init__(self, objects: ManifestObjects, settings: QuotaSettings) -> None:
        self._contexts = contexts_of(objects)
        self._settings = settings

    def of(self, pod: Pod) -> Mapping[str, Amount]:
        """Return the pod's request; nothing when it cannot be read, which is reported elsewhere."""
        try:
            return pod_request_of(pod.spec, self._contexts.of(namespace_of(pod.metadata)), self._settings)
        except QuantityError:
            return {}

    def is_of_system(self, pod: Pod) -> bool:
        """Whether an unmanaged pod counts as use of `system`."""
        namespace, default = namespace_of(pod.metadata), self._settings.default_group
        labels = self._contexts.labels(namespace)
        return is_of_system(pod.metadata.labels.get(GROUP_LABEL, ""), namespace, labels, default_group=default)


@dataclass(frozen=True, slots=True)
class _OutsideUse:
    """Use by unmanaged pods, by the flavor of the node each runs on."""

    matcher: FlavorMatcher
    counting: Mapping[str, ClusterNode]
    requests: _Requests

    def total(self, pods: Iterable[Pod]) -> dict[FlavorResource, Amount]:
        """Sum what those of `pods` use that run on a node whose use counts."""
        used: dict[FlavorResource, Amount] = {}
        for pod in pods:
            node = self.counting.get(pod.spec.node_name)
            flavor = None if node is None else self.matcher.flavor_of(node.labels)
            if flavor is not None:
                for resource, amount in self.requests.of(pod).items():
                    key = FlavorResource(flavor, resource)
                    used[key] = used.get(key, 0) + amount
        return used
