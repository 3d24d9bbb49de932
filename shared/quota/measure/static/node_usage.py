"""Which nodes there are, and what unmanaged pods use on them.

The reconciler feeds it what its watches report, the command line the objects of its manifests. A pod is counted again
only when it, its node, its namespace, or whether it is managed has changed.

See docs/specification.md §3.6.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

import msgspec

from shared.api.core.pod import Pod, PodResourceClaim
from shared.api.names import COUNTS, GROUP_LABEL, POD_COUNT, POD_SET_LABEL
from shared.quota.measure.static.known_nodes import KnownNodes, NodeChange
from shared.quota.model.flavor import Flavor
from shared.quota.model.membership import is_of_system
from shared.quota.model.node import ClusterNode, LargestNodes
from shared.quota.model.read.pods import account_of, started_group_of
from shared.quota.model.settings import QuotaSettings
from shared.resources import Amount, FlavorResource, key_of, sum_amounts

UseByKey = dict[FlavorResource, Amount]


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
    is_preempted: bool = False
    """Whether kube-scheduler has chosen to stop it, for a pod of a higher PriorityClass."""

    @property
    def owner(self) -> str:
        """The key of the workload that accounts for it, or would if it were managed."""
        return self.job or self.key


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
        is_preempted=pod.is_preempted,
    )


class _Counted(NamedTuple):
    """A pod as it was counted."""

    is_system: bool
    flavor: str
    pod: UsingPod


class _Pods:
    """Pods by uid, and the uids of those on a node, in a namespace, or of an owner."""

    def __init__(self) -> None:
        self.by_uid: dict[str, UsingPod] = {}
        self.on_node: dict[str, set[str]] = {}
        self.in_namespace: dict[str, set[str]] = {}
        self.of_owner: dict[str, set[str]] = {}

    def put(self, pod: UsingPod) -> None:
        """Keep the pod; manifests may hold two pods with one uid, of which the last counts."""
        self.forget(pod.uid)
        self.by_uid[pod.uid] = pod
        self._index(pod, set.add)

    def forget(self, uid: str) -> None:
        """Remove the pod, if it is known."""
        known = self.by_uid.pop(uid, None)
        if known is not None:
            self._index(known, set.discard)

    def counted_for(self, account: str) -> list[UsingPod]:
        """Return the pods of this owner, and the pod with this uid."""
        uids = self.of_owner.get(account, set()) | ({account} & self.by_uid.keys())
        return [self.by_uid[uid] for uid in uids]

    def _index(self, pod: UsingPod, change: Callable[[set[str], str], None]) -> None:
        for index, name in (
            (self.on_node, pod.node),
            (self.in_namespace, pod.namespace),
            (self.of_owner, pod.owner),
        ):
            members = index.setdefault(name, set())
            change(members, pod.uid)
            if not members:
                del index[name]


class NodeUsage:
    """All nodes by name, and all pods that have a node and have not ended.

    `is_managed` (a Job's uid, or a pod's key): whether it is counted as a workload. `labels_of`: a namespace's.
    """

    def __init__(
        self,
        is_managed: Callable[[str], bool],
        labels_of: Callable[[str], Mapping[str, str]],
        settings: QuotaSettings,
    ) -> None:
        self.system: UseByKey = {}
        """Use by unmanaged pods of the group `system`, as counted last; another object when it changed."""
        self.others: UseByKey = {}
        """Use by all other unmanaged pods."""
        self.uncounted: dict[str, Exception] = {}
        """Pods that count as before because counting them has failed; who feeds this removes them."""
        self._owner_is_managed = is_managed
        self._labels_of = labels_of
        self._settings = settings
        self._nodes = KnownNodes(settings)
        self._pods = _Pods()
        self._counted: dict[str, _Counted] = {}
        self._moved: set[str] = set()
        self._dirty: set[str] = set()
        """Uids of pods to be counted again."""

    def observe_nodes(self, changes: Iterable[NodeChange]) -> None:
        """Take nodes that appeared, changed or went."""
        listed = [*changes]
        closed = {each.name for change in listed for each in change if each is not None and not each.takes_pods}
        self._count_again(self._nodes.observe(listed))
        self._note_moved(closed)

    def _count_again(self, nodes: Iterable[str]) -> None:
        for name in nodes:
            self._dirty |= self._pods.on_node.get(name, set())

    def _note_moved(self, nodes: Iterable[str]) -> None:
        for name in nodes:
            self._moved |= {self._account_of(self._pods.by_uid[uid]) for uid in self._pods.on_node.get(name, ())}

    def take_moved(self) -> set[str]:
        """Return the accounts of which `on_closed_nodes` may have changed since the last call."""
        moved, self._moved = self._moved, set()
        return moved

    def on_closed_nodes(self, account: str) -> Mapping[FlavorResource, Amount]:
        """Return what the pods of a workload hold on nodes that take no more pods; nothing where nodes do not decide.

        `account`: a Job's uid, or a pod's key.
        """
        found: UseByKey = {}
        if not (self._nodes.closed and self._owner_is_managed(account)):
            return found
        for pod in self._pods.counted_for(account):
            if pod.node in self._nodes.closed and self._account_of(pod) == account:
                flavor = self._nodes.flavor_of(pod.node)
                for key, amount in () if flavor is None else _use_of(pod, flavor):
                    if self._settings.is_of_nodes(key):
                        found[key] = found.get(key, 0) + amount
        return found

    @property
    def now(self) -> datetime | None:
        """The moment up to which time has passed; None before the first."""
        return self._nodes.now

    @property
    def next_change(self) -> datetime | None:
        """When time alone changes what counts: the end of a node's grace period."""
        return self._nodes.next_change

    def advance(self, now: datetime) -> None:
        """Let time pass: nodes whose grace period has ended are lost."""
        lost = self._nodes.advance(now)
        self._count_again(lost)
        self._note_moved(lost)

    def nodes(self) -> tuple[ClusterNode, ...]:
        """Return all nodes by name, with what pods on closed ones use; the same object until one changes."""
        return self._nodes.all(self._use_on)

    def _use_on(self, node: str) -> Mapping[str, Amount]:
        """Return what pods use on a node that are part of no workload: those are capacity as long as they run."""
        pods = map(self._pods.by_uid.__getitem__, self._pods.on_node.get(node, ()))
        return sum_amounts({**pod.request, POD_COUNT: 1} for pod in pods if not self._is_managed(pod))

    def largest_nodes(self) -> LargestNodes:
        """Return the largest nodes that take pods, by flavor; the same object until they change."""
        return self._nodes.largest()

    def observe_pods(self, changes: Sequence[tuple[UsingPod | None, UsingPod | None]]) -> None:
        """Take pods that got a node, ended or went."""
        for before, after in changes:
            if before == after:
                continue
            for pod in (before, after):
                if pod is not None:
                    self._nodes.observe_use(pod.node)
                    if pod.node in self._nodes.closed:
                        self._moved.add(self._account_of(pod))
                if pod is not None and (pod.uid in self._counted or not self._is_managed(pod)):
                    self._dirty.add(pod.uid)
            if before is not None:
                self._pods.forget(before.uid)
            if after is not None:
                self._pods.put(after)

    def observe_flavors(self, flavors: Mapping[str, Flavor]) -> None:
        """Sort nodes into flavors again, and count all pods again."""
        self._nodes.observe_flavors(flavors)
        self._note_moved(self._nodes.closed)
        self._dirty |= self._pods.by_uid.keys()

    def observe_namespaces(self, names: Iterable[str]) -> None:
        """Count the pods of namespaces again whose labels have changed."""
        for name in names:
            self._dirty |= self._pods.in_namespace.get(name, set())

    def observe_owners(self, owners: Iterable[str]) -> None:
        """Count the pods of owners again that have become managed, or are no longer."""
        for owner in owners:
            pods = self._pods.counted_for(owner)
            self._dirty.update(pod.uid for pod in pods)
            for node in self._nodes.closed & {pod.node for pod in pods}:
                self._nodes.observe_use(node)
                self._moved.add(owner)

    @property
    def changed(self) -> bool:
        """Whether anything is to be counted again."""
        return bool(self._dirty) or self._nodes.changed

    def count(self) -> None:
        """Bring `system` and `others` up to date."""
        if not self._dirty:
            return
        system, others = dict(self.system), dict(self.others)
        for uid in self._dirty:
            try:
                after = self._count_one(uid)
            except Exception as error:
                self.uncounted[uid] = error
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
        pod = self._pods.by_uid.get(uid)
        return "" if pod is None else f"{pod.namespace}/{pod.name}"

    def _is_managed(self, pod: UsingPod) -> bool:
        """Return whether it is managed: by its Job or pod group, or, if it joined that later, by itself."""
        return self._owner_is_managed(pod.owner) or self._owner_is_managed(pod.uid)

    def _account_of(self, pod: UsingPod) -> str:
        """Return which workload counts a managed pod: itself, if it joined its group later, or its owner."""
        return pod.uid if self._owner_is_managed(pod.uid) else pod.owner

    def _count_one(self, uid: str) -> _Counted | None:
        """Return the pod as it counts now; None: it is gone, managed, or on a node that is no capacity."""
        pod = self._pods.by_uid.get(uid)
        flavor = None if pod is None else self._nodes.flavor_of(pod.node)
        if pod is None or flavor is None or self._is_managed(pod):
            return None
        labels = self._labels_of(pod.namespace)
        is_system = is_of_system(pod.group, pod.namespace, labels, default_group=self._settings.default_group)
        return _Counted(is_system, flavor, pod)


_POD: Final = key_of(COUNTS, POD_COUNT)


def _use_of(pod: UsingPod, flavor: str) -> Iterator[tuple[FlavorResource, Amount]]:
    yield from ((key_of(flavor, resource), amount) for resource, amount in pod.request.items())
    yield _POD, 1


def _add(total: UseByKey, counted: _Counted, sign: int) -> None:
    for key, amount in _use_of(counted.pod, counted.flavor):
        left = total.get(key, 0) + sign * amount
        if left:
            total[key] = left
        else:
            total.pop(key, None)
