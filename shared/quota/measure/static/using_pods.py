"""Pods that occupy nodes: what is read of each, and which of them are part of a workload."""

from collections.abc import Callable, Mapping
from datetime import datetime

import msgspec

from shared.api.core.pod import Pod, PodResourceClaim
from shared.api.names import GROUP_LABEL, POD_SET_LABEL
from shared.quota.model.read.pods import account_of, started_group_of
from shared.resources import Amount


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


class UsingPods:
    """Pods by uid, and the uids of those on a node, in a namespace, or of an owner.

    `is_managed` (a Job's uid, or a pod's key): whether it is counted as a workload.
    """

    def __init__(self, is_managed: Callable[[str], bool]) -> None:
        self.owner_is_managed = is_managed
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

    def is_managed(self, pod: UsingPod) -> bool:
        """Return whether it is managed: by its Job or pod group, or, if it joined that later, by itself."""
        return self.owner_is_managed(pod.owner) or self.owner_is_managed(pod.uid)

    def account_of(self, pod: UsingPod) -> str:
        """Return which workload counts a managed pod: itself, if it joined its group later, or its owner."""
        return pod.uid if self.owner_is_managed(pod.uid) else pod.owner

    def name_of(self, uid: str) -> str:
        """Return namespace/name of a pod; empty once it is gone."""
        pod = self.by_uid.get(uid)
        return "" if pod is None else f"{pod.namespace}/{pod.name}"

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
