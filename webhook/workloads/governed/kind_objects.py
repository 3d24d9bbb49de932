"""Reviews of objects of governed kinds: held at creation, started only by the reconciler. Pure.

An object of one governed kind that an operator creates for an object of another is not held: the other one is. See
docs/specification.md §13.
"""

from dataclasses import replace

from shared.api.annotations import write_annotation
from shared.api.names import HOLD_LABEL, REQUEUE, TRUE
from shared.api.patches import Operation
from shared.api.review import Review, ReviewOperation
from shared.kinds.kind import Kind
from shared.kinds.kind_object import KindObject
from shared.kinds.operations import suspend_operations
from shared.quota.model.rules.findings import NO_FINDINGS, Findings
from shared.quota.model.rules.workloads.changed_workload import (
    WorkloadEdit,
    check_annotations_untouched,
    check_edit,
    check_not_started,
)
from shared.quota.model.rules.workloads.children import check_child_edit
from shared.quota.model.rules.workloads.governed_kind import check_kind_object, check_scale
from shared.quota.model.rules.workloads.new_workload import check_new_workload
from shared.resources import QuantityError
from webhook.verdicts import YES, Allow, Verdict, verdict_of
from webhook.workloads.common import (
    allow_child,
    check_label,
    check_unmanaged,
    expected_annotations,
    group_label,
    judge_unreadable,
    metadata_operations,
    own_name,
    user_annotation,
)
from webhook.workloads.governed.kind_review import (
    KindReview,
    progress_of,
    queue_edit,
    read_kind_review,
    read_scale,
    submitted_object,
)
from webhook.workloads.governed.pod_set_checks import (
    check_running,
    check_set_growth,
    check_set_sizes,
    check_sets_fit,
    check_templates,
)
from webhook.workloads.review_context import ReviewContext
from webhook.workloads.workload_side import own_annotations


def mutate_kind_object(kind: Kind, review: Review, context: ReviewContext) -> Verdict:
    """Hold a new object; update the queue place of one that its owner holds, enlarges or moves."""
    if review.operation is ReviewOperation.UPDATE and context.is_by_reconciler(review):
        return YES
    edit = read_kind_review(kind, review, context)
    seen, old = edit.seen, edit.old
    if old is None and context.cover is not None:
        return allow_child(seen.metadata, context.cover, with_group=False)
    if edit.group is None:
        is_new = old is None and not seen.skipped
        return verdict_of(check_unmanaged(edit.word, seen.metadata, context)) if is_new else YES
    if old is not None and (old.metadata.unit or old.finished or old.metadata.is_deleting):
        return YES
    if old is None and seen.problems:
        # The admission policy would deny an object that is not held.
        return verdict_of(Findings(tuple(check_kind_object(edit.name, seen))))
    hold = suspend_operations(seen, value=True) if old is None else []
    operations = [*hold, *_label_and_annotate(edit, edit.group, context)]
    return Allow(tuple(operations), audit={"group": edit.group}) if operations else YES


def _label_and_annotate(edit: KindReview, group: str, context: ReviewContext) -> list[Operation]:
    """Set the group and, for an owner's edit, the hold label or the queue place."""
    labels, old = group_label(group), edit.old
    annotations = user_annotation(group, None if old is None else old.metadata, edit.old_group, context)
    if old is not None:
        if edit.seen.suspended and not old.suspended:
            labels |= {HOLD_LABEL: TRUE}
        requeue = queue_edit(edit, old).requeue(context.now)
        if requeue is not None:
            annotations[REQUEUE] = write_annotation(requeue)
    return metadata_operations(edit.seen.metadata, labels, annotations)


def judge_kind_object(kind: Kind, review: Review, context: ReviewContext) -> Verdict:
    """Report every violated rule; the reconciler's own writes are trusted."""
    edit = read_kind_review(kind, review, context)
    seen, old = edit.seen, edit.old
    if old is not None and (edit.by_reconciler or old.finished):
        return YES
    is_child = old is not None and bool(old.metadata.unit) and (context.by_operator or not edit.joins)
    known = None if old is None or (edit.joins and not is_child) else old.metadata
    forged = check_label(edit.word, seen.metadata, known, context)
    if old is None and context.cover is not None:
        return verdict_of(forged)
    try:
        if old is not None and is_child:
            return verdict_of(forged + _check_child(edit, old, context))
        found = _check_new(edit, context) if old is None else _check_changed(edit, old, context)
    except QuantityError as error:
        return judge_unreadable(edit.word, seen.metadata, None if old is None else old.metadata, error)
    return verdict_of(forged + found + check_set_sizes(review, edit))


def _check_child(edit: KindReview, old: KindObject, context: ReviewContext) -> Findings:
    if context.by_operator:
        return NO_FINDINGS
    owner = old.metadata.controller
    was, now = progress_of(old, edit.sets_before), progress_of(edit.seen, edit.sets_after)
    return Findings(tuple(check_child_edit(edit.name, owner, was, now)))


def _check_new(edit: KindReview, context: ReviewContext) -> Findings:
    seen = edit.seen
    if edit.group is None:
        return NO_FINDINGS if seen.skipped else check_unmanaged(edit.word, seen.metadata, context)
    unfit = tuple(check_kind_object(edit.name, seen))
    if seen.problems:
        return Findings(unfit)
    submitted = submitted_object(edit, seen, edit.group, context)
    own = own_annotations(seen.metadata.annotations)
    forged = (
        *unfit,
        *check_not_started(submitted, None, progress_of(seen, edit.sets_after)),
        *check_annotations_untouched(submitted, own_name(own, context), own),
        *check_templates(edit.name, submitted, seen, ""),
    )
    found = Findings(forged) + check_new_workload(submitted, context.quota)
    return found if found.violations else found + check_sets_fit(submitted, edit)


def _check_changed(edit: KindReview, old: KindObject, context: ReviewContext) -> Findings:
    seen = edit.seen
    if edit.old_group is None and edit.group is None:
        return NO_FINDINGS
    broken = tuple(check_kind_object(edit.name, seen)) if edit.group is not None else ()
    if seen.problems:
        return Findings(broken)
    after = None if edit.group is None else submitted_object(edit, seen, edit.group, context)
    changed = WorkloadEdit(
        None if edit.old_group is None else submitted_object(edit, old, edit.old_group, context),
        after,
        replace(progress_of(old, ()), peak={}),
        replace(progress_of(seen, ()), peak={}),
        expected_annotations(
            queue_edit(edit, old),
            context.now,
            None,
            own_name(seen.metadata.annotations, context) if edit.group != edit.old_group else {},
        ),
    )
    found = Findings(broken) + check_edit(changed, context.quota)
    if after is None:
        return found
    forged = check_templates(edit.name, after, seen, "") if edit.joins else ()
    return found + Findings((*forged, *check_set_growth(changed, old, edit), *check_running(edit, old, after)))


def judge_scale(review: Review, managed: str | None) -> Verdict:
    """Deny to raise an object by its scale subresource. `managed`: its kind, if it or what it is made for is managed.

    Every HorizontalPodAutoscaler uses it, as an account of kube-system, for the tenant who made the autoscaler.
    """
    if managed is None:
        return YES
    was, now = read_scale(review.old_object).spec.replicas, read_scale(review.object).spec.replicas
    return verdict_of(Findings(tuple(check_scale(managed, review.name, was, now))))
