"""Read a Job as a workload: its group, its request, and its state.

A workload's state is read from its object alone, so a restarted process knows what the previous one knew. Annotations
that cannot be read count as absent and are reported; nothing here raises because of an object's contents.

See docs/specification.md §2.8 and §5.1.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from shared.api.annotations import (
    AdmissionAnnotation,
    Annotations,
    EvictionAnnotation,
    TurnAnnotation,
    read_annotations,
)
from shared.api.core.job import Job
from shared.api.core.metadata import Metadata
from shared.api.core.pod import PodSpec
from shared.api.core.pod_request import effective_request
from shared.api.durations import LONGEST
from shared.api.json.reading import aware
from shared.api.names import (
    FALSE,
    FLAVOR_LABEL,
    HOLD_GATE_PREFIX,
    HOLD_LABEL,
    PREEMPTIBLE_LABEL,
    TRUE,
    creator_in,
    hold_gates,
)
from shared.api.owner_settings import (
    AS_ITS_GROUP,
    UNKNOWN_RUN_TIME,
    BadOwnerSetting,
    OwnRunTime,
    OwnStartup,
    read_expected_run_time,
    read_max_run_time,
    read_startup,
)
from shared.api.pod_group import own_pod_group, pod_group_refusal
from shared.quota.model.flavor_placement import own_placement
from shared.quota.model.membership import resolve_group
from shared.quota.model.namespace_context import NamespaceContext
from shared.quota.model.read.priorities import priority_of
from shared.quota.model.settings import QueueAge, QuotaSettings
from shared.quota.model.tree import Amounts
from shared.quota.model.workload import Admission, Claim, Eviction, EvictionReason, PodSet, Turn, Workload
from shared.resources import MAX_AMOUNT, QuantityError


class ObjectState(StrEnum):
    """The state of a Job, pod or group of pods."""

    UNMANAGED = "unmanaged"
    """Not managed: neither it nor its namespace names a group; or a pod that its Job accounts for."""
    PENDING = "pending"
    RUNNING = "running"
    """Admitted, and not being stopped."""
    ADOPTED = "adopted"
    """Running without an admission, as found at the first start or when its namespace became managed."""
    EVICTING = "evicting"
    """Being stopped; its pods have not all ended."""
    FINISHED = "finished"
    """Ended, or deleted before it started: it uses and requests nothing."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read. There is no workload when unmanaged, finished, or when the request is unreadable."""

    state: ObjectState
    workload: Workload | None = None
    problems: tuple[str, ...] = ()


SWAP: Final = "Swap"
"""The rule of an eviction whose claim is a swap inside one leaf."""
UNMANAGED: Final = Reading(ObjectState.UNMANAGED)
FINISHED: Final = Reading(ObjectState.FINISHED)


TOO_LARGE: Final = (
    "its pods name more resources, node labels or terms than a managed workload may (ObjectTooLarge); "
    "it is not started; create it again with fewer"
)
PodRequest = Callable[[PodSpec, NamespaceContext, QuotaSettings], Amounts]
"""Returns what one pod of a spec requests. Raises QuantityError."""


def workload_of_job(
    job: Job,
    around: NamespaceContext,
    settings: QuotaSettings,
    pod_request: PodRequest | None = None,
    now: datetime | None = None,
) -> Reading:
    """Read a Job. Its request is one pod's, as `pod_request` says, times how many it may still run at a time."""
    group = resolve_group(job.metadata.labels, around.namespace_labels, default_group=settings.default_group)
    if group is None:
        return UNMANAGED
    if job.has_finished or (job.metadata.is_deleting and not job.has_pods):
        return FINISHED
    annotations = read_annotations(job.metadata.annotations, now)
    state = _state(job, annotations)
    if job.metadata.is_deleting and state is ObjectState.PENDING:
        return FINISHED  # The Job controller makes no pods for it, even if its status counts some.
    spec = job.spec.template.spec
    deadline = deadline_of(job.spec.active_deadline_seconds)
    draft = WorkloadDraft(
        job.metadata, spec, job.pods_left, group, annotations, pod_request=pod_request, deadline=deadline
    )
    least = ready_pods((job.metadata,), job.wanted_pods)
    admission = admission_in(state, annotations, lambda: job.ready_pods >= least)
    if admission is not None and own_pod_group(spec):
        admission = replace(admission, pod_group_refusal=pod_group_refusal(job.metadata.annotations))
    return draft.reading(
        state, admission, eviction_in(state, annotations, lambda: _suspended_at(job)), around, settings
    )


