"""What is answered about a plain pod: gated when it comes, released by the reconciler alone. Pure.

A pod that a managed Job makes passes untouched: its Job was held instead of it.
"""

from collections.abc import Mapping
from typing import Final

from shared.api.annotations import BadAnnotation, InjectedAnnotation, read_admission, write_annotation
from shared.api.core.pod import Pod, read_pod
from shared.api.names import GATE, JOB_OWNER_LABEL, REQUEUE
from shared.api.patches import Operation, add
from shared.api.review import Operation as Doing
from shared.api.review import Review
from shared.quota.model.pod_reading import is_covered_by_its_job
from shared.quota.model.rules.findings import NO_FINDINGS, Findings, Violation
from shared.quota.model.rules.workloads.changed_workload import (
    WorkloadEdit,
    WorkloadProgress,
    check_edit,
    check_growth,
    check_job_kept,
    check_not_started,
    check_notes_untouched,
)
from shared.quota.model.rules.workloads.new_workload import check_new_workload
from shared.quota.model.rules.workloads.submitted_workload import SubmittedWorkload
from shared.resources import QuantityError
from webhook.verdicts import YES, Allow, Deny, Verdict, verdict_of
from webhook.workloads.common import (
    admitted_injection,
    expected_notes,
    group_label,
    injected_note,
    lifted_requeue,
    metadata_operations,
    name_of,
    note_of,
    own_notes,
    post,
    unmanaged,
    unreadable,
)
from webhook.workloads.placement_injection import steer
from webhook.workloads.review_context import ReviewContext

KIND: Final = "Pod"
SPEC: Final = ("spec",)
MIRROR: Final = "kubernetes.io/config.mirror"
"""On pods that a kubelet made from a file: they run already."""


def mutate_pod(review: Review, scene: ReviewContext) -> Verdict:
    """Gate a new plain pod; on the reconciler's release put in what its flavors need."""
    pod = read_pod(review.object)
    group = scene.group_of(pod.metadata.labels)
    if group is None or _passes(pod, review, scene):
        return YES
    if review.operation is Doing.CREATE:
        operations = [*_gate(pod), *metadata_operations(pod.metadata, group_label(group), {})]
        return Allow(tuple(operations), audit={"group": group})
    old = read_pod(review.old_object)
    if old.has_ended or is_covered_by_its_job(old):
        return YES
    notes: dict[str, str] = {}
    operations = []
    if scene.is_by_reconciler(review):
        if old.is_gated and not pod.is_gated:
            injected = _released(pod, scene)
            if isinstance(injected, Deny):
                return injected
            operations += steer(pod.spec, injected_note(pod.metadata.annotations), injected, SPEC)
            notes |= note_of(injected)[0]
    else:
        lifted = lifted_requeue(old.metadata, pod.metadata)
        if lifted is not None:
            notes[REQUEUE] = write_annotation(lifted)
    operations += metadata_operations(pod.metadata, group_label(group), notes)
    return Allow(tuple(operations)) if operations else YES


def _gate(pod: Pod) -> list[Operation]:
    if pod.is_gated:
        return []
    gate: Mapping[str, str] = {"name": GATE}
    if pod.spec.scheduling_gates:
        return [add(("spec", "schedulingGates", "-"), gate)]
    return [add(("spec", "schedulingGates"), [gate])]


def _released(pod: Pod, scene: ReviewContext) -> InjectedAnnotation | Deny:
    work = name_of(KIND, pod.metadata)
    try:
        note = read_admission(pod.metadata.annotations)
    except BadAnnotation as error:
        return Deny((Violation("BadAdmission", work, "metadata.annotations", str(error)),))
    flavors = {} if note is None else note.flavors
    found = admitted_injection(work, pod.spec, pod.metadata, flavors, scene)
    return found if isinstance(found, InjectedAnnotation) else Deny(found)


def _passes(pod: Pod, review: Review, scene: ReviewContext) -> bool:
    """Whether the pod is none of our business: a kubelet's own, or answered for by its Job.

    A Job answers for the pods that Kubernetes' Job controller makes for it: owned by it, and labelled with its uid. The
    same pod from anybody else could ask for more than the Job was started with, or outlive it.
    """
    if MIRROR in pod.metadata.annotations and "system:nodes" in review.user_info.groups:
        return True
    owner = pod.owner_job
    if owner is None or pod.is_gated or not scene.is_by_job_controller(review):
        return False
    return pod.metadata.labels.get(JOB_OWNER_LABEL) == owner and scene.is_managed_job(owner)


def judge_pod(review: Review, scene: ReviewContext) -> Verdict:
    """Every broken rule at once; what the reconciler does is its own responsibility."""
    pod = read_pod(review.object)
    old = read_pod(review.old_object) if review.operation is Doing.UPDATE else None
    if old is not None and (scene.is_by_reconciler(review) or old.has_ended):
        return YES
    try:
        return verdict_of(_new(pod, review, scene) if old is None else _edited(old, pod, scene))
    except QuantityError as error:
        return unreadable(KIND, pod.metadata, old.metadata if old else None, error)


def _new(pod: Pod, review: Review, scene: ReviewContext) -> Findings:
    group = scene.group_of(pod.metadata.labels)
    if group is None:
        return unmanaged(KIND, pod.metadata)
    posted = _post(pod, group, scene)
    forged = Findings(tuple(check_notes_untouched(posted, {}, own_notes(pod.metadata.annotations))))
    if _passes(pod, review, scene):
        return forged
    held = Findings(tuple(check_not_started(posted, None, _standing(pod, posted))))
    return held + forged + check_new_workload(posted, scene.context)


def _edited(old: Pod, pod: Pod, scene: ReviewContext) -> Findings:
    was, now = scene.group_of(old.metadata.labels), scene.group_of(pod.metadata.labels)
    if was is None and now is None:
        return NO_FINDINGS
    before = None if was is None else _post(old, was, scene)
    after = None if now is None else _post(pod, now, scene)
    expected = expected_notes(old.metadata, pod.metadata, None)
    edit = WorkloadEdit(before, after, _standing(old, before), _standing(pod, after), expected)
    if is_covered_by_its_job(old):
        return _of_a_job(edit)
    return check_edit(edit, scene.context)


def _of_a_job(edit: WorkloadEdit) -> Findings:
    """Its Job answers for its group and its start; its notes, its growth and that it stays the Job's are its own."""
    posted = edit.after or edit.before
    notes = check_notes_untouched(posted, edit.expected_notes, edit.now.notes) if posted else ()
    return Findings((*notes, *check_growth(edit), *check_job_kept(edit)))


def _post(pod: Pod, group: str, scene: ReviewContext) -> SubmittedWorkload:
    return post(scene, KIND, pod.metadata, group, pod.spec, pods=1)


def _standing(pod: Pod, posted: SubmittedWorkload | None) -> WorkloadProgress:
    return WorkloadProgress(
        held=pod.is_gated,
        has_pods=not pod.is_gated,
        job=(pod.owner_job, pod.metadata.labels.get(JOB_OWNER_LABEL, "")) if pod.owner_job else (),
        notes=own_notes(pod.metadata.annotations),
        peak={} if posted is None else posted.request,
    )
