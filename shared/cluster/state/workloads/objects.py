"""The objects that workloads are read from, and what is asked of them: which to write, which pods to evict. Pure."""

from collections.abc import Sequence

from shared.cluster.state.observed.job_pods import JobPods
from shared.cluster.state.sorts.registry import sort_of
from shared.cluster.state.sorts.sort import WorkloadObject
from shared.cluster.state.workloads.group_members import GroupMembers, names_of
from shared.cluster.state.workloads.object_store import ObjectStore, PodRef


class WorkloadObjects:
    """The objects of all workloads, and the pods that Jobs and objects of governed kinds have made."""

    def __init__(self, job_pods: JobPods) -> None:
        self.store = ObjectStore()
        self.members = GroupMembers()
        """The pods with which each pod group was started."""
        self._job_pods = job_pods

    def of(self, key: str) -> list[WorkloadObject]:
        """Return the owner, or the pods, of a workload that can be written; empty when it is deleted or has ended."""
        return self.store.live_of(key)

    def pods_to_evict(self, key: str) -> list[PodRef]:
        """Return the pods of a workload that the Eviction API must end: all except those that its controller ends."""
        owner = self.store.owner(key)
        if owner is None:
            pods = self.store.live_pods_of(key)
            return [PodRef.of(key, each) for each in pods if not each.metadata.is_deleting and not each.is_gated]
        # The Job controller does nothing more for a Job under deletion.
        active = self._job_pods.active(key) if owner.metadata.is_deleting else []
        return [PodRef(key, each.namespace, each.name, each.uid) for each in active]

    def members_named(self, key: str, objects: Sequence[WorkloadObject]) -> tuple[str, ...] | None:
        """The names of the workload's pods in an admission: see `AdmissionAnnotation`."""
        group = next((sort_of(each).pod_group(each) for each in objects), None)
        if group is None:
            return None
        if group != key:
            return ()
        return self.members.of(key) or names_of(each.metadata.uid for each in objects)

    def unplaced(self, key: str) -> list[str]:
        """Return why pods of the workload have no node, one text for each such pod."""
        pods = self.store.live_pods_of(key)
        own = [each.unplaced for each in pods if each.unplaced and not each.spec.node_name]
        return [*own, *self._job_pods.unplaced(key)]

    def has_pod(self, pod: PodRef) -> bool:
        """Return whether this pod still exists and has not ended."""
        return self.store.has_pod(pod.key, pod.uid) or self._job_pods.is_active(pod.key, pod.uid)

    def has_gated_pod(self, key: str) -> bool:
        """Return whether a pod of the workload is still gated."""
        return any(each.is_gated for each in self.store.live_pods_of(key))

    def started_apart(self, group: str) -> int:
        """How many pods of this group run as workloads of their own, because they were created while another ended."""
        labelled = self.store.pods_labelled(group)
        return sum(
            not each.is_gated and not each.has_ended and self.store.key_of(each.metadata.uid) != group
            for each in labelled
        )
