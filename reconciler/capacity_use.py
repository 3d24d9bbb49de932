"""What nodes there are, and what pods occupy on them beside managed work; which Jobs' pods still run. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from reconciler.records import UsingPod
from reconciler.surroundings import sides
from shared.kube.cache import Change
from shared.quota.measure.capacity import FlavorMatcher, known_flavors
from shared.quota.model.flavor import Flavor
from shared.quota.model.membership import resolve_group
from shared.quota.model.node import Node
from shared.quota.model.tree import SYSTEM
from shared.resources import Amount, FlavorResource

Use = dict[FlavorResource, Amount]

SYSTEM_NAMESPACE = "kube-system"
"""Its pods are of the group `system`, whatever they say."""


@dataclass(slots=True)
class CapacityUse:
    """All nodes by name, and all pods that have a node and have not ended."""

    _nodes: dict[str, Node] = field(default_factory=dict)
    _frozen: tuple[Node, ...] | None = None
    _pods: dict[str, UsingPod] = field(default_factory=dict)
    _of_job: dict[str, set[str]] = field(default_factory=dict)

    def see_nodes(self, changes: Sequence[Change[Node]]) -> None:
        """Nodes appeared, changed or went."""
        for before, after in sides(changes):
            if before is not None:
                self._nodes.pop(before.name, None)
            if after is not None:
                self._nodes[after.name] = after
        self._frozen = None

    def nodes(self) -> tuple[Node, ...]:
        """All nodes by name; the same object until one changes."""
        if self._frozen is None:
            self._frozen = tuple(self._nodes[name] for name in sorted(self._nodes))
        return self._frozen

    def see_pods(self, changes: Sequence[tuple[UsingPod | None, UsingPod | None]]) -> set[str]:
        """Pods got a node, ended or went. Returns whose: uids of Jobs, units of other pods."""
        touched = set()
        for before, after in changes:
            if before == after:
                continue
            if before is not None:
                self._pods.pop(before.uid, None)
                self._of_job.get(before.job, set()).discard(before.uid)
                touched.add(before.job or before.unit)
            if after is not None:
                self._pods[after.uid] = after
                if after.job:
                    self._of_job.setdefault(after.job, set()).add(after.uid)
                touched.add(after.job or after.unit)
        for owner in touched:
            if owner in self._of_job and not self._of_job[owner]:
                del self._of_job[owner]
        return touched

    def runs_pods_of(self, job: str) -> bool:
        """Whether a pod of the Job with this uid still occupies a node."""
        return job in self._of_job

    def tally(
        self,
        flavors: Mapping[str, Flavor],
        is_managed: Callable[[UsingPod], bool],
        labels_of: Callable[[str], Mapping[str, str]],
        default_group: bool,
    ) -> tuple[Use, Use]:
        """What pods beside managed work occupy, on nodes that give capacity: those of `system`, and all others."""
        matcher = FlavorMatcher(known_flavors(flavors))
        node_flavors = {node.name: matcher.flavor_of(node.labels) for node in self.nodes() if node.takes_pods}
        system: Use = {}
        others: Use = {}
        for pod in self._pods.values():
            flavor = node_flavors.get(pod.node)
            if flavor is None or is_managed(pod):
                continue
            group = resolve_group({}, labels_of(pod.namespace), default_group=default_group)
            total = system if SYSTEM in (pod.group, group) or pod.namespace == SYSTEM_NAMESPACE else others
            for resource, amount in pod.request.items():
                key = FlavorResource(flavor, resource)
                total[key] = total.get(key, 0) + amount
        return system, others
