"""Reviews of objects of governed kinds: held at creation, started only by the reconciler. Pure.

An object of one governed kind that an operator creates for an object of another is not held: the other one is. See
docs/specification.md §13.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from shared.api.annotations import write_annotation
from shared.api.core.pod import PodSpec
from shared.api.names import ADMISSION, HOLD_LABEL, REQUEUE, TRUE, UNIT_LABEL
from shared.api.patches import Operation
from shared.api.review import Operation as ReviewOperation
from shared.api.review import Review
from shared.kinds.kind import Kind
from shared.kinds.kind_object import KindObject, KindPodSet
from shared.kinds.operations import set_name, suspend_operations
from shared.kinds.paths import show
from shared.kinds.reading import read_kind_object
from shared.quota.model.flavor_placement import own_placement
from shared.quota.model.read.jobs import times
from shared.quota.model.rules.findings import NO_FINDINGS, Findings, Violation
from shared.quota.model.rules.workloads.changed_workload import (
    WorkloadEdit,
    WorkloadProgress,
    check_annotations_untouched,
    check_edit,
    check_growth,
    check_not_started,
)
from shared.quota.model.rules.workloads.children import check_child_edit, check_unit
from shared.quota.model.rules.workloads.governed_kind import check_kind_object
from shared.quota.model.rules.workloads.new_workload import check_could_fit, check_new_workload
from shared.quota.model.rules.workloads.object_size import check_size, object_size
from shared.quota.model.rules.workloads.submitted_workload import PodTerms, SubmittedWorkload
from shared.quota.model.tree import Amounts
from shared.resources import QuantityError, sum_amounts
from webhook.verdicts import YES, Allow, Verdict, verdict_of
from webhook.workloads.common import (
    allow_child,
    check_label,
    check_unmanaged,
    expected_annotations,
    group_label,
    injected_annotation,
    judge_unreadable,
    metadata_operations,
    name_of,
    own_annotations,
    peak_of,
    request_of,
)
from webhook.workloads.queue_edit import QueueEdit, requests_more
from webhook.workloads.review_context import ReviewContext


@dataclass(frozen=True, slots=True)
class _KindReview:
    """A review of an object. `old` None: creation; `group` None: not managed."""

    seen: KindObject
    old: KindObject | None
    group: str | None
    old_group: str | None
    by_reconciler: bool

    @property
    def word(self) -> str:
        """The kind as in manifests."""
        return self.seen.kind.kind

    @property
    def name(self) -> str:
        """The object as violations name it."""
        return name_of(self.word, self.seen.metadata)


def _read(kind: Kind, review: Review, context: ReviewContext) -> _KindReview:
    seen = read_kind_object(kind, review.object)
    old = read_kind_object(kind, review.old_object) if review.operation is ReviewOperation.UPDATE else None
    return _KindReview(
        seen,
        old,
        None if seen.skipped else context.group_of(seen.metadata.labels),
        None if old is None or old.skipped else context.group_of(old.metadata.labels),
        context.is_by_reconciler(review),
    )


def mutate_kind_object(kind: Kind, review: Review, context: ReviewContext) -> Verdict:
    """Hold a new object; update the queue place of one that its owner holds, enlarges or moves."""
    if review.operation is ReviewOperation.UPDATE and context.is_by_reconciler(review):
        return YES
    edit = _read(kind, review, context)
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


def _label_and_annotate(edit: _KindReview, group: str, context: ReviewContext) -> list[Operation]:
    """Set the group and, for an owner's edit, the hold label or the queue place."""
    labels, annotations, old = group_label(group), {}, edit.old
    if old is not None:
        if edit.seen.suspended and not old.suspended:
            labels |= {HOLD_LABEL: TRUE}
        requeue = _queue_edit(edit, old, context).requeue(context.now)
        if requeue is not None:
            annotations[REQUEUE] = write_annotation(requeue)
    return metadata_operations(edit.seen.metadata, labels, annotations)


def judge_kind_object(kind: Kind, review: Review, context: ReviewContext) -> Verdict:
    """Report every violated rule; the reconciler's own writes are trusted."""
    edit = _read(kind, review, context)
    seen, old = edit.seen, edit.old
    if old is not None and (edit.by_reconciler or old.finished):
        return YES
    forged = check_label(edit.word, seen.metadata, None if old is None else old.metadata, context)
    if old is None and context.cover is not None:
        return verdict_of(forged)
    try:
        if old is not None and old.metadata.unit:
            return verdict_of(forged + _check_child(edit, old, context))
        found = _check_new(edit, context) if old is None else _check_changed(edit, old, context)
    except QuantityError as error:
        return judge_unreadable(edit.word, seen.metadata, None if old is None else old.metadata, error)
    return verdict_of(forged + found + _check_sizes(review, edit))


def _check_child(edit: _KindReview, old: KindObject, context: ReviewContext) -> Findings:
    if context.by_operator:
        return NO_FINDINGS
    owner = old.metadata.controller
    was, now = _progress(old, context), _progress(edit.seen, context)
    return Findings(tuple(check_child_edit(edit.name, owner, was, now)))


def _check_new(edit: _KindReview, context: ReviewContext) -> Findings:
    seen = edit.seen
    if edit.group is None:
        return NO_FINDINGS if seen.skipped else check_unmanaged(edit.word, seen.metadata, context)
    unfit = tuple(check_kind_object(edit.name, seen))
    if seen.problems:
        return Findings(unfit)
    submitted = _submitted(edit, seen, edit.group, context)
    own = own_annotations(seen.metadata.annotations)
    forged = (
        *unfit,
        *check_not_started(submitted, None, _progress(seen, context)),
        *check_annotations_untouched(submitted, {}, own),
        *_check_templates(edit.name, submitted, seen, ""),
    )
    found = Findings(forged) + check_new_workload(submitted, context.quota)
    return found if found.violations else found + _check_fit(submitted, seen, context)


