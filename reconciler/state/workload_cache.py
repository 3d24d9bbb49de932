"""All workloads, as their objects say and as decisions under way will make them; only changes are read again. Pure.

The key of a workload is the uid of its Job or single pod, or namespace/name of its pod group.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from reconciler.state.assumptions import Assumptions, Mark
from reconciler.state.namespace_cache import NamespaceCache
from reconciler.state.object_store import ObjectStore, key_of_pod
from reconciler.state.projections import FinishedJob
from reconciler.state.terminating import ORPHANED, OrphanedClaims, as_terminating
from reconciler.state.transitions import RevokedStarts, with_readiness
from reconciler.state.workload_index import WorkloadIndex
from reconciler.state.workload_reader import WorkloadObject, WorkloadReader
from shared.api.core.job import Job
from shared.api.core.pod import Pod
from shared.quota.model.job_reading import ObjectState
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.workload import Workload


class WorkloadCache(WorkloadIndex):
    """The workloads as they count now, and the objects they were read from.

    `admits` (group, labels of the namespace) says whose work a group takes.
    """

    def __init__(
        self, settings: QuotaSettings, namespaces: NamespaceCache, admits: Callable[[str, Mapping[str, str]], bool]
    ) -> None:
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
        self._reader = WorkloadReader(settings, namespaces, admits)
        self._objects = ObjectStore()
        self._finished: set[str] = set()
        self._terminating: set[str] = set()
        self._orphaned = OrphanedClaims()

    # What the watches show.

    def see_job(self, before: Job | FinishedJob | None, after: Job | FinishedJob | None, *, runs_pods: bool) -> None:
        """A Job appeared, changed, finished or went; `runs_pods`: pods of it occupy nodes."""
        if isinstance(after, Job):
            uid = after.metadata.uid
            self._objects.put_job(after)
            self.assumptions.see(uid, after.metadata)
            self._refresh(uid)
        elif isinstance(after, FinishedJob):
            self._finished.add(after.uid)
            self.added_or_removed.add(after.uid)
            self._lose_job(after.uid)
        elif isinstance(before, FinishedJob):
            self._finished.discard(before.uid)
            self.added_or_removed.add(before.uid)
        elif before is not None:
            self._delete_job(before, runs_pods=runs_pods)

    def see_pod(self, before: Pod | None, after: Pod | None) -> None:
        """A pod that may be a workload of its own appeared, changed or went."""
        if before is not None and (after is None or key_of_pod(before) != key_of_pod(after)):
            self._lose_pod(before)
        if after is not None:
            key = key_of_pod(after)
            self._objects.put_pod(after)
            self.assumptions.see(key, after.metadata)
            self._refresh(key)
            self._note_incomplete(key)

    def see_no_pods_left(self, job: str) -> None:
        """No pod of the Job with this uid occupies a node any more."""
        if job in self._terminating:
            self._terminating.discard(job)
            self._set(job, None)

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
        self.assumptions.make(key, workload, mark, (each.metadata for each in self.objects(key)))
        self._refresh(key)

    def forget(self, key: str, mark: Mark) -> None:
        """That write has failed: count what the watch shows."""
        if self.assumptions.drop(key, mark):
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
        if victim.kind == ORPHANED and key is not None:
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

    def has_pod(self, pod: Pod) -> bool:
        """Whether this pod is still there and has not ended."""
        return self._objects.has_pod(pod)

    # Inside.

    def _lose_job(self, uid: str) -> None:
        if self._objects.lose_job(uid):
            self.assumptions.lose(uid, uid)
            self._note_problems(uid, ())
        self._set(uid, None)

    def _delete_job(self, job: Job, *, runs_pods: bool) -> None:
        """A deleted Job's pods end after it: until then what it held is still used.

        The watch of pods may lag behind: pods that the Job's status counts, or that it was to get, are waited for.
        """
        uid = job.metadata.uid
        workload = self.workload(uid)
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
        self._set(uid, terminating)

    def _lose_pod(self, pod: Pod) -> None:
        key = key_of_pod(pod)
        self._objects.lose_pod(pod)
        self.assumptions.lose(key, pod.metadata.uid)
        if self._objects.all_of(key):
            self._refresh(key)
        else:
            self._note_problems(key, ())
            self._set(key, None)
        self._note_incomplete(key)

    def _refresh(self, key: str) -> None:
        """Read the workload again and record it if it has changed."""
        self.unadmitted_running.pop(key, None)
        assumed = self.assumptions.get(key)
        if assumed is not None:
            self._set(key, assumed)
            return
        objects = self._objects.all_of(key)
        if not objects:
            return
        reading = self._reader.read(objects)
        workload = reading.workload
        if workload is not None:
            if reading.state is ObjectState.ADOPTED:
                self.unadmitted_running[key] = workload
            workload = self._with_history(key, objects[0], workload)
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
        workload = self.workload(key)
        pods = [each for each in self._objects.live_of(key) if isinstance(each, Pod)]
        if workload is not None and workload.is_evicting:
            is_incomplete = any(not pod.metadata.is_deleting and not pod.is_gated for pod in pods)
        else:
            is_incomplete = workload is not None and not workload.is_pending and any(pod.is_gated for pod in pods)
        if is_incomplete:
            self.incomplete.add(key)
            self.changed = True
        else:
            self.incomplete.discard(key)
