"""Reviews of Jobs: held and placed at creation, started and placed by the reconciler alone. Pure.

Each judge reads the review, judges it in its context, and returns a verdict. Mutation and validation are two requests
about the same edit; other webhooks might act in between, so validation relies on nothing but what it sees.

See docs/specification.md §5.2.
"""

from collections.abc import Mapping

from shared.api.annotations import InjectedAnnotation, write_annotation
from shared.api.core.job import Job
from shared.api.injection import NOTHING, placement_operations
from shared.api.names import HOLD_LABEL, INJECTED, REQUEUE, TRUE
from shared.api.patches import Operation, add
from shared.api.review import Review, ReviewOperation
from shared.quota.model.rules.findings import NO_FINDINGS, Findings, Violation
from shared.quota.model.rules.workloads.changed_workload import (
    WorkloadEdit,
    check_annotations_untouched,
    check_edit,
    check_not_started,
)
from shared.quota.model.rules.workloads.children import check_child_edit, check_unit
from shared.quota.model.rules.workloads.new_workload import check_new_workload
from shared.quota.model.rules.workloads.submitted_workload import SubmittedWorkload
from shared.resources import QuantityError
from webhook.verdicts import YES, Allow, Verdict, verdict_of
from webhook.workloads.common import (
    allow_child,
    check_label,
    check_sizes,
    check_unmanaged,
    expected_annotations,
    group_label,
    judge_unreadable,
    metadata_operations,
    own_name,
    user_annotation,
)
from webhook.workloads.job_review import KIND, JobReview, read_job_review
from webhook.workloads.review_context import ReviewContext
from webhook.workloads.workload_side import WorkloadSide, annotation_of, name_of, own_annotations

TEMPLATE = ("spec", "template", "spec")


def mutate_job(review: Review, context: ReviewContext) -> Verdict:
    """Hold and place a new Job; update the queue place of one that its owner holds, enlarges or moves."""
    if review.operation is ReviewOperation.UPDATE and context.is_by_reconciler(review):
        return YES
    edit = read_job_review(review, context)
    if edit.old is None and context.cover is not None:
        return allow_child(edit.job.metadata, context.cover, with_group=False)
    if edit.old is not None and edit.old.metadata.unit:
        return YES
    if edit.group is None:
        return YES if edit.old is not None else verdict_of(check_unmanaged(KIND, edit.job.metadata, context))
    if edit.old is not None and (edit.old.has_finished or edit.old.metadata.is_deleting):
        return YES
    injected = _injection(edit)
    operations = [*_suspend(edit), *_place(edit, injected), *_label_and_annotate(edit, edit.group, injected)]
    return Allow(tuple(operations), audit={"group": edit.group}) if operations else YES


def _injection(edit: JobReview) -> InjectedAnnotation | None:
    """Return the placement that the template must have afterwards; None: unchanged."""
    if not edit.may_be_placed:
        return None
    expected = edit.after.workload.pending_injection
    if edit.old is None and edit.after.workload.injected not in (NOTHING, expected):
        return None
    return expected


def _suspend(edit: JobReview) -> list[Operation]:
    held = edit.old is not None or edit.job.spec.suspend
    return [] if held else [add(("spec", "suspend"), value=True)]


def _place(edit: JobReview, injected: InjectedAnnotation | None) -> list[Operation]:
    if injected is None:
        return []
    return placement_operations(edit.job.spec.template.spec, edit.after.workload.injected, injected, TEMPLATE)


def _label_and_annotate(edit: JobReview, group: str, injected: InjectedAnnotation | None) -> list[Operation]:
    """Set the group, the injected placement and, for an owner's edit, the hold label or the queue place."""
    job, old, labels = edit.job, edit.old, group_label(group)
    old_metadata = None if old is None else old.metadata
    annotations = user_annotation(group, old_metadata, edit.old_group, edit.context)
    drop: tuple[str, ...] = ()
    if old is not None and edit.queue_edit is not None:
        if job.spec.suspend and not old.spec.suspend:
            labels |= {HOLD_LABEL: TRUE}
        requeue = edit.queue_edit.requeue(edit.context.now)
        if requeue is not None:
            annotations[REQUEUE] = write_annotation(requeue)
    if injected is not None:
        more, drop = annotation_of(injected)
        annotations |= more
    return metadata_operations(job.metadata, labels, annotations, drop)


