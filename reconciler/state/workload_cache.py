"""All workloads, as their objects say and as decisions under way will make them; only changes are read again. Pure.

The key of a workload is the uid of its Job or single pod, or namespace/name of its pod group.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from reconciler.state.assumptions import Assumptions, Mark
from reconciler.state.observed.group_members import GroupMembers, names_of
from reconciler.state.observed.job_pods import JobPods, highest, is_as_declared, request_of_active
from reconciler.state.observed.object_store import ObjectStore, PodRef
from reconciler.state.observed.projections import FinishedJob
from reconciler.state.observed.workload_reader import WorkloadObject, WorkloadReader
from reconciler.state.terminating import OrphanedClaims, as_terminating, is_orphaned
from reconciler.state.transitions import RevokedStarts, with_readiness
from reconciler.state.unwritten import AnnotationPatch, UnwrittenAnnotations
from reconciler.state.workload_index import WorkloadIndex
from shared.api.core.job import Job
from shared.api.core.pod import Pod
from shared.quota.model.job_reading import ObjectState
from shared.quota.model.pod_reading import pod_group_of
from shared.quota.model.workload import Workload


class WorkloadCache(WorkloadIndex):
    """The workloads as they count now, and the objects they were read from."""

    def __init__(self, reader: WorkloadReader, job_pods: JobPods) -> None:
        super().__init__()
        self.unadmitted_running: dict[str, Workload] = {}
        """Workloads that run without an admission."""
        self.incomplete: set[str] = set()
        """Pods of which some are started or evicted, and others not yet."""
        self.unready: set[str] = set()
        """Workloads whose pods were all ready since the start and are not any more; not yet written on them."""
        self.problems: dict[str, tuple[str, ...]] = {}
        """What is wrong with what objects say, by workload key."""
        self.new_problems: dict[str, tuple[str, ...]] = {}
        """Those of `problems` that are not reported yet; the reporter removes them."""
        self.assumptions = Assumptions()
        self.revoked_starts = RevokedStarts()
        """Jobs suspended by their owners before the Job controller had noted their start."""
        self.unseen_pods: set[str] = set()
        """Deleted Jobs whose pods have not been seen yet; the executor removes them and sets a time limit."""
        self.members = GroupMembers()
        """The pods with which each pod group was started."""
        self.unwritten = UnwrittenAnnotations()
        """Annotations that their objects have no space for."""
        self._reader = reader
        self._job_pods = job_pods
        self._objects = ObjectStore()
        self._finished: set[str] = set()
        self._terminating: set[str] = set()
        """Deleted and finished Jobs whose pods still run."""
        self._unlike_declared: set[str] = set()
        """Jobs that use something else than their template times their size."""
        self._orphaned = OrphanedClaims()

    # What the watches show.

    def see_job(self, before: Job | FinishedJob | None, after: Job | FinishedJob | None) -> None:
        """A Job appeared, changed, finished or went."""
        if isinstance(after, Job):
            uid = after.metadata.uid
            self._objects.put_job(after)
            self.assumptions.see(uid, after.metadata)
            self._refresh(uid)
        elif isinstance(after, FinishedJob):
            self._finished.add(after.uid)
            self.added_or_removed.add(after.uid)
            self._finish_job(after.uid)
        elif isinstance(before, FinishedJob):
            self._finished.discard(before.uid)
            self.added_or_removed.add(before.uid)
        elif before is not None:
            self._delete_job(before)

    def see_pod(self, before: Pod | None, after: Pod | None) -> None:
        """A pod that may be a workload of its own appeared, changed or went."""
        if after is None:
            if before is not None:
                self._lose_pod(before.metadata.uid)
            return
        key, uid = self.members.key_of(after), after.metadata.uid
        if self._objects.key_of_pod(uid) not in (None, key):
            self._lose_pod(uid)
        self._objects.put_pod(key, after)
        self.assumptions.see(key, after.metadata)
        self._refresh(key)
        if self.members.learn(after):
            self._assign_pods_again(key)

    def see_job_pods(self, job: str) -> None:
        """Pods of the Job with this uid appeared, were deleted, or ended."""
        if job in self._terminating:
            self._count_terminating(job)
        elif self._needs_recount(job):
            self._refresh(job)

    def read_again(self, namespaces: set[str] | None = None) -> None:
        """The context of these namespaces, or of all, has changed: read their workloads again."""
        for key, each in list(self._objects.firsts()):
            if namespaces is None or each.metadata.namespace in namespaces:
                self._refresh(key)

    def recheck_admittance(self, groups: set[str]) -> None:
        """Which namespaces these groups admit has changed."""
        for key in self.keys_in(groups):
            self._refresh(key)

    # What is decided.

    def assume(self, key: str, workload: Workload, mark: Mark) -> None:
        """Count `workload` as a write under way will make it."""
        if workload.admission is not None and workload.kind == "PodGroup" and self.members.of(key) is None:
            self.members.start(key, (each.metadata.uid for each in self.objects(key)))
        self.assumptions.make(key, workload, mark, (each.metadata for each in self.objects(key)))
        self._refresh(key)

    def forget(self, key: str, mark: Mark) -> None:
        """That write has failed: count what the watch shows."""
        if self.assumptions.drop(key, mark):
            self._refresh(key)

    def keep_unwritten(self, key: str, annotations: AnnotationPatch) -> None:
        """The objects have no space for these: count them as written."""
        self.unwritten.keep(key, annotations)
        self._refresh(key)

    def park(self, key: str, until: datetime) -> None:
        """Leave the workload alone until then, or until its spec has changed."""
        for each in self.objects(key)[:1]:
            self.assumptions.park(key, each.metadata.generation, until)
            self._refresh(key)

    def block(self, key: str, flavors: Iterable[str]) -> None:
        """Its pods contradict these flavors: do not offer them until its spec has changed."""
        for each in self.objects(key)[:1]:
            self.assumptions.block(key, each.metadata.generation, flavors)
            self._refresh(key)

    def end_claim(self, victim: Workload) -> None:
        """The claim ends that this victim has left."""
        key = self.key_of(victim)
        if is_orphaned(victim) and key is not None:
            self._orphaned.end(key, victim)
            self._set(key, None)

    def stop_waiting_for_answer(self, key: str) -> None:
        """The time limit has passed for the Job controller to show that it saw this Job's suspension."""
        self.revoked_starts.forget(key)
        self._refresh(key)

    # Queries.

    def knows(self, owner: str) -> bool:
        """Whether this Job or pod is counted as a workload, or was until it finished."""
        return self.workload(owner) is not None or owner in self._finished

    def objects(self, key: str) -> list[WorkloadObject]:
        """The Job, or the pods, of a workload that may be written; nothing when it has gone or ended."""
        return self._objects.live_of(key)

    def pods_to_evict(self, key: str) -> list[PodRef]:
        """The pods of a workload that the Eviction API must end: all but a Job's that its controller ends."""
        job = self._objects.job(key)
        if job is None:
            pods = [each for each in self._objects.live_of(key) if isinstance(each, Pod)]
            return [PodRef.of(key, each) for each in pods if not each.metadata.is_deleting and not each.is_gated]
        # The Job controller does nothing more for a Job that is being deleted.
        active = self._job_pods.active(key) if job.metadata.is_deleting else []
        return [PodRef(key, each.namespace, each.name, each.uid) for each in active]

    def members_named(self, key: str, objects: Sequence[WorkloadObject]) -> tuple[str, ...] | None:
        """How an admission of the workload names its pods: see `AdmissionAnnotation`."""
        group = next((pod_group_of(each) for each in objects if isinstance(each, Pod)), None)
        if group is None:
            return None
        if group != key:
            return ()
        return self.members.of(key) or names_of(each.metadata.uid for each in objects)

    def pod_set_of(self, pod: Pod) -> str:
        """The set that this pod of a group belongs to, where the group has several."""
        return self._reader.pod_set_of(pod)

    def unplaced(self, key: str) -> list[str]:
        """Why pods of the workload have no node, one text for each such pod."""
        pods = (each for each in self._objects.live_of(key) if isinstance(each, Pod))
        own = [each.unplaced for each in pods if each.unplaced and not each.spec.node_name]
        return [*own, *self._job_pods.unplaced(key)]

    def has_pod(self, pod: PodRef) -> bool:
        """Whether this pod is still there and has not ended."""
        return self._objects.has_pod(pod.key, pod.uid) or self._job_pods.is_active(pod.key, pod.uid)

    # Inside.

    def _lose_job(self, uid: str, left: Workload | None = None) -> None:
        if self._objects.lose_job(uid):
            self.assumptions.lose(uid, uid)
            self._note_problems(uid, ())
        self._drop_beside(uid)
        self._set(uid, left)

    def _drop_beside(self, uid: str) -> None:
        self._unlike_declared.discard(uid)
        self._set(_beside(uid), None)

    def _finish_job(self, uid: str) -> None:
        """A Job may be Failed while its pods still end."""
        workload, sums = self.workload(uid), self._job_pods.sums(uid)
        left = as_terminating(workload, sums.request) if workload is not None and sums is not None else None
        if left is not None:
            self._terminating.add(uid)
        self._lose_job(uid, left)

    def _count_terminating(self, job: str) -> None:
        workload, sums = self.workload(job), self._job_pods.sums(job)
        if workload is None or sums is None:
            self._terminating.discard(job)
            self._set(job, None)
        else:
            self._set(job, replace(workload, request=sums.request))

    def _needs_recount(self, job: str) -> bool:
        """Whether what the Job's pods use differs from what it was read to use, or did; False costs little."""
        workload, found = self.workload(job), self._objects.job(job)
        if workload is None or found is None:
            return False
        if job in self._unlike_declared or found.metadata.is_deleting or workload.is_pending:
            return True
        sums = self._job_pods.sums(job)
        return sums is not None and not is_as_declared(found, workload.request, sums)

    def _with_pods(self, job: Job, workload: Workload) -> Workload | None:
        """The workload as the Job's pods use it. What runs beside it, its terminating pods, is counted by itself."""
        uid = job.metadata.uid
        sums, beside = self._job_pods.sums(uid), None
        declared = workload.request
        if sums is None:
            # Nobody takes back the start time of a Job that is being deleted: without pods it has ended.
            counted = None if job.metadata.is_deleting and workload.is_evicting else workload
        elif workload.is_evicting:
            counted = replace(workload, request=highest(declared, sums.request))
        elif workload.is_pending:
            counted, last = workload, self.workload(_beside(uid)) or self.workload(uid)
            beside = None if last is None else as_terminating(replace(last, claim=None), sums.request)
        else:
            counted = replace(workload, request=request_of_active(job, declared, sums))
            beside = as_terminating(replace(workload, claim=None), sums.terminating_request)
        beside = beside if beside is not None and beside.request else None
        self._set(_beside(uid), beside)
        if beside is None and (counted is None or counted.request == declared):
            self._unlike_declared.discard(uid)
        else:
            self._unlike_declared.add(uid)
        return counted

    def _delete_job(self, job: Job) -> None:
        """A deleted Job's pods end after it: until then what it held is still used.

        The watch of pods may lag behind: pods that the Job's status counts, or that it was to get, are waited for.
        """
        uid = job.metadata.uid
        workload = self.workload(uid)
        runs_pods = uid in self._job_pods
        may_run = runs_pods or job.has_pods or (workload is not None and not workload.is_answered)
        terminating = as_terminating(workload) if workload is not None and may_run else None
        if terminating is None:
            self._lose_job(uid)
            return
        if not runs_pods:
            self.unseen_pods.add(uid)
        self._objects.lose_job(uid)
        self.assumptions.lose(uid, uid)
        self._terminating.add(uid)
        self._drop_beside(uid)
        self._set(uid, terminating)
        if runs_pods:
            self._count_terminating(uid)

    def _end_admission(self, key: str) -> None:
        """A pod group that is pending or gone has no members: what waits with its label is the group."""
        workload = self.workload(key)
        if (workload is None or workload.is_pending) and self.members.forget(key):
            self._assign_pods_again(key)

    def _assign_pods_again(self, group: str) -> None:
        """Which gated pods belong to the group has changed."""
        for pod in self._objects.pods_labelled(group):
            if self.members.key_of(pod) != self._objects.key_of_pod(pod.metadata.uid):
                self.see_pod(pod, pod)

    def _lose_pod(self, uid: str) -> None:
        key = self._objects.key_of_pod(uid)
        if key is None:
            return
        self._objects.lose_pod(uid)
        self.assumptions.lose(key, uid)
        if self._objects.all_of(key):
            self._refresh(key)
        else:
            self._note_problems(key, ())
            self._set(key, None)
            self._end_admission(key)
        self._note_incomplete(key)

    def _refresh(self, key: str) -> None:
        """Read the workload again and record it if it has changed."""
        self._count(key)
        self._note_incomplete(key)
        self._end_admission(key)

    def _count(self, key: str) -> None:
        self.unadmitted_running.pop(key, None)
        assumed = self.assumptions.get(key)
        if assumed is not None:
            self._set(key, assumed)
            return
        objects = self.unwritten.over(key, self._objects.all_of(key))
        if not objects:
            return
        reading = self._reader.read(key, objects)
        workload = reading.workload
        if workload is not None:
            if reading.state is ObjectState.ADOPTED:
                self.unadmitted_running[key] = workload
            workload = self._with_history(key, objects[0], workload)
            if isinstance(objects[0], Job):
                workload = self._with_pods(objects[0], workload)
        self._note_problems(key, reading.problems)
        self._set(key, workload)

    def _with_history(self, key: str, first: WorkloadObject, workload: Workload) -> Workload:
        """The workload, given what it was until now and what refused writes have shown."""
        before = self.workload(key)
        if isinstance(first, Job):
            workload = self.revoked_starts.judge(key, before, first, workload)
        self.unready.discard(key)
        if workload.is_pending:
            return self.assumptions.apply_failure(key, workload)
        workload, is_new = with_readiness(before, workload)
        if is_new:
            self.unready.add(key)
        return workload

    def _note_problems(self, key: str, problems: tuple[str, ...]) -> None:
        if problems == self.problems.get(key, ()):
            return
        if problems:
            self.problems[key] = self.new_problems[key] = problems
            self.changed = True
        else:
            del self.problems[key]
            self.new_problems.pop(key, None)

    def _set(self, key: str, workload: Workload | None) -> None:
        for served in self._orphaned.served(workload, key in self.assumptions):
            self._set(served, None)
        before = self.workload(key)
        if not self.put(key, workload) or workload is not None:
            return
        self.unadmitted_running.pop(key, None)
        self.unwritten.drop(key)
        self.unready.discard(key)
        self.revoked_starts.forget(key)
        if before is not None:
            self._leave_claim(key, before)

    def _leave_claim(self, key: str, gone: Workload) -> None:
        """A victim is gone: if its preemptor still waits, its claim stays."""
        preemptor = None if gone.claim is None else self.workload(self.key_named(gone.claim.preemptor) or "")
        if (
            preemptor is not None
            and gone.claim is not None
            and preemptor.preemptor_id == gone.claim.preemptor_id
            and preemptor.is_pending
        ):
            left = self._orphaned.leave(key, gone)
            if left is not None:
                self._set(*left)

    def _note_incomplete(self, key: str) -> None:
        """A write that is not seen yet is not incomplete: another one would meet what the first has changed."""
        workload = None if key in self.assumptions else self.workload(key)
        if workload is None or workload.is_pending:
            is_incomplete = False
        elif workload.is_evicting:
            is_incomplete = bool(self.pods_to_evict(key))
        else:
            is_incomplete = any(isinstance(each, Pod) and each.is_gated for each in self._objects.live_of(key))
        if is_incomplete:
            self.incomplete.add(key)
            self.changed = True
        else:
            self.incomplete.discard(key)


def _beside(uid: str) -> str:
    """The key of the terminating pods of a Job that counts by itself."""
    return f"{uid}/terminating"
