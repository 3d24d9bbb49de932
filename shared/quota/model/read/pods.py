"""Read plain pods as workloads: each alone, or all of one pod group together.

Members of a group are the pods of one namespace with the same `quotree.dev/pod-group` label. Until as many are there as
the label `quotree.dev/pod-group-size` says, the group waits and is not counted.

See docs/specification.md §5.6.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from shared.api.annotations import Annotations, BadAnnotation, EvictionAnnotation, read_admission, read_annotations
from shared.api.core.pod import Pod
from shared.api.names import (
    ADMISSION,
    FALSE,
    GROUP_LABEL,
    MAIN_POD_SET,
    MAX_POD_GROUP,
    POD_GROUP_LABEL,
    POD_GROUP_SIZE_LABEL,
    PREEMPTIBLE_LABEL,
    PRIORITY_LABEL,
    hold_gates,
    is_own,
    read_pod_group_size,
)
from shared.quota.model.membership import resolve_group
from shared.quota.model.namespace_context import NamespaceContext
from shared.quota.model.read.jobs import (
    FINISHED,
    UNMANAGED,
    ObjectState,
    Reading,
    WorkloadDraft,
    admission_of,
    deadline_of,
    eviction_of,
    ready_pods,
    reason_of,
)
from shared.quota.model.read.pod_sets import PodSets, member_of, read_pod_sets
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.workload import Admission, Eviction, Flavors
from shared.resources import QuantityError, sum_amounts


def pod_group_of(pod: Pod) -> str | None:
    """Return the key namespace/name of the pod group it belongs to, or None."""
    name = pod.metadata.labels.get(POD_GROUP_LABEL)
    return f"{pod.metadata.namespace or 'default'}/{name}" if name else None


def started_group_of(pod: Pod) -> str | None:
    """Return the key of the pod group that a pod without a gate runs in, or None where it is a workload of its own.

    Only an admission makes it a member. What runs without one, such as the pods that a deleted Job leaves, was not
    judged with the group whose label it has.
    """
    group = pod_group_of(pod)
    if group is None:
        return None
    try:
        admission = read_admission(pod.metadata.annotations)
    except BadAnnotation:
        admission = None
    return None if admission is None or admission.members == () else group


def is_covered(pod: Pod) -> bool:
    """Return whether another object accounts for it: its Job, or the object of a governed kind that it was made for.

    Such a pod was never gated, and a Job's was never admitted by itself. One whose owner is gone is on its own.
    """
    if pod.is_gated:
        return False
    return bool(unit_of(pod)) or (pod.owner_job is not None and ADMISSION not in pod.metadata.annotations)


def unit_of(pod: Pod) -> str:
    """Return the uid of the object of a governed kind that it was made for; empty if it has no controller any more."""
    return pod.metadata.unit if pod.metadata.controller is not None else ""


def account_of(pod: Pod) -> str | None:
    """Return the key of the workload that accounts for it: a Job's uid, or the key of an object of a governed kind."""
    unit = unit_of(pod)
    return unit_key(unit, pod.metadata.namespace) if unit else pod.owner_job


def unit_key(uid: str, namespace: str) -> str:
    """Return the key of an object of a governed kind.

    With its namespace: a label must not name an object of another one.
    """
    return f"{uid}@{namespace}"


def workload_of_pod(
    pod: Pod, around: NamespaceContext, settings: QuotaSettings, now: datetime | None = None
) -> Reading:
    """Read a pod that stands alone; members of a pod group: `workload_of_pod_group`."""
    group = resolve_group(pod.metadata.labels, around.namespace_labels, default_group=settings.default_group)
    if group is None or is_covered(pod):
        return UNMANAGED
    if _is_over(pod):
        return FINISHED
    annotations = read_annotations(pod.metadata.annotations, now)
    state = _state(pod, annotations)
    deadline = deadline_of(pod.spec.active_deadline_seconds)
    draft = WorkloadDraft(pod.metadata, pod.spec, 1, group, annotations, kind="Pod", deadline=deadline)
    admission = _admission(state, annotations, ready=pod.is_ready)
    return draft.reading(state, admission, _eviction(pod, state, annotations), around, settings)


def workload_of_pod_group(
    members: Iterable[Pod],
    around: NamespaceContext,
    settings: QuotaSettings,
    *,
    apart: int = 0,
    now: datetime | None = None,
) -> Reading:
    """Read all pods of one pod group as one workload of kind PodGroup, with the labels and date of its first member.

    That is the first one that runs, else the first one that waits: nobody judges what is written on an ended pod, and
    one that waits may still be edited. `apart`: how many of its pods run already, as workloads of their own: they count
    towards the group's size.
    """
    present = (pod for pod in members if not pod.never_starts)
    pods = sorted(present, key=lambda pod: (pod.metadata.created, pod.metadata.name))
    if not pods:
        return FINISHED
    live = [pod for pod in pods if not _is_over(pod)]
    started = [pod for pod in live if not pod.is_gated]
    first, *_ = counting = started or live or pods
    group = resolve_group(first.metadata.labels, around.namespace_labels, default_group=settings.default_group)
    if group is None:
        return UNMANAGED
    if not live:
        return FINISHED
    annotations = read_annotations(_representative(counting).metadata.annotations, now)
    states = {_state(pod, read_annotations(pod.metadata.annotations, now)) for pod in live}
    state = next(each for each in _STRONGEST if each in states)
    problems = _group_problems(pods, started, apart)
    try:
        pod_sets = read_pod_sets([member_of(pod, around, settings) for pod in live], _assigned(annotations))
    except QuantityError as error:
        return Reading(state, None, (*problems, str(error)))
    problems = (*problems, *pod_sets.problems)
    least = ready_pods((pod.metadata for pod in live), len(live))
    draft = replace(
        _group_draft(first, live, group, annotations, pod_sets),
        waits=bool(problems) and not started,
        problems=problems,
    )
    return draft.reading(
        state,
        _admission(state, annotations, ready=sum(pod.is_ready for pod in live) >= least),
        _eviction(_representative(live), state, annotations),
        around,
        settings,
    )