def _state(job: Job, annotations: Annotations) -> ObjectState:
    return state_of(annotations, suspended=job.spec.suspend, has_pods=job.has_pods)


def state_of(annotations: Annotations, *, suspended: bool, has_pods: bool) -> ObjectState:
    """Return the state of an object that a flag suspends: by the flag, its annotations and its pods."""
    if not suspended:
        return ObjectState.ADOPTED if annotations.admission is None else ObjectState.RUNNING
    stopping = annotations.admission is not None or (
        annotations.eviction is not None and annotations.eviction.ended is None
    )
    return ObjectState.EVICTING if stopping and has_pods else ObjectState.PENDING


def admission_in(state: ObjectState, annotations: Annotations, is_ready: Callable[[], bool]) -> Admission | None:
    """Return its admission in that state; `is_ready`: whether all pods are ready now."""
    if annotations.admission is not None and state in (ObjectState.RUNNING, ObjectState.EVICTING):
        return admission_of(annotations.admission, ready=state is ObjectState.RUNNING and is_ready())
    if state is ObjectState.EVICTING and annotations.eviction is not None:
        return Admission(annotations.eviction.assigned, annotations.eviction.since or annotations.eviction.time)
    return None


def admission_of(annotation: AdmissionAnnotation, *, ready: bool) -> Admission:
    """Return the admission that an annotation describes; `ready`: whether all pods are ready now."""
    return Admission(
        annotation.assigned,
        annotation.time,
        ready=ready,
        was_ready=ready or annotation.was_ready,
        unready_since=None if ready else annotation.unready_since,
        adopted=annotation.adopted,
    )


def eviction_in(state: ObjectState, annotations: Annotations, suspended_at: Callable[[], datetime]) -> Eviction | None:
    """Return its eviction in that state; what its owner suspended is evicted since `suspended_at`."""
    if state is ObjectState.RUNNING:
        return None
    if state is ObjectState.EVICTING and annotations.admission is not None:
        return Eviction(EvictionReason.SUSPENDED, suspended_at())
    return None if annotations.eviction is None else eviction_of(annotations.eviction)


def eviction_of(annotation: EvictionAnnotation) -> Eviction:
    """Return the eviction as it was written."""
    claim = annotation.claim
    if claim is None:
        return Eviction(reason_of(annotation), annotation.time, annotation.rule)
    return Eviction(reason_of(annotation), annotation.time, annotation.rule, claim.workload, claim.uid, claim.group)


def _suspended_at(job: Job) -> datetime:
    times = [each.last_transition_time for each in job.status.conditions if each.type == "Suspended"]
    return aware(times[0]) if times and times[0] is not None else job.metadata.created


def reason_of(annotation: EvictionAnnotation) -> EvictionReason:
    """Return the reason it gives; one that this version does not know counts as Reclaimed."""
    try:
        return EvictionReason(annotation.reason)
    except ValueError:
        return EvictionReason.RECLAIMED


