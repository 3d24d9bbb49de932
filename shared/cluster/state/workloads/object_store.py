"""The objects of workloads, by workload key: Jobs, objects of governed kinds, pods. Pure."""

from collections.abc import Iterator
from typing import NamedTuple, Self

from shared.api.core.pod import Pod
from shared.cluster.state.sorts.registry import sort_of
from shared.cluster.state.sorts.sort import Owner, WorkloadObject
from shared.quota.model.read.pods import pod_group_of


class PodRef(NamedTuple):
    """A pod to evict, and its workload."""

    key: str
    namespace: str
    name: str
    uid: str

    @classmethod
    def of(cls, key: str, pod: Pod) -> Self:
        """This pod of the workload."""
        return cls(key, pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)


class ObjectStore:
    """The objects as the watches last reported them."""

    def __init__(self) -> None:
        self._owners: dict[str, Owner] = {}
        self._pods: dict[str, dict[str, Pod]] = {}
        self._key_of: dict[str, str] = {}
        """By uid, the workload that a pod, or an object of a governed kind, is stored under."""
        self._labelled: dict[str, dict[str, Pod]] = {}
        """By pod group, the pods with its label."""

    def put_owner(self, key: str, owner: Owner) -> None:
        """Add or replace it."""
        self._owners[key] = owner
        if key != owner.metadata.uid:
            self._key_of[owner.metadata.uid] = key

    def lose_owner(self, key: str) -> Owner | None:
        """Remove it and return it."""
        owner = self._owners.pop(key, None)
        if owner is not None:
            self._key_of.pop(owner.metadata.uid, None)
        return owner

    def put_pod(self, key: str, pod: Pod) -> None:
        """Add or replace it as a pod of this workload; it must not be stored under another."""
        self._remove_label(self._pods.get(key, {}).get(pod.metadata.uid))
        self._pods.setdefault(key, {})[pod.metadata.uid] = pod
        self._key_of[pod.metadata.uid] = key
        group = pod_group_of(pod)
        if group is not None:
            self._labelled.setdefault(group, {})[pod.metadata.uid] = pod

    def key_of(self, uid: str) -> str | None:
        """Return the workload that a pod, or an object of a governed kind, is stored under."""
        return self._key_of.get(uid)

    def lose_pod(self, uid: str) -> Pod | None:
        """Remove it and return it."""
        key = self._key_of.pop(uid, "")
        members = self._pods.get(key, {})
        pod = members.pop(uid, None)
        if not members:
            self._pods.pop(key, None)
        self._remove_label(pod)
        return pod

    def _remove_label(self, pod: Pod | None) -> None:
        """Remove it from the pods with the label of its pod group."""
        group = None if pod is None else pod_group_of(pod)
        if pod is not None and group is not None:
            labelled = self._labelled[group]
            labelled.pop(pod.metadata.uid, None)
            if not labelled:
                del self._labelled[group]

    def all_of(self, key: str) -> list[WorkloadObject]:
        """Return the owner, or the pods, of a workload; for a pod group also those that have ended before others."""
        owner = self._owners.get(key)
        return [owner] if owner is not None else list(self._pods.get(key, {}).values())

    def live_of(self, key: str) -> list[WorkloadObject]:
        """Return the objects that can be written; empty when the workload is deleted or has ended."""
        return [each for each in self.all_of(key) if sort_of(each).is_live(each)]

    def live_pods_of(self, key: str) -> list[Pod]:
        """Return the pods that are a workload, alone or as a group, and have not ended; none of an owner's."""
        return [each for each in self._pods.get(key, {}).values() if sort_of(each).is_live(each)]

    def owner(self, key: str) -> Owner | None:
        """Return the Job, or the object of a governed kind, of the workload."""
        return self._owners.get(key)

    def has_pod(self, key: str, uid: str) -> bool:
        """Return whether this pod of the workload still exists and has not ended."""
        found = self._pods.get(key, {}).get(uid)
        return found is not None and not found.has_ended

    def pods_labelled(self, group: str) -> list[Pod]:
        """Return the pods with the label of this pod group, members or not."""
        return list(self._labelled.get(group, {}).values())

    def firsts(self) -> Iterator[tuple[str, WorkloadObject]]:
        """Yield every workload key, with one of its objects."""
        yield from self._owners.items()
        for key, members in self._pods.items():
            yield key, next(iter(members.values()))