def judge_job(review: Review, context: ReviewContext) -> Verdict:
    """Report every violated rule; the reconciler's own writes are trusted."""
    edit = read_job_review(review, context)
    old = edit.old
    if old is not None and (edit.by_reconciler or old.has_finished):
        return YES
    is_child = old is not None and bool(old.metadata.unit) and (context.by_operator or not edit.joins)
    known = None if old is None or (edit.joins and not is_child) else old.metadata
    forged = check_label(KIND, edit.job.metadata, known, context)
    if old is None and context.cover is not None:
        return verdict_of(forged)
    try:
        if old is not None and is_child:
            return verdict_of(forged + _check_child(old, edit, context))
        found = _check_new(edit, context) if old is None else _check_changed(edit, old, context)
    except QuantityError as error:
        return judge_unreadable(KIND, edit.job.metadata, old.metadata if old else None, error)
    return verdict_of(forged + _check_template_label(edit) + found + _check_sizes(review, edit))


def _check_child(old: Job, edit: JobReview, context: ReviewContext) -> Findings:
    """Only the operator can start or enlarge a Job that it created for a started object."""
    if context.by_operator or edit.before is None:
        return NO_FINDINGS
    was, now = edit.before.progress, edit.after.progress
    return Findings(tuple(check_child_edit(edit.after.workload.name, old.metadata.controller, was, now)))


def _check_template_label(edit: JobReview) -> Findings:
    """Pods of a Job must not claim to belong to a governed object."""
    before = "" if edit.old is None or edit.joins else edit.old.spec.template.metadata.unit
    name, now = name_of(KIND, edit.job.metadata), edit.job.spec.template.metadata.unit
    return Findings(tuple(check_unit(name, before, now, "spec.template.")))


def _check_sizes(review: Review, edit: JobReview) -> Findings:
    if edit.group is None:
        return NO_FINDINGS
    old = None if edit.old is None else (edit.old.metadata, edit.old.spec.template.spec)
    return check_sizes(review, KIND, edit.job.metadata, edit.job.spec.template.spec, old)


def _check_new(edit: JobReview, context: ReviewContext) -> Findings:
    job = edit.job
    if edit.group is None:
        return check_unmanaged(KIND, job.metadata, context)
    submitted = edit.after.submitted
    own = Findings(
        (
            *check_not_started(submitted, None, edit.after.progress),
            *check_annotations_untouched(submitted, *_annotations_at_creation(edit.after.workload, context)),
            *_check_template_annotations(submitted, job, {}),
        )
    )
    return own + check_new_workload(submitted, context.quota)


def _annotations_at_creation(seen: WorkloadSide, context: ReviewContext) -> tuple[dict[str, str], dict[str, str]]:
    """Quotree's annotations as expected, and as given. Anything else was forged by the owner."""
    own = seen.annotations
    injected = annotation_of(seen.pending_injection)[0] if INJECTED in own else {}
    return injected | own_name(own, context), own


def _check_template_annotations(submitted: SubmittedWorkload, job: Job, before: Mapping[str, str]) -> list[Violation]:
    """Pods with Quotree's annotations would count as plain pods. `before`: those that the template already has."""
    own = own_annotations(job.spec.template.metadata.annotations)
    return [
        Violation(each.rule, each.object, f"spec.template.{each.field}", each.message)
        for each in check_annotations_untouched(submitted, before, own)
    ]


def _check_changed(edit: JobReview, old: Job, context: ReviewContext) -> Findings:
    job, group = edit.job, edit.group
    if edit.old_group is None and group is None:
        return NO_FINDINGS
    before, queue_edit = edit.before, edit.queue_edit
    assert before is not None and queue_edit is not None  # noqa: S101, PT018
    injected = edit.after.workload.pending_injection if group is not None and edit.may_be_placed else None
    after = None if group is None else edit.after.submitted
    found = check_edit(
        WorkloadEdit(
            None if edit.old_group is None else before.submitted,
            after,
            before.progress,
            edit.after.progress,
            expected_annotations(
                queue_edit,
                context.now,
                injected,
                own_name(job.metadata.annotations, context) if group != edit.old_group else {},
            ),
        ),
        context.quota,
    )
    if after is None:
        return found
    known = {} if edit.joins else own_annotations(old.spec.template.metadata.annotations)
    return Findings(tuple(_check_template_annotations(after, job, known))) + found