def _group_draft(
    first: Pod, live: Sequence[Pod], group: str, annotations: Annotations, pod_sets: PodSets
) -> WorkloadDraft:
    """Return the draft of a group whose first member is `first`, with what its `live` members request."""
    return WorkloadDraft(
        first.metadata,
        first.spec,
        len(live),
        group,
        annotations,
        kind="PodGroup",
        key=pod_group_of(first) or "",
        request=sum_amounts(each.request for each in pod_sets.found),
        pod_sets=() if [each.name for each in pod_sets.found] == [MAIN_POD_SET] else pod_sets.found,
        specs=tuple(pod.spec for pod in live),
        gates=tuple({gate for pod in live for gate in hold_gates(pod.metadata.labels)}),
        members=tuple(pod.metadata for pod in live),
        deadline=_last_deadline(live),
    )


def _last_deadline(live: Iterable[Pod]) -> timedelta | None:
    """Return after how long Kubernetes has ended all of these pods; None: it does not end some of them."""
    deadlines = [deadline_of(pod.spec.active_deadline_seconds) for pod in live]
    known = [each for each in deadlines if each is not None]
    return max(known) if known and len(known) == len(deadlines) else None


def _assigned(annotations: Annotations) -> Flavors:
    """Return the flavors that its pods have, or had until their eviction; none while they wait."""
    if annotations.admission is not None:
        return annotations.admission.assigned
    return {} if annotations.eviction is None else annotations.eviction.assigned


_STRONGEST = (ObjectState.RUNNING, ObjectState.ADOPTED, ObjectState.EVICTING, ObjectState.PENDING)
"""A group with a running member is running; it is evicting only when all started members are being stopped."""


def _is_over(pod: Pod) -> bool:
    return pod.has_ended or pod.never_starts


def _representative(pods: Sequence[Pod]) -> Pod:
    """Return the member whose annotations count for all: the first of those with most of Quotree's own."""
    return max(pods, key=lambda pod: sum(is_own(name) for name in pod.metadata.annotations))


def _state(pod: Pod, annotations: Annotations) -> ObjectState:
    if pod.is_gated:
        return ObjectState.PENDING
    if annotations.admission is None and annotations.eviction is None:
        return ObjectState.ADOPTED
    if pod.metadata.is_deleting or annotations.eviction is not None:
        return ObjectState.EVICTING
    return ObjectState.RUNNING


def _admission(state: ObjectState, annotations: Annotations, *, ready: bool) -> Admission | None:
    if state is ObjectState.PENDING or state is ObjectState.ADOPTED:
        return None
    if annotations.admission is not None:
        return admission_of(annotations.admission, ready=ready)
    if annotations.eviction is not None:
        return Admission(annotations.eviction.assigned, annotations.eviction.since or annotations.eviction.time)
    return None


def _eviction(pod: Pod, state: ObjectState, annotations: Annotations) -> Eviction | None:
    """Return the eviction as it is written; a pod that another user deletes is evicted from the deletion request on."""
    if state is not ObjectState.EVICTING:
        return None
    annotation: EvictionAnnotation | None = annotations.eviction
    if annotation is not None:
        return eviction_of(annotation)
    return Eviction(reason_of(EvictionAnnotation(reason="Suspended", time=_deleted_at(pod))), _deleted_at(pod))


def _deleted_at(pod: Pod) -> datetime:
    return pod.metadata.deletion_timestamp or pod.metadata.created


def _group_problems(pods: Sequence[Pod], started: Sequence[Pod], apart: int) -> tuple[str, ...]:
    """Return what keeps the group from starting as one."""
    found: list[str] = []
    sizes = {pod.metadata.labels.get(POD_GROUP_SIZE_LABEL, "") for pod in pods}
    size = read_pod_group_size(min(sizes)) if len(sizes) == 1 else None
    if size is None:
        listed_sizes = ", ".join(repr(each[:20]) for each in sorted(sizes)[:3])
        found.append(
            f"label {POD_GROUP_SIZE_LABEL} is {listed_sizes}; every pod of the group must say the same whole number "
            f"from 1 to {MAX_POD_GROUP}"
        )
    elif len(pods) + apart < size and not started:
        found.append(f"{len(pods) + apart} of the {size} pods of the group are there; it waits for the others")
    elif len(pods) > size:
        found.append(f"the group has {len(pods)} pods and says it has {size}; all of them are counted")
    if len({pod.metadata.labels.get(GROUP_LABEL) for pod in pods}) > 1:
        found.append(f"the pods of the group differ in label {GROUP_LABEL}; all must name the same group")
    if len({pod.metadata.labels.get(PREEMPTIBLE_LABEL) == FALSE for pod in pods}) > 1:
        # It would be as its first pod says, and its owner can delete that one after the start.
        found.append(f"the pods of the group differ in label {PREEMPTIBLE_LABEL}; all must say the same")
    if len({pod.metadata.labels.get(PRIORITY_LABEL) for pod in pods}) > 1:
        found.append(f"the pods of the group differ in label {PRIORITY_LABEL}; all must say the same")
    return tuple(found)
