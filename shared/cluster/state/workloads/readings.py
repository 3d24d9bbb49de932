"""Workloads read from their objects: each is read again when one of them changes, and recorded as it counts now. Pure.

What counts is what the objects say, overlaid with decisions under way, with annotations that could not be stored, and
with what the pods of a Job really use.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from shared.cluster.state.expected.overlay import Overlay
from shared.cluster.state.expected.transitions import with_readiness
from shared.cluster.state.faults.register import WORKLOAD, Fault, Faults, Subject
from shared.cluster.state.faults.stand_ins import stand_in
from shared.cluster.state.observed.job_pods import JobPods
from shared.cluster.state.observed.terminating import is_orphaned
from shared.cluster.state.sorts.registry import sort_of
from shared.cluster.state.sorts.sort import WorkloadObject
from shared.cluster.state.workloads.follow_ups import FollowUps
from shared.cluster.state.workloads.index import WorkloadIndex
from shared.cluster.state.workloads.objects import WorkloadObjects
from shared.cluster.state.workloads.reader import WorkloadReader
from shared.quota.measure.inputs.workload_set import KINDS
from shared.quota.model.read.jobs import ObjectState, Reading
from shared.quota.model.workload import Claim, Workload, WorkloadId


class WorkloadReadings:
    """Reads workloads from `objects`, as `overlay` says, into `index`; what is left to do then is in `follow_ups`."""

    def __init__(self, reader: WorkloadReader, job_pods: JobPods, faults: Faults) -> None:
        self.index = WorkloadIndex()
        self.objects = WorkloadObjects(job_pods)
        self.overlay = Overlay()
        self.follow_ups = FollowUps()
        self.faults = faults
        self.job_pods = job_pods
        self.reader = reader
        self.unlike_declared: set[str] = set()
        """Jobs that use something else than their template times their size."""

    def count(self, key: str) -> None:
        """Read the workload again, and count what it is now."""
        self.follow_ups.unadmitted_running.pop(key, None)
        assumed = self.overlay.assumptions.get(key)
        if assumed is not None:
            self.put(key, assumed)
            return
        objects = self.overlay.unwritten.over(key, self.objects.store.all_of(key))
        if not objects:
            self.put(key, self.index.workload(key))  # Its group can count other things than before.
            return
        try:
            self._read(key, objects)
        except Exception as error:
            self._set_unreadable(key, objects[0], error)

    def _read(self, key: str, objects: Sequence[WorkloadObject]) -> None:
        reading = self._awaiting_its_group(
            key, objects, self.reader.read(key, objects, self.objects.started_apart(key))
        )
        workload = reading.workload
        keeps = workload is not None and sort_of(objects[0]).keeps_start_time(objects[0])
        self.follow_ups.keep_start_time(key, keeps=keeps)
        if workload is not None:
            if reading.state is ObjectState.ADOPTED:
                self.follow_ups.unadmitted_running[key] = workload
            workload = self._with_history(key, objects[0], workload)
            self._note_policy_change(key, objects[0], workload)
            self.follow_ups.want_pod_group(key, sort_of(objects[0]).wanted_pod_group(objects[0], workload))
            workload = self._with_pods(key, objects[0], workload)
        self.follow_ups.set_problems(key, reading.problems)
        self.put(key, workload)

    def _set_unreadable(self, key: str, first: WorkloadObject, error: Exception) -> None:
        """Count as little as possible of a workload whose objects cannot be read, until they change.

        Of what has never been read, the pods count as those of other programs do.
        """
        before, metadata = self.index.workload(key), first.metadata
        kind, group = (type(first).__name__, "") if before is None else (before.kind, before.group)
        name = f"{metadata.namespace}/{metadata.name}"
        fault = Fault.of(Subject(kind, name, metadata.uid, group), error)
        instead = None if before is None else stand_in(before, fault.message)
        self.put(key, instead)
        self.faults.set_aside(WORKLOAD, key, fault, error, instead)

    def set_aside(self, key: str, workload: Workload, error: Exception) -> None:
        """Count as little as possible of a workload on which a step fails, until it changes."""
        fault = Fault.of(self.subject_of(key), error)
        self.faults.set_aside(WORKLOAD, key, fault, workload, stand_in(workload, fault.message))
        self.overlay.assumptions.abandon(key)
        self.count(key)

    def subject_of(self, key: str) -> Subject:
        """Return how a fault names this workload."""
        found = self.index.workload(key)
        return Subject(WORKLOAD, key, key) if found is None else Subject(found.kind, found.key, found.uid, found.group)

    @contextmanager
    def set_aside_if_fails(self, key: str) -> Iterator[None]:
        """Set the workload aside if this block fails: it is about nothing else."""
        try:
            yield
        except Exception as error:
            workload = self.index.workload(key)
            if workload is None:
                self.faults.note(self.subject_of(key), error)
            else:
                self.set_aside(key, workload, error)

    def _awaiting_its_group(self, key: str, objects: Sequence[WorkloadObject], reading: Reading) -> Reading:
        """A replacement pod of a group that is being stopped starts with the group's next pods, not alone."""
        first, workload = objects[0], reading.workload
        group = sort_of(first).pod_group(first) if sort_of(first).is_gated(first) else None
        ending = None if group is None or group == key else self.index.workload(group)
        if workload is None or ending is None or not ending.is_evicting:
            return reading
        problem = "the pods that it replaces are ending; it waits for the others of its pod group"
        return Reading(reading.state, replace(workload, hold=True, hold_reason=problem), (*reading.problems, problem))

    def _with_history(self, key: str, first: WorkloadObject, workload: Workload) -> Workload:
        """Return the workload, given what it was until now and what refused writes have shown."""
        before = None if self.faults.is_aside(WORKLOAD, key) else self.index.workload(key)
        if sort_of(first).can_be_revoked:
            workload = self.overlay.revoked_starts.judge(key, before, first, workload)
        if sort_of(first).may_stop_early:
            workload = self.overlay.early_stops.judge(key, before, first, self.reader.pods_of(key), workload)
        self.follow_ups.unready.discard(key)
        if workload.is_pending:
            return self.overlay.assumptions.apply_failure(key, workload)
        workload, is_new = with_readiness(before, workload)
        if is_new:
            self.follow_ups.unready.add(key)
        return workload

    def _with_pods(self, key: str, first: WorkloadObject, workload: Workload) -> Workload | None:
        """Return the workload as its pods use it.

        Its terminating pods are counted as a workload of their own.
        """
        apart = self.index.workload(beside(key))
        use = sort_of(first).use(first, workload, self.job_pods.sums(key), apart or self.index.workload(key))
        if use is None:
            return workload
        if use.beside is not None or apart is not None:
            is_counted = use.counted is not None and not use.counted.is_pending
            self.put(beside(key), use.beside, account="" if is_counted else key)
        if use.beside is None and (use.counted is None or use.counted == workload):
            self.unlike_declared.discard(key)
        else:
            self.unlike_declared.add(key)
        return use.counted

    def _note_policy_change(self, key: str, first: WorkloadObject, workload: Workload) -> None:
        change = sort_of(first).policy_change(first, workload, self.job_pods.sums(key), self.reader.now())
        self.follow_ups.change_policy(key, change)

    def put(self, key: str, workload: Workload | None, account: str | None = None) -> None:
        """Count this workload under the key from now on; None: nothing.

        `account`: whose pods it counts; None: the same key.
        """
        for served in self.overlay.orphaned.served(workload, key in self.overlay.assumptions):
            self.put(served, None)
        if workload is not None:
            workload = self.reader.as_placed(key if account is None else account, self.reader.as_counted(workload))
        workload = self.faults.in_place_of(WORKLOAD, key, workload)
        if self.faults.is_aside(WORKLOAD, key):
            self.follow_ups.unadmitted_running.pop(key, None)
        before, workload = self.index.workload(key), self.index.unless_hidden(key, workload)
        if workload is None:
            self.follow_ups.unadmitted_running.pop(key, None)
        if not self.index.put(key, workload):
            return
        for hidden in () if before is None else self.index.take_hidden(before.id):
            self.count(hidden)
            self.note_incomplete(hidden)
        if workload is not None:
            return
        self.overlay.forget(key)
        self.follow_ups.forget(key)
        if before is not None:
            self._leave_claim(key, before)

    def key_claiming(self, claim: Claim) -> str | None:
        """Return the key of the workload that a claim is for, if it exists."""
        if claim.preemptor:
            found = (self.index.key_of_id(WorkloadId(kind, claim.preemptor)) for kind in KINDS)
            named = next((key for key in found if key is not None), None)
            if named is not None:
                return named
        uid = claim.preemptor_uid
        return uid if self.index.workload(uid) is not None else self.objects.store.key_of(uid)

    def _leave_claim(self, key: str, gone: Workload) -> None:
        """Keep the claim of a deleted victim if its preemptor still waits."""
        preemptor = None if gone.claim is None else self.index.workload(self.key_claiming(gone.claim) or "")
        if (
            preemptor is not None
            and gone.claim is not None
            and preemptor.preemptor_id == gone.claim.preemptor_id
            and preemptor.is_pending
        ):
            left = self.overlay.orphaned.leave(key, gone)
            if left is not None:
                self.put(*left)

    def end_claim(self, victim: Workload) -> None:
        """End the claim of this victim, if the victim itself is gone."""
        key = self.index.key_of(victim)
        if is_orphaned(victim) and key is not None:
            self.overlay.orphaned.end(key, victim)
            self.put(key, None)

    def note_incomplete(self, key: str) -> None:
        """Note whether only some pods of a workload are started or evicted.

        A write that is not seen yet is not incomplete: another one would meet what the first has changed."""
        workload = None if key in self.overlay.assumptions else self.index.workload(key)
        if workload is None or workload.is_pending:
            is_incomplete = False
        elif workload.is_evicting:
            is_incomplete = bool(self.objects.pods_to_evict(key))
        else:
            is_incomplete = self.objects.has_gated_pod(key)
        self.follow_ups.set_incomplete(key, is_incomplete=is_incomplete)


def beside(uid: str) -> str:
    """Return the key of the terminating pods of a Job that counts by itself."""
    return f"{uid}/terminating"
