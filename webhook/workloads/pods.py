"""Reviews of plain pods: gated at creation, released only by the reconciler. Pure.

A pod of a managed Job is not held, because the Job is. It gets the group of its Job, which it keeps when it is
orphaned, and no other label of Quotree's: its template's were never judged. See docs/specification.md §5.2 and §5.6.
"""

from collections.abc import Mapping
from typing import Final

from shared.api.annotations import write_annotation
from shared.api.core.pod import Pod, read_pod
from shared.api.names import GATE, JOB_OWNER_LABEL, REQUEUE
from shared.api.patches import Operation, add
from shared.api.review import Review, ReviewOperation
from shared.quota.model.read.pods import is_covered
from shared.quota.model.rules.findings import NO_FINDINGS, Findings
from shared.quota.model.rules.workloads.changed_workload import (
    WorkloadEdit,
    WorkloadProgress,
    check_annotations_untouched,
    check_edit,
    check_frozen,
    check_group_kept,
    check_growth,
    check_job_kept,
    check_not_started,
)
from shared.quota.model.rules.workloads.new_workload import check_new_workload
from shared.quota.model.rules.workloads.submitted_workload import SubmittedWorkload
from shared.resources import QuantityError
from webhook.verdicts import YES, Allow, Verdict, verdict_of
from webhook.workloads.common import (
    allow_child,
    check_label,
    check_sizes,
    check_unmanaged,
    drop_own_words,
    expected_annotations,
    group_label,
    judge_unreadable,
    metadata_operations,
    own_name,
    user_annotation,
)
from webhook.workloads.governed.gated_kinds import pod_group_labels
from webhook.workloads.queue_edit import QueueEdit
from webhook.workloads.review_context import ReviewContext
from webhook.workloads.workload_side import PodSetSide, WorkloadSide, as_judged, name_of, own_annotations

KIND: Final = "Pod"
MIRROR: Final = "kubernetes.io/config.mirror"
"""On pods that a kubelet created from a file: they run already."""


def mutate_pod(review: Review, context: ReviewContext) -> Verdict:
    """Gate a new plain pod; update the queue place of one that its owner changes."""
    if review.operation is ReviewOperation.UPDATE and context.is_by_reconciler(review):
        return YES
    pod = read_pod(review.object)
    if review.operation is ReviewOperation.CREATE and context.cover is not None:
        return allow_child(pod.metadata, context.cover, with_group=True)
    group = context.group_of(pod.metadata.labels)
    jobs_group = _group_of_its_job(pod, review, context)
    if review.operation is ReviewOperation.CREATE and jobs_group is not None:
        operations = _label_as_its_job(pod, group, jobs_group)
        return Allow(tuple(operations)) if operations else YES
    if group is None or _passes(pod, review, context):
        return YES
    if review.operation is ReviewOperation.CREATE:
        labels = group_label(group) | pod_group_labels(pod.metadata, context.kinds)
        user = user_annotation(group, None, None, context)
        operations = [*_gate(pod), *metadata_operations(pod.metadata, labels, user)]
        return Allow(tuple(operations), audit={"group": group})
    old = read_pod(review.old_object)
    if old.has_ended or is_covered(old):
        return YES
    requeue = _queue_edit(old, pod, context).requeue(context.now)
    annotations = user_annotation(group, old.metadata, context.group_of(old.metadata.labels), context)
    if requeue is not None:
        annotations[REQUEUE] = write_annotation(requeue)
    operations = metadata_operations(pod.metadata, group_label(group), annotations)
    return Allow(tuple(operations)) if operations else YES


def _label_as_its_job(pod: Pod, group: str | None, jobs_group: str) -> list[Operation]:
    labels = {} if group == jobs_group else group_label(jobs_group)
    return [*metadata_operations(pod.metadata, labels, {}), *drop_own_words(pod.metadata)]


def _gate(pod: Pod) -> list[Operation]:
    if pod.is_gated:
        return []
    gate: Mapping[str, str] = {"name": GATE}
    if pod.spec.scheduling_gates:
        return [add(("spec", "schedulingGates", "-"), gate)]
    return [add(("spec", "schedulingGates"), [gate])]


def _passes(pod: Pod, review: Review, context: ReviewContext) -> bool:
    """Return whether the pod is not reviewed: created by a kubelet, or covered by its Job."""
    return _is_mirror(pod, review) or _group_of_its_job(pod, review, context) is not None


def _group_of_its_job(pod: Pod, review: Review, context: ReviewContext) -> str | None:
    """Return the group of the Job that covers this new pod; None when none does.

    A Job covers the pods that Kubernetes' Job controller creates for it: owned by it, and labelled with its uid. The
    same pod from any other user could request more than the Job was started with, or outlive it.
    """
    owner = pod.owner_job
    if owner is None or pod.is_gated or not context.is_by_job_controller(review):
        return None
    return context.job_group(owner) if pod.metadata.labels.get(JOB_OWNER_LABEL) == owner else None