def _check_templates(name: str, submitted: SubmittedWorkload, seen: KindObject, unit: str) -> Iterator[Violation]:
    """Pods with Quotree's annotations or another label would count as plain pods, or for another object."""
    for each in seen.pod_sets:
        place = show(each.template)
        for found in check_annotations_untouched(submitted, {}, own_annotations(each.annotations)):
            yield Violation(found.rule, found.object, f"{place}.{found.field}", found.message)
        yield from check_unit(name, unit, _unit_of(each), f"{place}.")


def _unit_of(pod_set: KindPodSet) -> str:
    return str((pod_set.labels.value or {}).get(UNIT_LABEL, ""))


def _check_fit(submitted: SubmittedWorkload, seen: KindObject, context: ReviewContext) -> Findings:
    """Whether each pod set could ever start."""
    found = NO_FINDINGS
    injected = injected_annotation(seen.metadata.annotations)
    for each in seen.pod_sets:
        request = times(request_of(each.spec, 1, context), each.count)
        placement = own_placement(each.spec, injected.of(set_name(seen, each)))
        one = replace(submitted, request=request, placement=placement, pods=each.count)
        found += check_could_fit(one, context.quota)
    return Findings(tuple(dict.fromkeys(found.violations)), tuple(dict.fromkeys(found.warnings)))


def _check_changed(edit: _KindReview, old: KindObject, context: ReviewContext) -> Findings:
    seen = edit.seen
    if edit.old_group is None and edit.group is None:
        return NO_FINDINGS
    broken = tuple(check_kind_object(edit.name, seen)) if edit.group is not None else ()
    if seen.problems:
        return Findings(broken)
    after = None if edit.group is None else _submitted(edit, seen, edit.group, context)
    changed = WorkloadEdit(
        None if edit.old_group is None else _submitted(edit, old, edit.old_group, context),
        after,
        replace(_progress(old, context), peak={}),
        replace(_progress(seen, context), peak={}),
        expected_annotations(_queue_edit(edit, old, context), context.now, None),
    )
    found = Findings(broken) + check_edit(changed, context.quota)
    if after is None:
        return found
    return found + Findings((*_check_set_growth(changed, old, seen, context), *_check_running(edit, old, after)))


def _check_set_growth(
    edit: WorkloadEdit, old: KindObject, seen: KindObject, context: ReviewContext
) -> Iterator[Violation]:
    """No pod set can grow: each was admitted in flavors of its own."""
    before = {each.name: _request(each, context) for each in old.pod_sets}
    for each in seen.pod_sets:
        was, now = replace(edit.was, peak=before.get(each.name, {})), replace(edit.now, peak=_request(each, context))
        yield from check_growth(replace(edit, was=was, now=now))


def _check_running(edit: _KindReview, old: KindObject, after: SubmittedWorkload) -> Iterator[Violation]:
    """Every template of a running object must carry its label; otherwise its pods would not be counted."""
    is_started = not old.suspended and ADMISSION in old.metadata.annotations
    if is_started and not edit.seen.suspended:
        yield from _check_templates(edit.name, after, edit.seen, old.metadata.uid)


def _submitted(edit: _KindReview, seen: KindObject, group: str, context: ReviewContext) -> SubmittedWorkload:
    """The object as its owner wrote it; its request is checked by pod set."""
    return SubmittedWorkload(
        object=edit.name,
        group=group,
        namespace=seen.metadata.namespace or "default",
        labels=seen.metadata.labels,
        namespace_labels=context.namespace.namespace_labels,
        pods=0,
        terms=tuple(PodTerms.of(each.spec, context.namespace) for each in seen.pod_sets),
        suspend=show(seen.kind.suspend),
    )


def _queue_edit(edit: _KindReview, old: KindObject, context: ReviewContext) -> QueueEdit:
    try:
        was, now = (_total(each, context) for each in (old, edit.seen))
        is_more = edit.old_group != edit.group or requests_more(was, now)
    except QuantityError:
        is_more = False
    return QueueEdit(old.metadata, edit.seen.metadata, old.suspended and edit.seen.suspended, is_more)


def _progress(seen: KindObject, context: ReviewContext) -> WorkloadProgress:
    annotations = own_annotations(seen.metadata.annotations)
    return WorkloadProgress(held=seen.suspended, annotations=annotations, peak=_total(seen, context))


def _total(seen: KindObject, context: ReviewContext) -> Amounts:
    return sum_amounts(_request(each, context) for each in seen.pod_sets)


def _request(pod_set: KindPodSet, context: ReviewContext) -> Amounts:
    return peak_of(pod_set.spec, pod_set.count, context)


def _check_sizes(review: Review, edit: _KindReview) -> Findings:
    """Check the sizes of the object and of each pod set's pods."""
    if edit.group is None:
        return NO_FINDINGS
    old = edit.old
    old_specs = {} if old is None else {each.name: each.spec for each in old.pod_sets}
    found: dict[Violation, None] = {}
    for name, spec in [("", PodSpec()), *((each.name, each.spec) for each in edit.seen.pod_sets)]:
        after = object_size(len(bytes(review.object)), edit.seen.metadata, spec)
        before = (
            None
            if old is None
            else object_size(len(bytes(review.old_object)), old.metadata, old_specs.get(name, PodSpec()))
        )
        found.update(dict.fromkeys(check_size(edit.name, before, after)))
    return Findings(tuple(found))
