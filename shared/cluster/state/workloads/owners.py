"""Jobs and objects of governed kinds: their quota is used until the last of their pods has ended. Pure."""

from dataclasses import replace

from shared.cluster.state.expected.strays import Strays
from shared.cluster.state.observed.terminating import as_terminating
from shared.cluster.state.sorts.registry import owner_sort_of
from shared.cluster.state.sorts.sort import Owner
from shared.cluster.state.workloads.readings import WorkloadReadings, beside
from shared.quota.model.workload import Workload


class OwnersOfPods:
    """The owners of pods, from their creation until the last pod has ended."""

    def __init__(self, readings: WorkloadReadings) -> None:
        self.unseen_pods: set[str] = set()
        """Deleted owners of pods whose pods have not been seen yet; the executor removes them and sets a time limit."""
        self.strays = Strays(self._accounts_for_its_pods, readings.job_pods)
        self._finished: set[str] = set()
        self._terminating: set[str] = set()
        """Deleted and finished owners whose pods still run."""
        self._readings = readings
        self._index = readings.index
        self._store = readings.objects.store
        self._job_pods = readings.job_pods

    # Queries.

    def knows(self, owner: str) -> bool:
        """Return whether this owner of pods, or pod, is counted as a workload, or was until it finished."""
        return self._index.workload(owner) is not None or owner in self._finished

    def accounts_for(self, owner: str) -> bool:
        """Return whether the use of this pod, or of the pods of this owner, is that of a workload."""
        return self.knows(owner) and owner not in self.strays

    def is_made(self, owner: str) -> bool:
        """Return whether this object says that it was made for another one."""
        found = self._store.owner(owner)
        return found is not None and bool(found.metadata.unit)

    def is_terminating(self, owner: str) -> bool:
        """Return whether only its pods still count."""
        return owner in self._terminating

    def needs_recount(self, owner: str) -> bool:
        """Return whether its pods use something else than was read, now or before; False is cheap."""
        workload, found = self._index.workload(owner), self._store.owner(owner)
        if workload is None or found is None:
            return False
        if (
            owner in self._readings.unlike_declared
            or found.metadata.is_deleting
            or workload.is_pending
            or workload.is_evicting
            or not workload.is_answered
        ):
            return True
        return owner_sort_of(found).is_use_changed(found, workload, self._job_pods.sums(owner))

    def _accounts_for_its_pods(self, key: str) -> bool:
        workload = self._index.workload(key)
        if workload is None:
            return key not in self._finished
        return not workload.is_pending or self._index.workload(beside(key)) is not None

    # What the watches report.

    def put(self, key: str, owner: Owner) -> None:
        """Process an owner that is there.

        It might have ended before: its kind was not installed for a moment, or it no longer counts as finished.
        """
        self._terminating.discard(key)
        if key in self._finished:
            self._finished.discard(key)
            self._index.added_or_removed.add(key)
        self._store.put_owner(key, owner)

    def finish(self, key: str) -> None:
        """Process the end of an owner. A Job may be Failed, and another object finished, while its pods still end."""
        self._finished.add(key)
        self._index.added_or_removed.add(key)
        workload, sums = self._index.workload(key), self._job_pods.sums(key)
        left = None if workload is None or sums is None else as_terminating(workload, sums.request, sums.pods)
        if left is not None:
            self._terminating.add(key)
        self._lose(key, left)
        self.judge_strays(key)

    def drop_finished(self, key: str) -> None:
        """Process the deletion of an owner that had finished."""
        self._finished.discard(key)
        self._index.added_or_removed.add(key)
        self.judge_strays(key)

    def delete(self, key: str, owner: Owner) -> None:
        """Process the deletion of an owner: its quota is used until its pods have ended.

        The watch of pods might lag: pods in the status of the Job, or that it was about to create, are waited for.
        """
        workload = self._index.workload(key)
        runs_pods = key in self._job_pods
        had_pods = owner_sort_of(owner).may_have_pods(owner)
        may_run = runs_pods or had_pods or (workload is not None and not workload.is_answered)
        terminating = as_terminating(workload) if workload is not None and may_run else None
        if terminating is None:
            self._lose(key)
            return
        if not runs_pods:
            self.unseen_pods.add(key)
        self._store.lose_owner(key)
        self._readings.reader.known_jobs.forget(key)
        self._readings.follow_ups.want_pod_group(key, None)
        self._readings.overlay.assumptions.lose(key, owner.metadata.uid)
        self._terminating.add(key)
        self._drop_beside(key)
        self._readings.put(key, terminating)
        if runs_pods:
            self.count_terminating(key)

    def count_terminating(self, key: str) -> None:
        """Count the pods that an owner has left, as they are now."""
        workload, sums = self._index.workload(key), self._job_pods.sums(key)
        if workload is None or sums is None:
            self._terminating.discard(key)
            self._readings.put(key, None)
            self.judge_strays(key)
        else:
            self._readings.put(key, replace(workload, request=sums.request, pods=sums.pods))

    def judge_strays(self, key: str) -> None:
        """Look again whether the owner accounts for its pods."""
        if self.strays.see(key):
            self._index.added_or_removed.add(key)

    def stop_waiting_for_strays(self, owner: str) -> None:
        """The time limit has passed for the pods of this controller, which does not account for them, to end."""
        if self.strays.stop_waiting(owner):
            self._index.added_or_removed.add(owner)

    def _lose(self, key: str, left: Workload | None = None) -> None:
        owner = self._store.lose_owner(key)
        self._readings.reader.known_jobs.forget(key)
        if owner is not None:
            self._readings.overlay.assumptions.lose(key, owner.metadata.uid)
            self._readings.follow_ups.set_problems(key, ())
            self._readings.follow_ups.want_pod_group(key, None)
        self._drop_beside(key)
        self._readings.put(key, left)

    def _drop_beside(self, key: str) -> None:
        self._readings.unlike_declared.discard(key)
        self._readings.put(beside(key), None)
