"""Which nodes there are, and what unmanaged pods use on them.

The reconciler feeds it what its watches report, the command line the objects of its manifests. A pod is counted again
only when it, its node, its namespace, or whether it is managed has changed.

See docs/specification.md §3.6.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, NamedTuple

import msgspec

from shared.api.core.pod import Pod, PodResourceClaim
from shared.api.names import GROUP_LABEL, POD_SET_LABEL
from shared.quota.measure.static.capacity import FlavorMatcher, with_default_flavor
from shared.quota.measure.static.node_shapes import NodeShapes
from shared.quota.model.flavor import Flavor
from shared.quota.model.membership import is_of_system
from shared.quota.model.node import ClusterNode, LargestNodes
from shared.quota.model.read.pods import account_of, started_group_of
from shared.quota.model.settings import QuotaSettings
from shared.resources import Amount, FlavorResource, sum_amounts

UseByKey = dict[FlavorResource, Amount]


_START: Final = datetime.min.replace(tzinfo=UTC)


class UsingPod(msgspec.Struct, frozen=True):
    """A pod that occupies a node, or that another object covers. `group` is its own label.

    `job` is the key of the workload that accounts for it, if any: a Job's uid, or the key of an object of another kind.

    `key` is what it would be managed as: its pod group's key, else its uid.
    """

    uid: str
    key: str
    namespace: str
    name: str
    node: str
    group: str
    job: str
    request: dict[str, Amount]
    is_terminating: bool = False
    unplaced: str = ""
    """Why the scheduler has found no node for it; empty once it has."""
    pod_set: str = ""
    """Its pod set, if it was made for an object of a governed kind."""
    is_ready: bool = False
    """Whether it is ready, if it was made for an object of a governed kind."""
    ends_by: datetime | None = None
    """Until when a deleted pod has to have ended: its kubelet then kills it."""
    claims: tuple[PodResourceClaim, ...] = ()
    """The claims by which the pod takes devices."""


def using_pod(pod: Pod, namespace: str, request: Mapping[str, Amount]) -> UsingPod:
    """Return the record of a pod that requests so much."""
    metadata = pod.metadata
    return UsingPod(
        uid=metadata.uid,
        key=started_group_of(pod) or metadata.uid,
        namespace=namespace,
        name=metadata.name,
        node=pod.spec.node_name,
        group=metadata.labels.get(GROUP_LABEL, ""),
        job=account_of(pod) or "",
        request=dict(request),
        is_terminating=metadata.is_deleting,
        unplaced="" if pod.spec.node_name else pod.unplaced,
        pod_set=metadata.labels.get(POD_SET_LABEL, "") if metadata.unit else "",
        is_ready=bool(metadata.unit) and pod.is_ready,
        ends_by=metadata.deletion_timestamp,
        claims=tuple(pod.spec.resource_claims),
    )


class _Counted(NamedTuple):
    """A pod as it was counted."""

    is_system: bool
    flavor: str
    pod: UsingPod


@dataclass(slots=True)
class NodeUsage:
    """All nodes by name, and all pods that have a node and have not ended.

    `is_managed` (a Job's uid, or a pod's key): whether it is counted as a workload. `labels_of`: a namespace's.
    """

    is_managed: Callable[[str], bool]
    labels_of: Callable[[str], Mapping[str, str]]
    settings: QuotaSettings
    system: UseByKey = field(default_factory=dict)
    """Use by unmanaged pods of the group `system`, as counted last; another object when it changed."""
    others: UseByKey = field(default_factory=dict)
    """Use by all other unmanaged pods."""
    unjudged: dict[str, Exception] = field(default_factory=dict)
    """Pods that count as before because judging them has failed; who feeds this removes them."""
    _nodes: dict[str, ClusterNode] = field(default_factory=dict)
    _now: datetime = _START
    _losses: dict[str, datetime] = field(default_factory=dict)
    """node -> when the use of pods on it stops counting."""
    _frozen: tuple[ClusterNode, ...] | None = None
    _shapes: NodeShapes = field(init=False)
    _matcher: FlavorMatcher = field(default_factory=lambda: FlavorMatcher(with_default_flavor({})))
    _pods: dict[str, UsingPod] = field(default_factory=dict)
    _on_node: dict[str, set[str]] = field(default_factory=dict)
    _in_namespace: dict[str, set[str]] = field(default_factory=dict)
    _of_owner: dict[str, set[str]] = field(default_factory=dict)
    _counted: dict[str, _Counted] = field(default_factory=dict)
    _dirty: set[str] = field(default_factory=set)
    """Uids of pods to be counted again."""

    def __post_init__(self) -> None:
        self._shapes = NodeShapes(with_default_flavor({}), self.settings)

    def observe_nodes(self, changes: Iterable[tuple[ClusterNode | None, ClusterNode | None]]) -> None:
        """Nodes appeared, changed or went."""
        for before, after in changes:
            if before is not None:
                self._shapes.change(self._nodes.pop(before.name, None), None)
                self._losses.pop(before.name, None)
                self._dirty |= self._on_node.get(before.name, set())
            if after is not None:
                self._shapes.change(self._nodes.get(after.name), after)
                self._nodes[after.name] = after
                self._set_loss(after)
                self._dirty |= self._on_node.get(after.name, set())
        self._frozen = None

    def _set_loss(self, node: ClusterNode) -> None:
        until = node.keeps_use_until(self.settings.node_grace_period)
        if until is not None and until > self._now:
            self._losses[node.name] = until

    @property
    def now(self) -> datetime | None:
        """The moment up to which time has passed; None before the first."""
        return None if self._now == _START else self._now

    @property
    def next_change(self) -> datetime | None:
        """When time alone changes what counts: the end of a node's grace period."""
        return min(self._losses.values(), default=None)

    def advance(self, now: datetime) -> None:
        """Let time pass: nodes whose grace period has ended are lost."""
        self._now = now
        for name in [name for name, until in self._losses.items() if until <= now]:
            del self._losses[name]
            self._dirty |= self._on_node.get(name, set())
            self._frozen = None

    def nodes(self) -> tuple[ClusterNode, ...]:
        """Return all nodes by name, with what pods on closed ones use; the same object until one changes."""
        if self._frozen is None:
            self._frozen = tuple(self._with_use(self._nodes[name]) for name in sorted(self._nodes))
        return self._frozen

    def largest_nodes(self) -> LargestNodes:
        """Return the largest nodes that take pods, by flavor; the same object until they change."""
        return self._shapes.largest()

    def _with_use(self, node: ClusterNode) -> ClusterNode:
        if node.takes_pods:
            return node
        if not self._counts(node):
            return node.lost()
        pods = [self._pods[uid] for uid in self._on_node.get(node.name, ())]
        return node.keeping(sum_amounts(pod.request for pod in pods))

    def _counts(self, node: ClusterNode) -> bool:
        return node.counts_use(self._now, self.settings.node_grace_period)

    def observe_pods(self, changes: Sequence[tuple[UsingPod | None, UsingPod | None]]) -> None:
        """Pods got a node, ended or went."""
        for before, after in changes:
            if before == after:
                continue
            for pod in (before, after):
                node = None if pod is None else self._nodes.get(pod.node)
                if node is not None and not node.takes_pods:
                    self._frozen = None
                if pod is not None and (pod.uid in self._counted or not self._is_managed(pod)):
                    self._dirty.add(pod.uid)
            if before is not None:
                self._forget(before.uid)
            if after is not None:
                self._forget(after.uid)
                self._pods[after.uid] = after
                self._index(after, set.add)

    def _forget(self, uid: str) -> None:
        """Remove the pod, if it is known; manifests may hold two pods with one uid, of which the last counts."""
        known = self._pods.pop(uid, None)
        if known is not None:
            self._index(known, set.discard)

    def _index(self, pod: UsingPod, change: Callable[[set[str], str], None]) -> None:
        for index, name in (
            (self._on_node, pod.node),
            (self._in_namespace, pod.namespace),
            (self._of_owner, _owner(pod)),
        ):
            members = index.setdefault(name, set())
            change(members, pod.uid)
            if not members:
                del index[name]

    def observe_flavors(self, flavors: Mapping[str, Flavor]) -> None:
        """Which nodes are of which flavor may have changed."""
        self._matcher = FlavorMatcher(with_default_flavor(flavors))
        self._dirty |= self._pods.keys()
        self._shapes = NodeShapes(with_default_flavor(flavors), self.settings)
        for node in self._nodes.values():
            self._shapes.change(None, node)
        self._frozen = None

    def observe_namespaces(self, names: Iterable[str]) -> None:
        """The labels of these namespaces have changed."""
        for name in names:
            self._dirty |= self._in_namespace.get(name, set())

    def observe_owners(self, owners: Iterable[str]) -> None:
        """Jobs and keys of pods have become managed, or are no longer."""
        for owner in owners:
            self._dirty |= self._of_owner.get(owner, set())
            if owner in self._pods:
                self._dirty.add(owner)

    @property
    def changed(self) -> bool:
        """Whether anything is to be counted again."""
        return bool(self._dirty) or self._frozen is None

    def count(self) -> None:
        """Bring `system` and `others` up to date."""
        if not self._dirty:
            return
        system, others = dict(self.system), dict(self.others)
        for uid in self._dirty:
            try:
                after = self._judge(uid)
            except Exception as error:
                self.unjudged[uid] = error
                continue
            before = self._counted.pop(uid, None)
            if before is not None:
                _add(system if before.is_system else others, before, -1)
            if after is not None:
                self._counted[uid] = after
                _add(system if after.is_system else others, after, 1)
        self._dirty.clear()
        self.system = self.system if system == self.system else system
        self.others = self.others if others == self.others else others

    def name_of(self, uid: str) -> str:
        """Return namespace/name of a pod; empty once it is gone."""
        pod = self._pods.get(uid)
        return "" if pod is None else f"{pod.namespace}/{pod.name}"

    def _is_managed(self, pod: UsingPod) -> bool:
        """Return whether it is managed: by its Job or pod group, or, if it joined that later, by itself."""
        return self.is_managed(_owner(pod)) or self.is_managed(pod.uid)

    def _judge(self, uid: str) -> _Counted | None:
        """Return the pod as it counts now; None: it is gone, managed, or on a node that is no capacity."""
        pod = self._pods.get(uid)
        node = None if pod is None else self._nodes.get(pod.node)
        flavor = self._matcher.flavor_of(node.labels) if node is not None and self._counts(node) else None
        if pod is None or flavor is None or self._is_managed(pod):
            return None
        labels = self.labels_of(pod.namespace)
        is_system = is_of_system(pod.group, pod.namespace, labels, default_group=self.settings.default_group)
        return _Counted(is_system, flavor, pod)


def _owner(pod: UsingPod) -> str:
    return pod.job or pod.key


def _add(total: UseByKey, counted: _Counted, sign: int) -> None:
    for resource, amount in counted.pod.request.items():
        key = FlavorResource(counted.flavor, resource)
        left = total.get(key, 0) + sign * amount
        if left:
            total[key] = left
        else:
            total.pop(key, None)
