"""Turns what the watches report of owners and pods into changes of the workloads. Pure."""

from collections.abc import Iterable

from shared.api.core.pod import Pod
from shared.cluster.state.observed.projections import FinishedOwner
from shared.cluster.state.sorts.registry import owner_sort_of
from shared.cluster.state.sorts.sort import Owner
from shared.cluster.state.workloads.owners import OwnersOfPods
from shared.cluster.state.workloads.readings import WorkloadReadings
from shared.quota.model.read.pods import pod_group_of


class ObservedWorkloads:
    """What is observed, and which workloads are read again for it."""

    def __init__(self, readings: WorkloadReadings, owners: OwnersOfPods) -> None:
        self._readings = readings
        self._owners = owners
        self._index = readings.index
        self._objects = readings.objects
        self._assumptions = readings.overlay.assumptions

    def owner(self, before: Owner | FinishedOwner | None, after: Owner | FinishedOwner | None) -> None:
        """Process a change of a Job or an object of a governed kind."""
        if isinstance(after, FinishedOwner):
            self._owners.finish(after.key)
        elif after is not None:
            key = owner_sort_of(after).key_of(after)
            self._owners.put(key, after)
            self._assumptions.see(key, after.metadata)
            self.refresh(key)
        elif isinstance(before, FinishedOwner):
            self._owners.drop_finished(before.key)
        elif before is not None:
            self._owners.delete(owner_sort_of(before).key_of(before), before)

    def pod(self, before: Pod | None, after: Pod | None) -> None:
        """Process a change of a pod that might be a workload of its own."""
        if after is None:
            if before is not None:
                self._lose_pod(before.metadata.uid)
            return
        key, uid = self._objects.members.key_of(after), after.metadata.uid
        if self._objects.store.key_of(uid) not in (None, key):
            self._lose_pod(uid)
        self._objects.store.put_pod(key, after)
        self._assumptions.see(key, after.metadata)
        self.refresh(key)
        if self._objects.members.learn(after):
            self._assign_pods_again(key)
        for each in (before, after):
            self._refresh_group_of(each, key)

    def job_pods(self, job: str) -> None:
        """Process a change of the pods of the Job, or object of a governed kind, with this key."""
        if self._owners.is_terminating(job):
            self._owners.count_terminating(job)
        elif self._owners.needs_recount(job):
            self.refresh(job)
        else:
            self._owners.judge_strays(job)

    def read_namespaces_again(self, namespaces: set[str] | None = None) -> None:
        """Read the workloads of these namespaces, or of all, again: their context has changed."""
        for key, each in list(self._objects.store.firsts()):
            if namespaces is None or each.metadata.namespace in namespaces:
                self.refresh(key)

    def read_again(self, keys: Iterable[str]) -> None:
        """Read these workloads again: something that they name has changed."""
        for key in keys:
            self.refresh(key)

    def refresh(self, key: str) -> None:
        """Read the workload again and record it if it has changed."""
        self._readings.count(key)
        self._readings.note_incomplete(key)
        self._end_admission(key)
        self._owners.judge_strays(key)

    def _lose_pod(self, uid: str) -> None:
        store = self._objects.store
        key = store.key_of(uid)
        if key is None:
            return
        pod = store.lose_pod(uid)
        self._assumptions.lose(key, uid)
        if store.all_of(key):
            self.refresh(key)
        else:
            self._readings.follow_ups.set_problems(key, ())
            self._readings.put(key, None)
            self._end_admission(key)
        self._readings.note_incomplete(key)
        self._refresh_group_of(pod, key)

    def _refresh_group_of(self, pod: Pod | None, key: str) -> None:
        """The group of a pod that is a workload of its own: it waits for as many pods less as run apart from it."""
        group = None if pod is None else pod_group_of(pod)
        if group not in (None, key) and self._objects.store.all_of(str(group)):
            self.refresh(str(group))

    def _end_admission(self, key: str) -> None:
        """Drop the members of a pod group that is pending or gone: all pods with its label belong to the group."""
        workload = self._index.workload(key)
        if (workload is None or workload.is_pending) and self._objects.members.forget(key):
            self._assign_pods_again(key)

    def _assign_pods_again(self, group: str) -> None:
        """Which gated pods belong to the group has changed."""
        for pod in self._objects.store.pods_labelled(group):
            if self._objects.members.key_of(pod) != self._objects.store.key_of(pod.metadata.uid):
                self.pod(pod, pod)