@dataclass(frozen=True, slots=True)
class WorkloadDraft:
    """What Jobs and pods have in common, before it becomes a workload."""

    metadata: Metadata
    spec: PodSpec
    pods: int
    group: str
    annotations: Annotations
    kind: str = "Job"
    key: str = ""
    request: Amounts | None = None
    """Given: the whole request. Else `pods` times that of `spec`."""
    pod_request: PodRequest | None = None
    """Given: says what one pod requests, in place of `pod_request_of`."""
    pod_sets: tuple[PodSet, ...] = ()
    """Of pods that differ."""
    specs: tuple[PodSpec, ...] = ()
    """Of pods that differ; none: all are as `spec` says."""
    waits: bool = False
    problems: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    """Labels by which others hold pods of it, beside those in its metadata."""
    members: tuple[Metadata, ...] = ()
    """Metadata of the pods of a group; none: it is one object."""
    deadline: timedelta | None = None
    """After so long Kubernetes ends it; None: it has no deadline."""

    def reading(
        self,
        state: ObjectState,
        admission: Admission | None,
        eviction: Eviction | None,
        around: NamespaceContext,
        settings: QuotaSettings,
    ) -> Reading:
        """Return the reading of the complete draft."""
        labels = self.metadata.labels
        problems = [*self.problems, *self.annotations.problems, *label_problems(labels)]
        try:
            request = self._request(around, settings)
        except QuantityError as error:
            return Reading(state, None, (*problems, str(error)))
        unknown = [*self._unread(), *self._unknown_devices(around)] if admission is None else []
        problems += unknown
        waits = [*(self.problems if self.waits else ()), *unknown]
        gates = tuple(sorted({*hold_gates(labels), *self.gates}))
        declared = self.members or (self.metadata,)
        max_run_time, unread = shortest_run_time(declared)
        expected, unread_too = longest_expected(declared)
        startup, bad = startup_declared(declared)
        run_time = OwnRunTime(expected, self.deadline)
        problems += [*unread, *unread_too, *bad]
        priority = priority_of(labels, self.spec, around.priorities, settings.workload_priorities)
        problems += priority.problems
        requeue = self.annotations.requeue
        workload = Workload(
            key=self.key or self.metadata.key,
            group=self.group,
            request=request,
            created=self.metadata.created,
            queued=_queued(self.metadata, self.annotations, settings),
            uid=self.metadata.uid,
            kind=self.kind,
            user=creator_in(self.metadata.annotations),
            priority=priority.value,
            priority_source=priority.source,
            preemptible=labels.get(PREEMPTIBLE_LABEL) != FALSE or (admission is not None and admission.adopted),
            only_flavor=labels.get(FLAVOR_LABEL) or None,
            max_run_time=max_run_time,
            run_time=UNKNOWN_RUN_TIME if run_time == UNKNOWN_RUN_TIME else run_time,  # one object for all such Jobs
            startup=within_startup_maxima(startup, settings),
            placement=own_placement(self.spec, self.annotations.injected),
            pods=self.pods,
            pod_sets=self.pod_sets,
            admission=admission,
            eviction=eviction,
            claim=claim_of(self.annotations.eviction),
            hold=bool(waits or gates) or labels.get(HOLD_LABEL) == TRUE,
            hold_reason="; ".join([*waits, *_held_by(gates)]),
            gates=gates,
            deactivated=requeue is not None and requeue.deactivated,
            not_before=None if requeue is None else requeue.not_before,
            notice=None if self.annotations.notice is None else self.annotations.notice.time,
            turn=_turn_of(self.annotations.turn),
            failed_starts=0 if requeue is None else requeue.failed_starts,
            evictions=0 if self.annotations.eviction is None else self.annotations.eviction.times,
        )
        return Reading(state, workload, tuple(problems))

    def _unread(self) -> list[str]:
        """Return that its pods name too much to be read; it waits then, because what they request is not known."""
        return [TOO_LARGE] if any(each.goes_nowhere for each in self.specs or (self.spec,)) else []

    def _unknown_devices(self, around: NamespaceContext) -> list[str]:
        """Return why its devices cannot be counted yet; it waits then, because it could start beyond its quota."""
        devices = around.devices
        if devices is None:
            return []
        return devices.problems(each for spec in self.specs or (self.spec,) for each in spec.resource_claims)

    def _request(self, around: NamespaceContext, settings: QuotaSettings) -> Amounts:
        if self.request is not None:
            return self.request
        pod_request = self.pod_request or pod_request_of
        return times(pod_request(self.spec, around, settings), self.pods)


def pod_request_of(spec: PodSpec, around: NamespaceContext, settings: QuotaSettings) -> Amounts:
    """Return what one pod requests, ignored resources left out. Raises QuantityError as `effective_request` does."""
    one = effective_request(spec, around.limits, around.overheads.get(spec.runtime_class_name))
    if around.devices is not None:
        one = around.devices.added_to(one, spec.resource_claims)
    return {resource: amount for resource, amount in one.items() if resource not in settings.ignored_resources}


def times(one: Amounts, pods: int) -> Amounts:
    """Return the request of that many pods; an empty one for 0 pods."""
    if pods == 1:
        return one
    return {resource: min(amount * pods, MAX_AMOUNT) for resource, amount in one.items()} if pods else {}


def label_problems(labels: Mapping[str, str]) -> list[str]:
    """Return what is wrong with the labels whose value is true or false."""
    gates = sorted(name for name in labels if name.startswith(HOLD_GATE_PREFIX))
    return [
        f'label {name} is {labels[name][:63]!r}; it counts as absent, write "true" or "false"'
        for name in (PREEMPTIBLE_LABEL, HOLD_LABEL, *gates)
        if labels.get(name, TRUE) not in (TRUE, FALSE)
    ]


