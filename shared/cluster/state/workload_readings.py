"""Workloads read from their objects: each is read again when one of them changes, and recorded as it counts now. Pure.

What counts is what the objects say, overlaid with decisions under way, with annotations that could not be stored, and
with what the pods of a Job really use.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from shared.api.core.pod import Pod
from shared.cluster.state.assumptions import Assumptions
from shared.cluster.state.faults.register import WORKLOAD, Fault, Faults, Subject
from shared.cluster.state.faults.stand_ins import stand_in
from shared.cluster.state.observed.group_members import GroupMembers, names_of
from shared.cluster.state.observed.job_pods import JobPods
from shared.cluster.state.observed.object_store import ObjectStore, PodRef
from shared.cluster.state.observed.pod_replacement import PolicyChange
from shared.cluster.state.observed.workload_reader import WorkloadReader
from shared.cluster.state.sorts.registry import sort_of
from shared.cluster.state.sorts.sort import WorkloadObject
from shared.cluster.state.terminating import OrphanedClaims
from shared.cluster.state.transitions import EarlyStops, RevokedStarts, with_readiness
from shared.cluster.state.unwritten import UnwrittenAnnotations
from shared.cluster.state.workload_index import WorkloadIndex
from shared.quota.measure.inputs.workload_set import KINDS
from shared.quota.model.read.jobs import ObjectState, Reading
from shared.quota.model.workload import Claim, Workload, WorkloadId


class WorkloadReadings(WorkloadIndex):
    """The workloads as they count now, and the objects they are read from; `WorkloadCache` says which changed."""

    def __init__(self, reader: WorkloadReader, job_pods: JobPods, faults: Faults) -> None:
        super().__init__()
        self.faults = faults
        self.unadmitted_running: dict[str, Workload] = {}
        """Workloads that run without an admission."""
        self.incomplete: set[str] = set()
        """Pods of which some are started or evicted, and others not yet."""
        self.unready: set[str] = set()
        """Workloads whose pods were all ready since the start and are not any more; not yet written on them."""
        self.policy_changes: dict[str, PolicyChange] = {}
        """Started Jobs that need another podReplacementPolicy."""
        self.kept_start_times: set[str] = set()
        """Suspended Jobs whose start time Kubernetes has not reset."""
        self.problems: dict[str, tuple[str, ...]] = {}
        """What is wrong with what objects say, by workload key."""
        self.new_problems: dict[str, tuple[str, ...]] = {}
        """Those of `problems` that are not reported yet; the reporter removes them."""
        self.assumptions = Assumptions()
        self.revoked_starts = RevokedStarts()
        """Owners of pods suspended before their controllers had noted their start."""
        self.early_stops = EarlyStops()
        """Objects of governed kinds stopped before all their pods were seen."""
        self.members = GroupMembers()
        """The pods with which each pod group was started."""
        self.unwritten = UnwrittenAnnotations()
        """Annotations that their objects have no space for."""
        self._reader = reader
        self._job_pods = job_pods
        self._objects = ObjectStore()
        self._unlike_declared: set[str] = set()
        """Jobs that use something else than their template times their size."""
        self._orphaned = OrphanedClaims()

    # Queries.

    def objects(self, key: str) -> list[WorkloadObject]:
        """Return the owner, or the pods, of a workload that can be written; empty when it is deleted or has ended."""
        return self._objects.live_of(key)

    def pods_to_evict(self, key: str) -> list[PodRef]:
        """Return the pods of a workload that the Eviction API must end: all except those that its controller ends."""
        owner = self._objects.owner(key)
        if owner is None:
            pods = self._objects.live_pods_of(key)
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

    def pod_set_of(self, pod: Pod) -> str:
        """Return the pod set of this pod, if its group has several."""
        return self._reader.pod_set_of(pod)

    def unplaced(self, key: str) -> list[str]:
        """Return why pods of the workload have no node, one text for each such pod."""
        pods = self._objects.live_pods_of(key)
        own = [each.unplaced for each in pods if each.unplaced and not each.spec.node_name]
        return [*own, *self._job_pods.unplaced(key)]

    def has_pod(self, pod: PodRef) -> bool:
        """Return whether this pod still exists and has not ended."""
        return self._objects.has_pod(pod.key, pod.uid) or self._job_pods.is_active(pod.key, pod.uid)

    # Internal.

    def _count(self, key: str) -> None:
        self.unadmitted_running.pop(key, None)
        assumed = self.assumptions.get(key)
        if assumed is not None:
            self._set(key, assumed)
            return
        objects = self.unwritten.over(key, self._objects.all_of(key))
        if not objects:
            return
        try:
            self._read(key, objects)
        except Exception as error:
            self._set_unreadable(key, objects[0], error)

    def _read(self, key: str, objects: Sequence[WorkloadObject]) -> None:
        reading = self._awaiting_its_group(key, objects, self._reader.read(key, objects, self._started_apart(key)))
        workload = reading.workload
        self._note_start_time(key, objects[0], workload)
        if workload is not None:
            if reading.state is ObjectState.ADOPTED:
                self.unadmitted_running[key] = workload
            workload = self._with_history(key, objects[0], workload)
            self._note_policy_change(key, objects[0], workload)
            workload = self._with_pods(key, objects[0], workload)
        self._note_problems(key, reading.problems)
        self._set(key, workload)

    def _set_unreadable(self, key: str, first: WorkloadObject, error: Exception) -> None:
        """Count as little as possible of a workload whose objects cannot be read, until they change.

        Of what has never been read, the pods count as those of other programs do.
        """
        before, metadata = self.workload(key), first.metadata
        kind, group = (type(first).__name__, "") if before is None else (before.kind, before.group)
        name = f"{metadata.namespace}/{metadata.name}"
        fault = Fault.of(Subject(kind, name, metadata.uid, group), error)
        instead = None if before is None else stand_in(before, fault.message)
        self._set(key, instead)
        self.faults.set_aside(WORKLOAD, key, fault, error, instead)

    def set_aside(self, key: str, workload: Workload, error: Exception) -> None:
        """Count as little as possible of a workload on which a step fails, until it changes."""
        fault = Fault.of(self.subject_of(key), error)
        self.faults.set_aside(WORKLOAD, key, fault, workload, stand_in(workload, fault.message))
        self.assumptions.abandon(key)
        self._count(key)

    def subject_of(self, key: str) -> Subject:
        """Return how a fault names this workload."""
        found = self.workload(key)
        return Subject(WORKLOAD, key, key) if found is None else Subject(found.kind, found.key, found.uid, found.group)

    @contextmanager
    def set_aside_if_fails(self, key: str) -> Iterator[None]:
        """Set the workload aside if this block fails: it is about nothing else."""
        try:
            yield
        except Exception as error:
            workload = self.workload(key)
            if workload is None:
                self.faults.note(self.subject_of(key), error)
            else:
                self.set_aside(key, workload, error)

    def _started_apart(self, group: str) -> int:
        """How many pods of this group run as workloads of their own, because they were created while another ended."""
        labelled = self._objects.pods_labelled(group)
        return sum(
            not each.is_gated and not each.has_ended and self._objects.key_of(each.metadata.uid) != group
            for each in labelled
        )

    def _awaiting_its_group(self, key: str, objects: Sequence[WorkloadObject], reading: Reading) -> Reading:
        """A replacement pod of a group that is being stopped starts with the group's next pods, not alone."""
        first, workload = objects[0], reading.workload
        group = sort_of(first).pod_group(first) if sort_of(first).is_gated(first) else None
        ending = None if group is None or group == key else self.workload(group)
        if workload is None or ending is None or not ending.is_evicting:
            return reading
        problem = "the pods that it replaces are ending; it waits for the others of its pod group"
        return Reading(reading.state, replace(workload, hold=True, hold_reason=problem), (*reading.problems, problem))

    def _with_history(self, key: str, first: WorkloadObject, workload: Workload) -> Workload:
        """Return the workload, given what it was until now and what refused writes have shown."""
        before = None if self.faults.is_aside(WORKLOAD, key) else self.workload(key)
        if sort_of(first).can_be_revoked:
            workload = self.revoked_starts.judge(key, before, first, workload)
        if sort_of(first).may_stop_early:
            workload = self.early_stops.judge(key, before, first, self._reader.pods_of(key), workload)
        self.unready.discard(key)
        if workload.is_pending:
            return self.assumptions.apply_failure(key, workload)
        workload, is_new = with_readiness(before, workload)
        if is_new:
            self.unready.add(key)
        return workload

    def _with_pods(self, key: str, first: WorkloadObject, workload: Workload) -> Workload | None:
        """Return the workload as its pods use it.

        Its terminating pods are counted as a workload of their own.
        """
        last = self.workload(beside(key)) or self.workload(key)
        use = sort_of(first).use(first, workload, self._job_pods.sums(key), last)
        if use is None:
            return workload
        self._set(beside(key), use.beside)
        if use.beside is None and (use.counted is None or use.counted.request == workload.request):
            self._unlike_declared.discard(key)
        else:
            self._unlike_declared.add(key)
        return use.counted

    def _note_policy_change(self, key: str, first: WorkloadObject, workload: Workload) -> None:
        change = sort_of(first).policy_change(first, workload, self._job_pods.sums(key), self._reader.now())
        if change is None:
            self.policy_changes.pop(key, None)
        elif self.policy_changes.get(key) != change:
            self.policy_changes[key] = change
            self.changed = True

    def _note_problems(self, key: str, problems: tuple[str, ...]) -> None:
        if problems == self.problems.get(key, ()):
            return
        if problems:
            self.problems[key] = self.new_problems[key] = problems
            self.changed = True
        else:
            del self.problems[key]
            self.new_problems.pop(key, None)

    def _note_start_time(self, key: str, first: WorkloadObject, workload: Workload | None) -> None:
        if workload is not None and sort_of(first).keeps_start_time(first):
            self.kept_start_times.add(key)
            self.changed = True
        else:
            self.kept_start_times.discard(key)

    def _set(self, key: str, workload: Workload | None) -> None:
        for served in self._orphaned.served(workload, key in self.assumptions):
            self._set(served, None)
        workload = None if workload is None else self._reader.with_all_devices(workload)
        workload = self.faults.in_place_of(WORKLOAD, key, workload)
        if self.faults.is_aside(WORKLOAD, key):
            self.unadmitted_running.pop(key, None)
        before, workload = self.workload(key), self.unless_hidden(key, workload)
        if workload is None:
            self.unadmitted_running.pop(key, None)
        if not self.put(key, workload):
            return
        for hidden in () if before is None else self.take_hidden(before.id):
            self._count(hidden)
            self._note_incomplete(hidden)
        if workload is not None:
            return
        self.unwritten.drop(key)
        self.unready.discard(key)
        self.kept_start_times.discard(key)
        self.policy_changes.pop(key, None)
        self.revoked_starts.forget(key)
        self.early_stops.forget(key)
        if before is not None:
            self._leave_claim(key, before)

    def key_claiming(self, claim: Claim) -> str | None:
        """Return the key of the workload that a claim is for, if it exists."""
        if claim.preemptor:
            found = (self.key_of_id(WorkloadId(kind, claim.preemptor)) for kind in KINDS)
            named = next((key for key in found if key is not None), None)
            if named is not None:
                return named
        uid = claim.preemptor_uid
        return uid if self.workload(uid) is not None else self._objects.key_of(uid)

    def _leave_claim(self, key: str, gone: Workload) -> None:
        """Keep the claim of a deleted victim if its preemptor still waits."""
        preemptor = None if gone.claim is None else self.workload(self.key_claiming(gone.claim) or "")
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
            is_incomplete = any(each.is_gated for each in self._objects.live_pods_of(key))
        if is_incomplete:
            self.incomplete.add(key)
            self.changed = True
        else:
            self.incomplete.discard(key)


def beside(uid: str) -> str:
    """Return the key of the terminating pods of a Job that counts by itself."""
    return f"{uid}/terminating"
