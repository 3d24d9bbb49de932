"""Reviews of workloads: held and placed at creation, started and placed by the reconciler alone. Pure.

This is written once for all sorts; `webhook.workloads.sorts` has what differs. Mutation and validation are two requests
about the same edit; other webhooks might act in between, so validation relies on nothing but what it sees.

See docs/specification.md §5.2.
"""

from dataclasses import replace
from typing import Any

from shared.api.annotations import InjectedAnnotation, write_annotation
from shared.api.injection import NOTHING
from shared.api.json.patches import Operation
from shared.api.names import HOLD_LABEL, REQUEUE, TRUE
from shared.api.review import Review, ReviewOperation
from shared.quota.model.rules.findings import NO_FINDINGS, Findings
from shared.quota.model.rules.workloads.changed_workload import (
    WorkloadEdit,
    check_annotations_untouched,
    check_kept_when_ended,
    check_not_started,
)
from shared.quota.model.rules.workloads.children import check_child_edit
from shared.quota.model.rules.workloads.new_workload import check_new_workload
from shared.resources import QuantityError
from webhook.verdicts import YES, Allow, Verdict, verdict_of
from webhook.workloads.common import (
    check_label,
    check_sizes,
    expected_annotations,
    group_label,
    judge_unreadable,
    metadata_operations,
    user_annotation,
)
from webhook.workloads.review_context import ReviewContext
from webhook.workloads.sorts.sort import ReviewSort
from webhook.workloads.workload_review import SideT, WorkloadReview
from webhook.workloads.workload_side import annotation_of


def read_workload_review(sort: ReviewSort[SideT], review: Review, context: ReviewContext) -> WorkloadReview[SideT]:
    """Return the review of an object of this sort. Raises Unreadable."""
    old = sort.read(review.old_object, context) if review.operation is ReviewOperation.UPDATE else None
    return WorkloadReview(review, context, sort.read(review.object, context), old)


def mutate(sort: ReviewSort[Any], review: Review, context: ReviewContext) -> Verdict:
    """Hold, label and place a new workload; update the queue place of one that its owner holds, enlarges or moves."""
    if review.operation is ReviewOperation.UPDATE and context.is_by_reconciler(review):
        return YES
    edit = read_workload_review(sort, review, context)
    if sort.is_made(edit):
        return sort.mutate_made(edit)
    if edit.group is None:
        return YES if edit.old is not None else verdict_of(sort.check_ungrouped(edit))
    if sort.is_left_alone(edit):
        return YES
    if edit.old is None and not edit.new.is_readable:
        # The admission policy would deny an object that is not held.
        return verdict_of(Findings(edit.new.flaws))
    operations = _operations(sort, edit, edit.group)
    return Allow(tuple(operations), audit={"group": edit.group}) if operations else YES


def _operations(sort: ReviewSort[SideT], edit: WorkloadReview[SideT], group: str) -> list[Operation]:
    going_on = sort.go_on(edit)
    if going_on:
        return going_on
    injected = _injection(sort, edit)
    return [
        *((*sort.hold(edit.new), *sort.join_pod_group(edit)) if edit.old is None else ()),
        *(() if injected is None else sort.place(edit, injected)),
        *_label_and_annotate(sort, edit, group, injected),
    ]


def _injection(sort: ReviewSort[SideT], edit: WorkloadReview[SideT]) -> InjectedAnnotation | None:
    """Return the placement to inject; None: unchanged, also where a manifest claims another one, which is denied."""
    expected = sort.pending_injection(edit)
    if edit.old is None and edit.new.injected not in (NOTHING, expected):
        return None
    return expected


def _label_and_annotate(
    sort: ReviewSort[SideT], edit: WorkloadReview[SideT], group: str, injected: InjectedAnnotation | None
) -> list[Operation]:
    """Set the group, the injected placement and, for an owner's edit, the hold label or the queue place."""
    labels, annotations = group_label(group), user_annotation(edit, group)
    drop: tuple[str, ...] = ()
    if edit.old is None:
        labels |= sort.label(edit)
    elif edit.new.is_held and not edit.old.is_held:
        labels |= {HOLD_LABEL: TRUE}
    requeue = None if edit.queue_edit is None else edit.queue_edit.requeue(edit.context.now)
    if requeue is not None:
        annotations[REQUEUE] = write_annotation(requeue)
    if injected is not None:
        more, drop = annotation_of(injected)
        annotations |= more
    return metadata_operations(edit.new.metadata, labels, annotations, drop)


def judge(sort: ReviewSort[Any], review: Review, context: ReviewContext) -> Verdict:
    """Report every violated rule; the reconciler's own writes are trusted."""
    edit = read_workload_review(sort, review, context)
    old = edit.old
    if edit.by_reconciler:
        return YES
    if old is not None and old.has_finished:
        before, after, groups = old.metadata.labels, edit.new.metadata.labels, (edit.old_group, edit.group)
        return verdict_of(Findings(tuple(check_kept_when_ended(edit.new.name, before, after, groups))))
    forged = check_label(edit.new.kind, edit.new.metadata, edit.known, context)
    try:
        if sort.is_made(edit):
            return verdict_of(forged + sort.check_made(edit))
        if old is not None and sort.is_part(edit):
            return verdict_of(forged + _check_part(edit, old))
        found = _check_new(sort, edit) if old is None else _check_changed(sort, edit, old)
    except QuantityError as error:
        return judge_unreadable(edit, error)
    return verdict_of(forged + sort.check_template(edit) + found + check_sizes(edit))


def _check_part(edit: WorkloadReview[SideT], old: SideT) -> Findings:
    """Only the operator can start or enlarge what it made for a started object."""
    if edit.context.by_operator:
        return NO_FINDINGS
    was, now = (replace(each.progress, peak=each.peak) for each in (old, edit.new))
    return Findings(tuple(check_child_edit(edit.new.name, old.metadata.controller, was, now)))


def _check_new(sort: ReviewSort[SideT], edit: WorkloadReview[SideT]) -> Findings:
    new, context = edit.new, edit.context
    if edit.group is None:
        return sort.check_ungrouped(edit)
    if not new.is_readable:
        return Findings(new.flaws)
    expected = expected_annotations(edit, sort.pending_injection(edit))
    forged = (
        *new.flaws,
        *check_not_started(new.submitted, None, new.progress),
        *check_annotations_untouched(new.submitted, expected, new.annotations),
    )
    found = Findings(forged) + sort.check_forged(edit) + check_new_workload(new.submitted, context.quota)
    return found if found.violations else found + sort.check_fit(edit)


def _check_changed(sort: ReviewSort[SideT], edit: WorkloadReview[SideT], old: SideT) -> Findings:
    new = edit.new
    if edit.old_group is None and edit.group is None:
        return NO_FINDINGS
    flaws = Findings(() if edit.group is None else new.flaws)
    if not new.is_readable:
        return flaws
    changed = WorkloadEdit(
        None if edit.old_group is None else old.submitted,
        None if edit.group is None else new.submitted,
        old.progress,
        new.progress,
        expected_annotations(edit, sort.pending_injection(edit)),
        edit.follows_queue,
    )
    return flaws + sort.check_changed(edit, changed)
