"""All work, as its objects say and as decisions under way will make it; only what changed is read again and told. Pure.

Work is kept by unit: a Job or a lone pod by its uid, a group of pods by its key.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from reconciler.state.assumptions import Assumptions, Mark
from reconciler.state.namespace_cache import NamespaceCache
from reconciler.state.object_store import ObjectStore, unit_of_pod
from reconciler.state.projections import FinishedJob
from reconciler.state.terminating import ORPHANED, OrphanedClaims, as_departed
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
        self, settings: QuotaSettings, neighbourhoods: NamespaceCache, admits: Callable[[str, Mapping[str, str]], bool]
    ) -> None:
        super().__init__()
        self.unadmitted_running: dict[str, Workload] = {}
        """Work that runs without an admission."""
        self.half_done: set[str] = set()
        """Pods of which some are started or evicted, and others not yet."""
        self.unready: set[str] = set()
        """Work whose pods were all ready since its start and are not any more, which it does not say yet."""
        self.problems: dict[str, tuple[str, ...]] = {}
        """What is wrong with what work says, or with where it says it."""
        self.fresh_problems: dict[str, tuple[str, ...]] = {}
        """Those of `problems` that nobody has been told of; whoever tells takes them out."""
        self.assumptions = Assumptions()
        self.taken_back = RevokedStarts()
        """Jobs suspended by their owners before the Job controller had noted their start."""
        self.unseen_pods: set[str] = set()
        """Deleted Jobs whose pods have not been seen yet; whoever begins to wait for that takes them out."""
        self._reader = WorkloadReader(settings, neighbourhoods, admits)
        self._objects = ObjectStore()
        self._finished: set[str] = set()
        self._departed: set[str] = set()
        self._orphaned = OrphanedClaims()

    # What is seen.

    def see_job(self, before: Job | FinishedJob | None, after: Job | FinishedJob | None, *, runs_pods: bool) -> None:
        """A Job appeared, changed, finished or went; `runs_pods`: pods of it occupy nodes."""
        if isinstance(after, Job):
            uid = after.metadata.uid
            self._objects.put_job(after)
            self.assumptions.see(uid, after.metadata)
            self._refresh(uid)
        elif isinstance(after, FinishedJob):
            self._finished.add(after.uid)
            self.came_or_went.add(after.uid)
            self._lose_job(after.uid)
        elif isinstance(before, FinishedJob):
            self._finished.discard(before.uid)
            self.came_or_went.add(before.uid)
        elif before is not None:
            self._delete_job(before, runs_pods=runs_pods)

    def see_pod(self, before: Pod | None, after: Pod | None) -> None:
        """A pod that may be work of its own appeared, changed or went."""
        if before is not None and (after is None or unit_of_pod(before) != unit_of_pod(after)):
            self._lose_pod(before)
        if after is not None:
            unit = unit_of_pod(after)
            self._objects.put_pod(after)
            self.assumptions.see(unit, after.metadata)
            self._refresh(unit)
            self._note_half_done(unit)

    def see_last_pod_gone(self, job: str) -> None:
        """No pod of the Job with this uid occupies a node any more."""
        if job in self._departed:
            self._departed.discard(job)
            self._set(job, None)

    def read_again(self, namespaces: set[str] | None = None) -> None:
        """What surrounds work has changed: that of these namespaces, or all."""
        for unit, each in list(self._objects.firsts()):
            if namespaces is None or each.metadata.namespace in namespaces:
                self._refresh(unit)

    def judge_admittance_again(self, groups: set[str]) -> None:
        """Which namespaces these groups admit has changed."""
        for unit in self.units_in(groups):
            self._refresh(unit)

    # What is decided.

    def assume(self, unit: str, workload: Workload, mark: Mark) -> None:
        """Count `workload` as a write under way will make it."""
        self.assumptions.make(unit, workload, mark, (each.metadata for each in self.objects(unit)))
        self._refresh(unit)

    def forget(self, unit: str, mark: Mark) -> None:
        """That write has failed: count what the watch says."""
        if self.assumptions.drop(unit, mark):
            self._refresh(unit)

    def park(self, unit: str, until: datetime) -> None:
        """Leave the unit alone until then, or until its spec has changed."""
        for each in self.objects(unit)[:1]:
            self.assumptions.park(unit, each.metadata.generation, until)
            self._refresh(unit)

    def block(self, unit: str, flavors: Iterable[str]) -> None:
        """Its pods cannot take these flavors as they are written: do not offer them until its spec has changed."""
        for each in self.objects(unit)[:1]:
            self.assumptions.block(unit, each.metadata.generation, flavors)
            self._refresh(unit)

    def end_claim(self, victim: Workload) -> None:
        """The claim ends that this victim has left."""
        unit = self.unit_of(victim)
        if victim.kind == ORPHANED and unit is not None:
            self._orphaned.end(unit, victim)
            self._set(unit, None)

    def await_no_answer(self, unit: str) -> None:
        """The Job controller has had its time to show that it saw this Job's suspension."""
        self.taken_back.forget(unit)
        self._refresh(unit)

    # What is asked.

    def knows(self, owner: str) -> bool:
        """Whether what this Job or pod uses is counted as work, or was until a moment ago."""
        return self.workload(owner) is not None or owner in self._finished

    def objects(self, unit: str) -> list[WorkloadObject]:
        """The Job, or the pods, of a unit that may be written on; nothing when it has gone or ended."""
        return self._objects.live_of(unit)

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

        The watch of pods may lag behind: pods that the Job itself told of, or that it was to get, are waited for.
        """
        uid = job.metadata.uid
        workload = self.workload(uid)
        may_run = runs_pods or job.has_pods or (workload is not None and not workload.is_answered)
        departed = as_departed(workload) if workload is not None and may_run else None
        if departed is None:
            self._lose_job(uid)
            return
        if not runs_pods:
            self.unseen_pods.add(uid)
        self._objects.lose_job(uid)
        self.assumptions.lose(uid, uid)
        self._departed.add(uid)
        self._set(uid, departed)

    def _lose_pod(self, pod: Pod) -> None:
        unit = unit_of_pod(pod)
        self._objects.lose_pod(pod)
        self.assumptions.lose(unit, pod.metadata.uid)
        if self._objects.all_of(unit):
            self._refresh(unit)
        else:
            self._note_problems(unit, ())
            self._set(unit, None)
        self._note_half_done(unit)

    def _refresh(self, unit: str) -> None:
        """Read the unit again and take note if that makes another workload of it."""
        self.unadmitted_running.pop(unit, None)
        assumed = self.assumptions.get(unit)
        if assumed is not None:
            self._set(unit, assumed)
            return
        objects = self._objects.all_of(unit)
        if not objects:
            return
        reading = self._reader.read(objects)
        workload = reading.workload
        if workload is not None:
            if reading.state is ObjectState.ADOPTED:
                self.unadmitted_running[unit] = workload
            workload = self._as_it_came_to_be(unit, objects[0], workload)
        self._note_problems(unit, reading.problems)
        self._set(unit, workload)

    def _as_it_came_to_be(self, unit: str, first: WorkloadObject, workload: Workload) -> Workload:
        """The workload in the light of what it was until now, and of what refused writes have taught."""
        before = self.workload(unit)
        if isinstance(first, Job):
            workload = self.taken_back.judge(unit, before, first, workload)
        self.unready.discard(unit)
        if workload.is_pending:
            return self.assumptions.cast_doubt(unit, workload)
        workload, is_news = with_readiness(before, workload)
        if is_news:
            self.unready.add(unit)
        return workload

    def _note_problems(self, unit: str, problems: tuple[str, ...]) -> None:
        if problems == self.problems.get(unit, ()):
            return
        if problems:
            self.problems[unit] = self.fresh_problems[unit] = problems
            self.changed = True
        else:
            del self.problems[unit]
            self.fresh_problems.pop(unit, None)

    def _set(self, unit: str, workload: Workload | None) -> None:
        for served in self._orphaned.served(workload, unit in self.assumptions):
            self._set(served, None)
        before = self.workload(unit)
        if not self.put(unit, workload) or workload is not None:
            return
        self.unadmitted_running.pop(unit, None)
        self.unready.discard(unit)
        self.taken_back.forget(unit)
        if before is not None:
            self._leave_claim(unit, before)

    def _leave_claim(self, unit: str, gone: Workload) -> None:
        """A victim is gone: if its preemptor still waits, it waits with a claim as before."""
        preemptor = None if gone.claim is None else self.workload(self.unit_named(gone.claim.preemptor) or "")
        if (
            preemptor is not None
            and gone.claim is not None
            and preemptor.preemptor_id == gone.claim.preemptor_id
            and preemptor.is_pending
        ):
            left = self._orphaned.leave(unit, gone)
            if left is not None:
                self._set(*left)

    def _note_half_done(self, unit: str) -> None:
        workload = self.workload(unit)
        pods = [each for each in self._objects.live_of(unit) if isinstance(each, Pod)]
        if workload is not None and workload.is_evicting:
            is_half_done = any(not pod.metadata.is_deleting and not pod.is_gated for pod in pods)
        else:
            is_half_done = workload is not None and not workload.is_pending and any(pod.is_gated for pod in pods)
        if is_half_done:
            self.half_done.add(unit)
            self.changed = True
        else:
            self.half_done.discard(unit)
