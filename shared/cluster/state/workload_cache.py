"""All workloads, as their objects say and as decisions under way will make them; only changes are read again. Pure.

The key of a workload is the uid of its Job or single pod, namespace/name of its pod group, or uid@namespace of its
object of a governed kind.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from shared.api.core.job import Job
from shared.api.core.pod import Pod
from shared.cluster.state.assumptions import Mark
from shared.cluster.state.delays import Delay
from shared.cluster.state.faults.register import Faults
from shared.cluster.state.observed.job_pods import JobPods
from shared.cluster.state.observed.projections import FinishedOwner
from shared.cluster.state.observed.workload_reader import WorkloadReader
from shared.cluster.state.sorts.registry import owner_sort_of
from shared.cluster.state.sorts.sort import Owner
from shared.cluster.state.strays import Strays
from shared.cluster.state.terminating import as_terminating, is_orphaned
from shared.cluster.state.unwritten import AnnotationPatch
from shared.cluster.state.workload_readings import WorkloadReadings, beside
from shared.quota.model.read.pods import pod_group_of
from shared.quota.model.workload import Workload


class WorkloadCache(WorkloadReadings):
    """Turns what the watches report and what is decided into changes of the workloads."""

    def __init__(self, reader: WorkloadReader, job_pods: JobPods, faults: Faults) -> None:
        super().__init__(reader, job_pods, faults)
        self.unseen_pods: set[str] = set()
        """Deleted owners of pods whose pods have not been seen yet; the executor removes them and sets a time limit."""
        self._finished: set[str] = set()
        self._terminating: set[str] = set()
        """Deleted and finished owners whose pods still run."""
        self.strays = Strays(self._accounts_for_its_pods, job_pods)

    # What the watches report.

    def observe_owner(self, before: Owner | FinishedOwner | None, after: Owner | FinishedOwner | None) -> None:
        """Process a change of a Job or an object of a governed kind."""
        if isinstance(after, FinishedOwner):
            self._finished.add(after.key)
            self.added_or_removed.add(after.key)
            self._finish_owner(after.key)
        elif after is not None:
            key = owner_sort_of(after).key_of(after)
            self._forget_end(key)
            self._objects.put_owner(key, after)
            self.assumptions.see(key, after.metadata)
            self._refresh(key)
        elif isinstance(before, FinishedOwner):
            self._finished.discard(before.key)
            self.added_or_removed.add(before.key)
            self._judge_strays(before.key)
        elif before is not None:
            self._delete_owner(owner_sort_of(before).key_of(before), before)

    def observe_pod(self, before: Pod | None, after: Pod | None) -> None:
        """Process a change of a pod that might be a workload of its own."""
        if after is None:
            if before is not None:
                self._lose_pod(before.metadata.uid)
            return
        key, uid = self.members.key_of(after), after.metadata.uid
        if self._objects.key_of(uid) not in (None, key):
            self._lose_pod(uid)
        self._objects.put_pod(key, after)
        self.assumptions.see(key, after.metadata)
        self._refresh(key)
        if self.members.learn(after):
            self._assign_pods_again(key)
        for each in (before, after):
            self._refresh_group_of(each, key)

    def observe_job_pods(self, job: str) -> None:
        """Process a change of the pods of the Job, or object of a governed kind, with this key."""
        if job in self._terminating:
            self._count_terminating(job)
        elif self._needs_recount(job):
            self._refresh(job)
        else:
            self._judge_strays(job)

    def read_again(self, namespaces: set[str] | None = None) -> None:
        """Read the workloads of these namespaces, or of all, again: their context has changed."""
        for key, each in list(self._objects.firsts()):
            if namespaces is None or each.metadata.namespace in namespaces:
                self._refresh(key)

    def read_users_again(self, owners: Iterable[str]) -> None:
        """Read these owners again: the devices that their pods would use have changed."""
        for key in owners:
            self._refresh(key)

    def recheck_admittance(self, groups: set[str]) -> None:
        """Read workloads of these groups again: the namespaces that they admit have changed."""
        for key in self.keys_in(groups):
            self._refresh(key)

    def read_alone(self, job: Job) -> Workload | None:
        """Return the workload that a Job would be that is not counted."""
        return self._reader.read(job.metadata.uid, [job]).workload

    # What is decided.

    def assume(self, key: str, workload: Workload, mark: Mark) -> None:
        """Count `workload` as a pending write will change it."""
        if workload.admission is not None and workload.kind == "PodGroup" and self.members.of(key) is None:
            self.members.start(key, (each.metadata.uid for each in self.objects(key)))
        self.assumptions.make(key, workload, mark, (each.metadata for each in self.objects(key)))
        self._refresh(key)

    def forget(self, key: str, mark: Mark, failed: Iterable[str] | None = None) -> None:
        """Count what the watch reports: the write has failed on the objects with these uids; None: on all."""
        if self.assumptions.drop(key, mark, failed):
            self._refresh(key)

    def keep_unwritten(self, key: str, annotations: AnnotationPatch) -> None:
        """Count these annotations as written: the objects have no space for them."""
        self.unwritten.keep(key, annotations)
        self._refresh(key)

    def park(self, key: str, until: datetime) -> None:
        """Do not write the workload until then, or until its spec has changed."""
        for each in self.objects(key)[:1]:
            self.assumptions.park(key, each.metadata.generation, until)
            self._refresh(key)

    def block(self, key: str, flavors: Iterable[str]) -> None:
        """Its pods contradict these flavors: do not offer them until its spec has changed."""
        for each in self.objects(key)[:1]:
            self.assumptions.block(key, each.metadata.generation, flavors)
            self._refresh(key)

    def end_claim(self, victim: Workload) -> None:
        """End the claim of this victim."""
        key = self.key_of(victim)
        if is_orphaned(victim) and key is not None:
            self._orphaned.end(key, victim)
            self._set(key, None)

    def stop_waiting_for_answer(self, delay: Delay) -> None:
        """The time limit has passed for its controller to acknowledge the suspension of this object."""
        self.revoked_starts.give_up(delay)
        self._refresh(delay.key)

    def stop_waiting_for_more_pods(self, delay: Delay) -> None:
        """The time limit has passed for this stopped object of a governed kind to show more pods."""
        self.early_stops.give_up(delay)
        self._refresh(delay.key)

    def stop_waiting_for_strays(self, owner: str) -> None:
        """The time limit has passed for the pods of this controller, which does not account for them, to end."""
        if self.strays.stop_waiting(owner):
            self.added_or_removed.add(owner)

    def knows(self, owner: str) -> bool:
        """Return whether this owner of pods, or pod, is counted as a workload, or was until it finished."""
        return self.workload(owner) is not None or owner in self._finished

    def accounts_for(self, owner: str) -> bool:
        """Return whether the use of this pod, or of the pods of this owner, is that of a workload."""
        return self.knows(owner) and owner not in self.strays

    def is_made(self, owner: str) -> bool:
        """Return whether this object says that it was made for another one."""
        found = self._objects.owner(owner)
        return found is not None and bool(found.metadata.unit)

    # Internal.

    def _refresh(self, key: str) -> None:
        """Read the workload again and record it if it has changed."""
        self._count(key)
        self._note_incomplete(key)
        self._end_admission(key)
        self._judge_strays(key)

    def _judge_strays(self, key: str) -> None:
        if self.strays.see(key):
            self.added_or_removed.add(key)

    def _accounts_for_its_pods(self, key: str) -> bool:
        workload = self.workload(key)
        if workload is None:
            return key not in self._finished
        return not workload.is_pending or self.workload(beside(key)) is not None

    def _forget_end(self, key: str) -> None:
        """It might have ended before: its kind was not installed for a moment, or it no longer counts as finished."""
        self._terminating.discard(key)
        if key in self._finished:
            self._finished.discard(key)
            self.added_or_removed.add(key)

    def _lose_owner(self, key: str, left: Workload | None = None) -> None:
        owner = self._objects.lose_owner(key)
        if owner is not None:
            self.assumptions.lose(key, owner.metadata.uid)
            self._note_problems(key, ())
        self._drop_beside(key)
        self._set(key, left)

    def _drop_beside(self, key: str) -> None:
        self._unlike_declared.discard(key)
        self._set(beside(key), None)

    def _finish_owner(self, key: str) -> None:
        """A Job may be Failed, and another object finished, while its pods still end."""
        workload, sums = self.workload(key), self._job_pods.sums(key)
        left = as_terminating(workload, sums.request) if workload is not None and sums is not None else None
        if left is not None:
            self._terminating.add(key)
        self._lose_owner(key, left)
        self._judge_strays(key)

    def _count_terminating(self, job: str) -> None:
        workload, sums = self.workload(job), self._job_pods.sums(job)
        if workload is None or sums is None:
            self._terminating.discard(job)
            self._set(job, None)
            self._judge_strays(job)
        else:
            self._set(job, replace(workload, request=sums.request))

    def _needs_recount(self, job: str) -> bool:
        """Return whether the Job's pods use something else than was read, now or before; False is cheap."""
        workload, found = self.workload(job), self._objects.owner(job)
        if workload is None or found is None:
            return False
        if (
            job in self._unlike_declared
            or found.metadata.is_deleting
            or workload.is_pending
            or not workload.is_answered
        ):
            return True
        return owner_sort_of(found).is_use_changed(found, workload, self._job_pods.sums(job))

    def _delete_owner(self, key: str, owner: Owner) -> None:
        """Process the deletion of an owner: its quota is used until its pods have ended.

        The watch of pods might lag: pods in the status of the Job, or that it was about to create, are waited for.
        """
        workload = self.workload(key)
        runs_pods = key in self._job_pods
        had_pods = owner_sort_of(owner).may_have_pods(owner)
        may_run = runs_pods or had_pods or (workload is not None and not workload.is_answered)
        terminating = as_terminating(workload) if workload is not None and may_run else None
        if terminating is None:
            self._lose_owner(key)
            return
        if not runs_pods:
            self.unseen_pods.add(key)
        self._objects.lose_owner(key)
        self.assumptions.lose(key, owner.metadata.uid)
        self._terminating.add(key)
        self._drop_beside(key)
        self._set(key, terminating)
        if runs_pods:
            self._count_terminating(key)

    def _lose_pod(self, uid: str) -> None:
        key = self._objects.key_of(uid)
        if key is None:
            return
        pod = self._objects.lose_pod(uid)
        self.assumptions.lose(key, uid)
        if self._objects.all_of(key):
            self._refresh(key)
        else:
            self._note_problems(key, ())
            self._set(key, None)
            self._end_admission(key)
        self._note_incomplete(key)
        self._refresh_group_of(pod, key)

    def _refresh_group_of(self, pod: Pod | None, key: str) -> None:
        """The group of a pod that is a workload of its own: it waits for as many pods less as run apart from it."""
        group = None if pod is None else pod_group_of(pod)
        if group not in (None, key) and self._objects.all_of(str(group)):
            self._refresh(str(group))

    def _end_admission(self, key: str) -> None:
        """Drop the members of a pod group that is pending or gone: all pods with its label belong to the group."""
        workload = self.workload(key)
        if (workload is None or workload.is_pending) and self.members.forget(key):
            self._assign_pods_again(key)

    def _assign_pods_again(self, group: str) -> None:
        """Which gated pods belong to the group has changed."""
        for pod in self._objects.pods_labelled(group):
            if self.members.key_of(pod) != self._objects.key_of(pod.metadata.uid):
                self.observe_pod(pod, pod)
