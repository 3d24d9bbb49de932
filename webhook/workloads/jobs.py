"""What is answered about a managed Job: held and steered when it comes, started by the reconciler alone. Pure.

Mutation and validation are two questions about the same edit; other webhooks may act in between, so validation trusts
nothing but what it sees.
"""

from collections.abc import Mapping
from dataclasses import replace

from shared.api.annotations import BadAnnotation, InjectedAnnotation, read_admission, write_annotation
from shared.api.core.job import Job, read_job
from shared.api.names import HOLD_LABEL, INJECTED, REQUEUE, TRUE
from shared.api.patches import Operation, add
from shared.api.review import Operation as Doing
from shared.api.review import Review
from shared.quota.model.rules.findings import NO_FINDINGS, Findings, Violation
from shared.quota.model.rules.workloads.changed_workload import (
    WorkloadEdit,
    WorkloadProgress,
    check_edit,
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
    pending_injection,
    post,
    request_of,
    unmanaged,
    unreadable,
)
from webhook.workloads.placement_injection import NOTHING, steer
from webhook.workloads.review_context import ReviewContext

KIND = "Job"
TEMPLATE = ("spec", "template", "spec")


def mutate_job(review: Review, scene: ReviewContext) -> Verdict:
    """Hold a new Job and steer it; on the reconciler's start put in what its flavors need."""
    job = read_job(review.object)
    group = scene.group_of(job.metadata.labels)
    old = read_job(review.old_object) if review.operation is Doing.UPDATE else None
    if group is None:
        return YES if old is not None else verdict_of(unmanaged(KIND, job.metadata))
    if old is not None and (old.has_finished or old.metadata.is_deleting):
        return YES
    injected = _injection(job, old, group, scene, by_reconciler=scene.is_by_reconciler(review))
    if isinstance(injected, Deny):
        return injected
    labels = group_label(group)
    notes: dict[str, str] = {}
    drop: tuple[str, ...] = ()
    operations: list[Operation] = []
    if old is None and not job.spec.suspend:
        operations.append(add(("spec", "suspend"), value=True))
    if old is not None and not scene.is_by_reconciler(review):
        if job.spec.suspend and not old.spec.suspend:
            labels |= {HOLD_LABEL: TRUE}
        lifted = lifted_requeue(old.metadata, job.metadata)
        if lifted is not None:
            notes[REQUEUE] = write_annotation(lifted)
    if injected is not None:
        operations += steer(job.spec.template.spec, injected_note(job.metadata.annotations), injected, TEMPLATE)
        more, drop = note_of(injected)
        notes |= more
    operations += metadata_operations(job.metadata, labels, notes, drop)
    return Allow(tuple(operations), audit={"group": group}) if operations else YES


def _injection(
    job: Job, old: Job | None, group: str, scene: ReviewContext, *, by_reconciler: bool
) -> InjectedAnnotation | Deny | None:
    """What the template must hold afterwards; None: it stays as it is."""
    spec = job.spec.template.spec
    if old is None:
        present = injected_note(job.metadata.annotations)
        expected = pending_injection(job.metadata, spec, group, scene)
        return expected if present in (NOTHING, expected) else None
    if by_reconciler and old.spec.suspend and not job.spec.suspend:
        return _started(job, scene)
    if job.spec.suspend and _is_loose(old):
        return pending_injection(job.metadata, spec, group, scene)
    return None


def _started(job: Job, scene: ReviewContext) -> InjectedAnnotation | Deny:
    work = name_of(KIND, job.metadata)
    try:
        note = read_admission(job.metadata.annotations)
    except BadAnnotation as error:
        return Deny((Violation("BadAdmission", work, "metadata.annotations", str(error)),))
    flavors = {} if note is None else note.flavors
    found = admitted_injection(work, job.spec.template.spec, job.metadata, flavors, scene)
    return found if isinstance(found, InjectedAnnotation) else Deny(found)


def _is_loose(job: Job) -> bool:
    """Whether Kubernetes lets its template's placement be changed."""
    return job.spec.suspend and job.status.start_time is None


def judge_job(review: Review, scene: ReviewContext) -> Verdict:
    """Every broken rule at once; what the reconciler does is its own responsibility."""
    job = read_job(review.object)
    old = read_job(review.old_object) if review.operation is Doing.UPDATE else None
    if old is not None and (scene.is_by_reconciler(review) or old.has_finished):
        return YES
    try:
        return verdict_of(_new(job, scene) if old is None else _edited(old, job, scene))
    except QuantityError as error:
        return unreadable(KIND, job.metadata, old.metadata if old else None, error)


def _new(job: Job, scene: ReviewContext) -> Findings:
    group = scene.group_of(job.metadata.labels)
    if group is None:
        return unmanaged(KIND, job.metadata)
    posted = _post(job, group, scene)
    injected = pending_injection(job.metadata, job.spec.template.spec, group, scene)
    own = Findings(
        (
            *check_not_started(posted, None, _standing(job, scene)),
            *check_notes_untouched(posted, *_creation_notes(job, injected)),
            *_template_notes(posted, job, {}),
        )
    )
    return own + check_new_workload(posted, scene.context)


def _creation_notes(job: Job, injected: InjectedAnnotation) -> tuple[dict[str, str], dict[str, str]]:
    """Quotree's annotations as they may be and as they are. What nobody injected is the owner's own forgery."""
    own = own_notes(job.metadata.annotations)
    return note_of(injected)[0] if INJECTED in own else {}, own


def _template_notes(posted: SubmittedWorkload, job: Job, before: Mapping[str, str]) -> list[Violation]:
    """Pods that carry Quotree's notes would pass for plain pods. `before`: those that the template has already."""
    own = own_notes(job.spec.template.metadata.annotations)
    return [
        Violation(each.rule, each.object, f"spec.template.{each.field}", each.message)
        for each in check_notes_untouched(posted, before, own)
    ]


def _edited(old: Job, job: Job, scene: ReviewContext) -> Findings:
    was, now = scene.group_of(old.metadata.labels), scene.group_of(job.metadata.labels)
    if was is None and now is None:
        return NO_FINDINGS
    injected = None
    if now is not None and job.spec.suspend and _is_loose(old):
        injected = pending_injection(job.metadata, job.spec.template.spec, now, scene)
    edit = WorkloadEdit(
        None if was is None else _post(old, was, scene),
        None if now is None else _post(job, now, scene),
        _standing(old, scene),
        _standing(job, scene),
        expected_notes(old.metadata, job.metadata, injected),
    )
    found = check_edit(edit, scene.context)
    if edit.after is None:
        return found
    before = own_notes(old.spec.template.metadata.annotations)
    return Findings(tuple(_template_notes(edit.after, job, before))) + found


def _post(job: Job, group: str, scene: ReviewContext) -> SubmittedWorkload:
    posted = post(scene, KIND, job.metadata, group, job.spec.template.spec, pods=job.wanted_pods)
    return replace(posted, managed_by=job.spec.managed_by, manual_selector=job.spec.manual_selector)


def _standing(job: Job, scene: ReviewContext) -> WorkloadProgress:
    return WorkloadProgress(
        held=job.spec.suspend,
        has_pods=job.has_pods,
        notes=own_notes(job.metadata.annotations),
        peak=request_of(job.spec.template.spec, job.wanted_pods, scene),
    )