def judge_pod(review: Review, context: ReviewContext) -> Verdict:
    """Report every violated rule; the reconciler's own writes are trusted."""
    pod = read_pod(review.object)
    old = read_pod(review.old_object) if review.operation is ReviewOperation.UPDATE else None
    if old is not None and (context.is_by_reconciler(review) or old.has_ended):
        return YES
    joins = old is not None and _joins(old, pod, context)
    known = None if old is None or (joins and not context.by_operator) else old.metadata
    forged = check_label(KIND, pod.metadata, known, context)
    if old is None and context.cover is not None:
        return verdict_of(forged + _check_annotations(pod))
    try:
        found = _check_new(pod, review, context) if old is None else _check_changed(old, pod, context)
    except QuantityError as error:
        return judge_unreadable(KIND, pod.metadata, old.metadata if old else None, error)
    return verdict_of(forged + found + _check_sizes(pod, old, review, context))


def _check_annotations(pod: Pod) -> Findings:
    """A pod with an admission of its own would count as a plain pod."""
    named = SubmittedWorkload(name_of(KIND, pod.metadata), "")
    return Findings(tuple(check_annotations_untouched(named, {}, own_annotations(pod.metadata.annotations))))


def _check_sizes(pod: Pod, old: Pod | None, review: Review, context: ReviewContext) -> Findings:
    if context.group_of(pod.metadata.labels) is None or (old is None and _passes(pod, review, context)):
        return NO_FINDINGS
    return check_sizes(review, KIND, pod.metadata, pod.spec, None if old is None else (old.metadata, old.spec))


def _check_new(pod: Pod, review: Review, context: ReviewContext) -> Findings:
    group = context.group_of(pod.metadata.labels)
    if group is None:
        is_judged_elsewhere = pod.owner_job is not None and context.is_by_job_controller(review)
        return (
            NO_FINDINGS
            if is_judged_elsewhere or _is_mirror(pod, review)
            else check_unmanaged(KIND, pod.metadata, context)
        )
    submitted = _submitted(pod, group, context)
    own = own_annotations(pod.metadata.annotations)
    forged = Findings(tuple(check_annotations_untouched(submitted, own_name(own, context), own)))
    if _passes(pod, review, context):
        return forged
    held = Findings(tuple(check_not_started(submitted, None, _progress(pod, submitted))))
    return held + forged + check_new_workload(submitted, context.quota)


def _check_changed(old: Pod, pod: Pod, context: ReviewContext) -> Findings:
    was, now = context.group_of(old.metadata.labels), context.group_of(pod.metadata.labels)
    if was is None and now is None:
        return NO_FINDINGS
    before = None if was is None else _submitted(old, was, context)
    after = None if now is None else _submitted(pod, now, context)
    user = own_name(pod.metadata.annotations, context) if was != now else {}
    expected = expected_annotations(_queue_edit(old, pod, context), context.now, None, user)
    edit = WorkloadEdit(before, after, _progress(old, before), _progress(pod, after), expected)
    if is_covered(old):
        return _check_covered_by_job(edit)
    return check_edit(edit, context.quota)


def _check_covered_by_job(edit: WorkloadEdit) -> Findings:
    """Check annotations and growth of the pod, and that it keeps its group and Job; its start is its Job's."""
    if edit.after is None:
        return Findings(tuple(check_group_kept(edit)))
    submitted = edit.after or edit.before
    annotations = (
        check_annotations_untouched(submitted, edit.expected_annotations, edit.now.annotations) if submitted else ()
    )
    frozen = () if edit.before is None else check_frozen(edit)
    return Findings((*annotations, *frozen, *check_growth(edit), *check_job_kept(edit)))


def _submitted(pod: Pod, group: str, context: ReviewContext) -> SubmittedWorkload:
    return WorkloadSide(KIND, pod.metadata, PodSetSide(pod.spec, 1, context), group).submitted


def _joins(old: Pod, pod: Pod, context: ReviewContext) -> bool:
    """Return whether the edit makes the pod managed: it is judged as if it were created."""
    was, now = context.group_of(old.metadata.labels), context.group_of(pod.metadata.labels)
    return was is None and now is not None


def _queue_edit(old: Pod, pod: Pod, context: ReviewContext) -> QueueEdit:
    was = context.group_of(old.metadata.labels)
    moves = was != context.group_of(pod.metadata.labels)
    return QueueEdit(as_judged(old.metadata, was), pod.metadata, old.is_gated and pod.is_gated, moves)


def _progress(pod: Pod, submitted: SubmittedWorkload | None) -> WorkloadProgress:
    return WorkloadProgress(
        held=pod.is_gated,
        has_pods=not pod.is_gated,
        job=(pod.owner_job, pod.metadata.labels.get(JOB_OWNER_LABEL, "")) if pod.owner_job else (),
        annotations=own_annotations(pod.metadata.annotations),
        peak={} if submitted is None else submitted.request,
    )


def _is_mirror(pod: Pod, review: Review) -> bool:
    return MIRROR in pod.metadata.annotations and "system:nodes" in review.user_info.groups