def shortest_run_time(objects: Iterable[Metadata]) -> tuple[timedelta | None, list[str]]:
    """Return the shortest run time that these objects declare, and what is wrong with those that cannot be read."""
    declared, problems = _declared(objects, read_max_run_time)
    return min(declared, default=None), problems


def longest_expected(objects: Iterable[Metadata]) -> tuple[timedelta | None, list[str]]:
    """Return the longest run time that these objects expect, and what is wrong with those that cannot be read."""
    declared, problems = _declared(objects, read_expected_run_time)
    return max(declared, default=None), problems


def _declared(
    objects: Iterable[Metadata], read: Callable[[Mapping[str, str]], timedelta | None]
) -> tuple[list[timedelta], list[str]]:
    declared: list[timedelta] = []
    problems: dict[str, None] = {}
    for metadata in objects:
        try:
            found = read(metadata.annotations)
        except BadOwnerSetting as error:
            problems[str(error)] = None
        else:
            declared.extend(() if found is None else (found,))
    return declared, list(problems)


def deadline_of(seconds: int | None) -> timedelta | None:
    """Return the time after which Kubernetes ends what has this `activeDeadlineSeconds`; None: it has none."""
    return None if seconds is None else timedelta(seconds=min(max(seconds, 0), LONGEST // timedelta(seconds=1)))


def startup_declared(objects: Iterable[Metadata]) -> tuple[OwnStartup, list[str]]:
    """Return what the first of these objects says that says anything of its start-up, and what cannot be read."""
    for metadata in objects:
        try:
            found = read_startup(metadata.annotations)
        except BadOwnerSetting as error:
            return AS_ITS_GROUP, [str(error)]
        if found != AS_ITS_GROUP:
            return found, []
    return AS_ITS_GROUP, []


def ready_pods(objects: Iterable[Metadata], pods: int) -> int:
    """Return how many of so many pods must be ready: all, or as many as the owner declares."""
    least = startup_declared(objects)[0].min_ready
    return pods if least is None else min(least, pods)


def within_startup_maxima(own: OwnStartup, settings: QuotaSettings) -> OwnStartup:
    """Return what the owner declares, with times of at most `quota.maxima`."""
    if own is AS_ITS_GROUP:
        return own
    most = settings.maxima.startup

    def lowered(time: timedelta | None, bound: timedelta | None) -> timedelta | None:
        return time if time is None or bound is None else min(time, bound)

    return own._replace(
        timeout=lowered(own.timeout, most.timeout),
        recovery_timeout=lowered(own.recovery_timeout, most.recovery_timeout),
    )


def _held_by(gates: Sequence[str]) -> list[str]:
    """Return who must let it go before it starts; nothing without gates."""
    if not gates:
        return []
    others = f" and {len(gates) - _SHOWN_GATES} others" if len(gates) > _SHOWN_GATES else ""
    return [f"held by {', '.join(gates[:_SHOWN_GATES])}{others}; those who set the labels take them off"]


_SHOWN_GATES: Final = 5


def _queued(metadata: Metadata, annotations: Annotations, settings: QuotaSettings) -> datetime:
    """Return since when it waits. An evicted workload counts from its eviction, or from its creation if that is set.

    What its owner released from a hold, enlarged or moved waits since then.
    """
    requeue = annotations.requeue
    queued = metadata.created
    if settings.queue_age is QueueAge.EVICTION:
        if requeue is not None and requeue.queued is not None:
            queued = requeue.queued
        elif annotations.eviction is not None:
            queued = annotations.eviction.time
    return queued if requeue is None or requeue.released is None else max(queued, requeue.released)


def _turn_of(annotation: TurnAnnotation | None) -> Turn | None:
    """Return the turn that is written on a workload."""
    return None if annotation is None else Turn(annotation.assigned, annotation.time)


def claim_of(annotation: EvictionAnnotation | None) -> Claim | None:
    """Return the claim that an eviction made for its preemptor, unless it ended."""
    if annotation is None or annotation.claim is None or annotation.claim_ended:
        return None
    claim = annotation.claim
    swap = annotation.rule == SWAP
    return Claim(claim.workload, claim.uid, claim.assigned, annotation.time, swap=swap, preemptor_group=claim.group)
