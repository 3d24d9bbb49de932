"""Which nodes there are, and what unmanaged pods use on them.

The reconciler feeds it what its watches report, the command line the objects of its manifests. A pod is counted again
only when it, its node, its namespace, or whether it is managed has changed.

See docs/specification.md §3.6.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from shared.api.names import COUNTS, POD_COUNT
from shared.quota.measure.static.known_nodes import KnownNodes, NodeChange
from shared.quota.measure.static.using_pods import UsingPod, UsingPods
from shared.quota.model.flavor import Flavor
from shared.quota.model.membership import is_of_system
from shared.quota.model.node import ClusterNode, LargestNodes
from shared.quota.model.settings import QuotaSettings
from shared.resources import Amount, FlavorResource, key_of, sum_amounts

UseByKey = dict[FlavorResource, Amount]


class _Counted(NamedTuple):
    """A pod as it was counted."""

    is_system: bool
    flavor: str
    pod: UsingPod


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
        self.pods = UsingPods(is_managed)
        self.system: UseByKey = {}
        """Use by unmanaged pods of the group `system`, as counted last; another object when it changed."""
        self.others: UseByKey = {}
        """Use by all other unmanaged pods."""
        self.uncounted: dict[str, Exception] = {}
        """Pods that count as before because counting them has failed; who feeds this removes them."""
        self._labels_of = labels_of
        self._settings = settings
        self._nodes = KnownNodes(settings)
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
            self._dirty |= self.pods.on_node.get(name, set())

    def _note_moved(self, nodes: Iterable[str]) -> None:
        for name in nodes:
            self._moved |= {self.pods.account_of(self.pods.by_uid[uid]) for uid in self.pods.on_node.get(name, ())}

    def take_moved(self) -> set[str]:
        """Return the accounts of which `on_closed_nodes` may have changed since the last call."""
        moved, self._moved = self._moved, set()
        return moved

    def on_closed_nodes(self, account: str) -> Mapping[FlavorResource, Amount]:
        """Return what the pods of a workload hold on nodes that take no more pods; nothing where nodes do not decide.

        `account`: a Job's uid, or a pod's key.
        """
        found: UseByKey = {}
        if not (self._nodes.closed and self.pods.owner_is_managed(account)):
            return found
        for pod in self.pods.counted_for(account):
            if pod.node in self._nodes.closed and self.pods.account_of(pod) == account:
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
        pods = map(self.pods.by_uid.__getitem__, self.pods.on_node.get(node, ()))
        return sum_amounts({**pod.request, POD_COUNT: 1} for pod in pods if not self.pods.is_managed(pod))

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
                        self._moved.add(self.pods.account_of(pod))
                if pod is not None and (pod.uid in self._counted or not self.pods.is_managed(pod)):
                    self._dirty.add(pod.uid)
            if before is not None:
                self.pods.forget(before.uid)
            if after is not None:
                self.pods.put(after)

    def observe_flavors(self, flavors: Mapping[str, Flavor]) -> None:
        """Sort nodes into flavors again, and count all pods again."""
        self._nodes.observe_flavors(flavors)
        self._note_moved(self._nodes.closed)
        self._dirty |= self.pods.by_uid.keys()

    def observe_namespaces(self, names: Iterable[str]) -> None:
        """Count the pods of namespaces again whose labels have changed."""
        for name in names:
            self._dirty |= self.pods.in_namespace.get(name, set())

    def observe_owners(self, owners: Iterable[str]) -> None:
        """Count the pods of owners again that have become managed, or are no longer."""
        for owner in owners:
            pods = self.pods.counted_for(owner)
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

    def _count_one(self, uid: str) -> _Counted | None:
        """Return the pod as it counts now; None: it is gone, managed, or on a node that is no capacity."""
        pod = self.pods.by_uid.get(uid)
        flavor = None if pod is None else self._nodes.flavor_of(pod.node)
        if pod is None or flavor is None or self.pods.is_managed(pod):
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
