"""The interface: what differs in the reviews of one sort of workload. Pure."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Generic

import msgspec

from shared.api.annotations import InjectedAnnotation
from shared.api.json.patches import Operation
from shared.quota.model.rules.findings import NO_FINDINGS, Findings
from shared.quota.model.rules.workloads.changed_workload import WorkloadEdit, check_edit
from webhook.verdicts import YES, Verdict
from webhook.workloads.common import allow_child, check_unmanaged
from webhook.workloads.review_context import ReviewContext
from webhook.workloads.workload_review import SideT, WorkloadReview


class ReviewSort(ABC, Generic[SideT]):
    """What differs; what is not overridden is so for most sorts."""

    @abstractmethod
    def read(self, body: msgspec.Raw, context: ReviewContext) -> SideT:
        """Return the object, of one side of a review. Raises Unreadable."""

    @abstractmethod
    def hold(self, new: SideT) -> list[Operation]:
        """Return the patch that keeps a new object from starting; none if it is held."""

    def go_on(self, _edit: WorkloadReview[SideT]) -> list[Operation]:
        """Return the patch by which a running object stays so, though the edit suspends it; none: it stops."""
        return []

    def label(self, _edit: WorkloadReview[SideT]) -> Mapping[str, str]:
        """Return the labels that a new object gets beside its group."""
        return {}

    def join_pod_group(self, _edit: WorkloadReview[SideT]) -> list[Operation]:
        """Return the patch by which kube-scheduler places the pods of a new object all or none; none: one by one."""
        return []

    def pending_injection(self, _edit: WorkloadReview[SideT]) -> InjectedAnnotation | None:
        """Return the placement that the object must have while it waits; None: none is injected before its start."""
        return None

    def place(self, _edit: WorkloadReview[SideT], _injected: InjectedAnnotation) -> list[Operation]:
        """Return the patch that gives it this placement."""
        return []

    def is_made(self, edit: WorkloadReview[SideT]) -> bool:
        """Return whether a new object is no workload of its own: another one accounts for it."""
        return edit.old is None and edit.context.cover is not None

    def mutate_made(self, edit: WorkloadReview[SideT]) -> Verdict:
        """Label a new object with the one that accounts for it."""
        cover = edit.context.cover
        return YES if cover is None else allow_child(edit.new.metadata, cover, with_group=False)

    def check_made(self, _edit: WorkloadReview[SideT]) -> Findings:
        """Judge a new object that another one accounts for, beside its label."""
        return NO_FINDINGS

    def is_left_alone(self, edit: WorkloadReview[SideT]) -> bool:
        """Return whether nothing is written on a managed object in this review."""
        old = edit.old
        return old is not None and (bool(old.metadata.unit) or old.has_finished or old.metadata.is_deleting)

    def is_part(self, edit: WorkloadReview[SideT]) -> bool:
        """Return whether it is judged as a part of the object that its operator made it for."""
        return edit.is_of_child

    def check_ungrouped(self, edit: WorkloadReview[SideT]) -> Findings:
        """Judge a new object that has no group."""
        return check_unmanaged(edit.new.kind, edit.new.metadata, edit.context)

    def check_template(self, _edit: WorkloadReview[SideT]) -> Findings:
        """Judge the template of its pods, whether it is managed or not."""
        return NO_FINDINGS

    def check_forged(self, _edit: WorkloadReview[SideT]) -> Findings:
        """Deny what only Quotree writes on the pods' templates of a new object."""
        return NO_FINDINGS

    def check_fit(self, _edit: WorkloadReview[SideT]) -> Findings:
        """Judge whether a new object, of which nothing else is wrong, could start, where its whole does not say so."""
        return NO_FINDINGS

    def check_changed(self, edit: WorkloadReview[SideT], changed: WorkloadEdit) -> Findings:
        """Judge an edit of a managed object."""
        return check_edit(changed, edit.context.quota)
