"""A plain pod is gated at creation, and released only by the reconciler. Pure.

A pod of a managed Job is not held, because the Job is. It gets the group of its Job, which it keeps when it is
orphaned, and no other label of Quotree's: its template's were never judged. See docs/specification.md §5.2 and §5.6.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import msgspec

from shared.api.core.pod import Pod, read_pod
from shared.api.json.patches import Operation, add
from shared.api.names import GATE, JOB_OWNER_LABEL
from shared.quota.model.flavor_placement import own_placement
from shared.quota.model.read.pods import is_covered
from shared.quota.model.rules.findings import NO_FINDINGS, Findings
from shared.quota.model.rules.workloads.changed_workload import (
    WorkloadEdit,
    WorkloadProgress,
    check_annotations_untouched,
    check_frozen,
    check_group_kept,
    check_growth,
    check_job_kept,
)
from shared.quota.model.rules.workloads.submitted_workload import SubmittedWorkload
from webhook.verdicts import YES, Allow, Verdict
from webhook.workloads.common import allow_child, drop_own_words, group_label, metadata_operations
from webhook.workloads.governed.gated_kinds import pod_group_labels
from webhook.workloads.governed.made_by_pods import check_made_pod
from webhook.workloads.review_context import ReviewContext
from webhook.workloads.sorts.sort import ReviewSort
from webhook.workloads.workload_review import WorkloadReview
from webhook.workloads.workload_side import PodSetSide, WorkloadSide

MIRROR: Final = "kubernetes.io/config.mirror"
"""On pods that a kubelet created from a file: they run already."""


@dataclass(frozen=True)
class PodSide(WorkloadSide):
    """A pod on one side of a review."""

    pod: Pod

    @property
    def is_held(self) -> bool:
        """Whether it is gated."""
        return self.pod.is_gated

    @property
    def has_finished(self) -> bool:
        """Whether its containers have stopped for good."""
        return self.pod.has_ended

    @cached_property
    def pod_sets(self) -> tuple[PodSetSide, ...]:
        """The pod, alone."""
        return (PodSetSide(self.pod.spec, 1, self.context),)

    @cached_property
    def submitted(self) -> SubmittedWorkload:
        """The pod as its owner wrote it. Raises QuantityError."""
        (pod,) = self.pod_sets
        placement = own_placement(pod.spec, self.injected)
        return replace(self.described(), request=pod.request, placement=placement)

    @cached_property
    def progress(self) -> WorkloadProgress:
        """How far it has come. Raises QuantityError."""
        owner = self.pod.owner_job
        return WorkloadProgress(
            held=self.is_held,
            has_pods=not self.is_held,
            job=(owner, self.metadata.labels.get(JOB_OWNER_LABEL, "")) if owner else (),
            annotations=self.annotations,
            peak={} if self.group is None else self.submitted.request,
        )


class PodReviews(ReviewSort[PodSide]):
    """How reviews of pods differ."""

    def read(self, body: msgspec.Raw, context: ReviewContext) -> PodSide:
        """Return the pod, of one side of a review."""
        pod = read_pod(body)
        return PodSide("Pod", pod.metadata, context.group_of(pod.metadata.labels), context, pod)

    def hold(self, new: PodSide) -> list[Operation]:
        """Gate it."""
        if new.is_held:
            return []
        gate: Mapping[str, str] = {"name": GATE}
        if new.pod.spec.scheduling_gates:
            return [add(("spec", "schedulingGates", "-"), gate)]
        return [add(("spec", "schedulingGates"), [gate])]

    def label(self, edit: WorkloadReview[PodSide]) -> Mapping[str, str]:
        """Return the labels of the pod group that its operator has put it in."""
        return pod_group_labels(edit.new.metadata, edit.context.kinds)

    def is_made(self, edit: WorkloadReview[PodSide]) -> bool:
        """Return whether a new pod was made for another object, or runs already."""
        return super().is_made(edit) or (edit.old is None and _passes(edit))

    def mutate_made(self, edit: WorkloadReview[PodSide]) -> Verdict:
        """Give it the group of what accounts for it, and no other label of Quotree's."""
        metadata, of_job = edit.new.metadata, _group_of_its_job(edit)
        if edit.context.cover is not None:
            return allow_child(metadata, edit.context.cover, with_group=True)
        if of_job is None:
            return YES
        labels = {} if edit.group == of_job else group_label(of_job)
        operations = [*metadata_operations(metadata, labels, {}), *drop_own_words(metadata)]
        return Allow(tuple(operations)) if operations else YES

    def check_made(self, edit: WorkloadReview[PodSide]) -> Findings:
        """A pod with an admission of its own would count as a plain pod."""
        cover = edit.context.cover
        if cover is None and edit.group is None:
            return NO_FINDINGS
        submitted = edit.new.submitted if cover is None else SubmittedWorkload(edit.new.name, "")
        forged = check_annotations_untouched(submitted, {}, edit.new.annotations)
        exceeding = () if cover is None or cover.at_most is None else check_made_pod(edit.new, cover.at_most)
        return Findings((*forged, *exceeding))

    def is_left_alone(self, edit: WorkloadReview[PodSide]) -> bool:
        """Return whether another object accounts for it, or it has ended."""
        old = edit.old
        return old is not None and (_passes(edit) or old.has_finished or is_covered(old.pod))

    def is_part(self, _edit: WorkloadReview[PodSide]) -> bool:
        """Return False: an operator's pod has the group of the object it was made for, and is judged by that."""
        return False

    def check_ungrouped(self, edit: WorkloadReview[PodSide]) -> Findings:
        """Judge a new pod that has no group; one of a Job was judged with the Job."""
        is_of_job = edit.new.pod.owner_job is not None and edit.context.is_by_job_controller(edit.review)
        return NO_FINDINGS if is_of_job else super().check_ungrouped(edit)

    def check_changed(self, edit: WorkloadReview[PodSide], changed: WorkloadEdit) -> Findings:
        """Judge the edit; the start of a pod that another object accounts for is that object's."""
        is_own = edit.old is None or not is_covered(edit.old.pod)
        return super().check_changed(edit, changed) if is_own else _check_covered(changed)


def _check_covered(edit: WorkloadEdit) -> Findings:
    """Check annotations and growth of the pod, and that it keeps its group and Job."""
    if edit.after is None:
        return Findings(tuple(check_group_kept(edit)))
    annotations = check_annotations_untouched(edit.after, edit.expected_annotations, edit.now.annotations)
    frozen = () if edit.before is None else check_frozen(edit)
    return Findings((*annotations, *frozen, *check_growth(edit), *check_job_kept(edit)))


def _passes(edit: WorkloadReview[PodSide]) -> bool:
    """Return whether the pod is no workload of its own: created by a kubelet, or covered by its Job."""
    is_mirror = MIRROR in edit.new.metadata.annotations and "system:nodes" in edit.review.user_info.groups
    return is_mirror or _group_of_its_job(edit) is not None


def _group_of_its_job(edit: WorkloadReview[PodSide]) -> str | None:
    """Return the group of the Job that covers this new pod; None when none does.

    A Job covers the pods that Kubernetes' Job controller creates for it: owned by it, and labelled with its uid. The
    same pod from any other user could request more than the Job was started with, or outlive it.
    """
    pod, context = edit.new.pod, edit.context
    owner = pod.owner_job
    if owner is None or pod.is_gated or not context.is_by_job_controller(edit.review):
        return None
    return context.job_group(owner) if pod.metadata.labels.get(JOB_OWNER_LABEL) == owner else None


POD: Final = PodReviews()
