"""One review of an object of a governed kind, read: the object before and after, its groups, its request. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from shared.api.core.metadata import Metadata
from shared.api.reading import Int32, View, reader
from shared.api.review import Review, ReviewOperation
from shared.kinds.kind import Kind
from shared.kinds.kind_object import KindObject
from shared.kinds.paths import show
from shared.kinds.reading import read_kind_object
from shared.quota.model.rules.workloads.changed_workload import WorkloadProgress
from shared.quota.model.rules.workloads.submitted_workload import PodTerms, SubmittedWorkload
from shared.quota.model.tree import Amounts
from shared.resources import QuantityError, sum_amounts
from webhook.workloads.queue_edit import QueueEdit, requests_more
from webhook.workloads.review_context import ReviewContext
from webhook.workloads.workload_side import PodSetSide, as_judged, name_of, own_annotations


@dataclass(frozen=True)
class KindReview:
    """A review of an object. `old` None: creation; `group` None: not managed."""

    seen: KindObject
    old: KindObject | None
    group: str | None
    old_group: str | None
    by_reconciler: bool
    context: ReviewContext

    @property
    def joins(self) -> bool:
        """Whether the edit makes it managed: it is judged as if it were created."""
        return self.old is not None and self.old_group is None and self.group is not None

    @property
    def word(self) -> str:
        """The kind as in manifests."""
        return self.seen.kind.kind

    @property
    def name(self) -> str:
        """The object as violations name it."""
        return name_of(self.word, self.seen.metadata)

    @cached_property
    def sets_after(self) -> tuple[PodSetSide, ...]:
        """Its pod sets after the edit, in their order."""
        return tuple(PodSetSide(each.spec, each.count, self.context) for each in self.seen.pod_sets)

    @cached_property
    def sets_before(self) -> tuple[PodSetSide, ...]:
        """Its pod sets before the edit, in their order."""
        sets = () if self.old is None else self.old.pod_sets
        return tuple(PodSetSide(each.spec, each.count, self.context) for each in sets)


class _ScaleSpec(View, frozen=True):
    replicas: Int32 = 0


class _Scale(View, frozen=True):
    """What the scale subresource shows of an object: no labels, and nothing of what its pods request."""

    metadata: Metadata = Metadata()
    spec: _ScaleSpec = _ScaleSpec()


read_scale = reader(_Scale)


def read_kind_review(kind: Kind, review: Review, context: ReviewContext) -> KindReview:
    seen = read_kind_object(kind, review.object)
    old = read_kind_object(kind, review.old_object) if review.operation is ReviewOperation.UPDATE else None
    return KindReview(
        seen,
        old,
        None if seen.skipped else context.group_of(seen.metadata.labels),
        None if old is None or old.skipped else context.group_of(old.metadata.labels),
        context.is_by_reconciler(review),
        context,
    )


def submitted_object(edit: KindReview, seen: KindObject, group: str, context: ReviewContext) -> SubmittedWorkload:
    """Return the object as its owner wrote it; its request is checked by pod set."""
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


def queue_edit(edit: KindReview, old: KindObject) -> QueueEdit:
    try:
        was, now = _total(edit.sets_before), _total(edit.sets_after)
        is_more = edit.old_group != edit.group or requests_more(was, now)
    except QuantityError:
        is_more = False
    return QueueEdit(
        as_judged(old.metadata, edit.old_group), edit.seen.metadata, old.suspended and edit.seen.suspended, is_more
    )


def progress_of(seen: KindObject, pod_sets: Sequence[PodSetSide]) -> WorkloadProgress:
    annotations = own_annotations(seen.metadata.annotations)
    return WorkloadProgress(held=seen.suspended, annotations=annotations, peak=_total(pod_sets))


def _total(pod_sets: Sequence[PodSetSide]) -> Amounts:
    return sum_amounts(each.peak for each in pod_sets)
