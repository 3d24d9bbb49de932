"""A Job is suspended, and placed in its template while it waits. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Final

import msgspec

from shared.api.annotations import InjectedAnnotation
from shared.api.core.job import Job, read_job
from shared.api.injection import NOTHING, placement_operations
from shared.api.json.patches import Operation, add
from shared.api.names import OWN_POD_GROUP, REPLACEMENT
from shared.quota.model.flavor import injection
from shared.quota.model.flavor_placement import conflicts, find_flavors, only_flavors, own_placement
from shared.quota.model.lifecycle import is_gang
from shared.quota.model.read.jobs import startup_declared
from shared.quota.model.rules.findings import Findings, Violation
from shared.quota.model.rules.workloads.changed_workload import (
    WorkloadEdit,
    WorkloadProgress,
    check_annotations_untouched,
)
from shared.quota.model.rules.workloads.children import check_unit
from shared.quota.model.rules.workloads.submitted_workload import SubmittedWorkload
from shared.resources import QuantityError
from webhook.workloads.dialects import is_suspended_by_convention
from webhook.workloads.review_context import ReviewContext
from webhook.workloads.sorts.sort import ReviewSort
from webhook.workloads.workload_review import WorkloadReview
from webhook.workloads.workload_side import PodSetSide, WorkloadSide, own_annotations

TEMPLATE: Final = ("spec", "template", "spec")
_SMALLEST_GANG: Final = 2
_UNLIKE: Final = 10
"""So many hexadecimal digits make the name of a PodGroup unlike all others."""


@dataclass(frozen=True)
class JobSide(WorkloadSide):
    """A Job on one side of a review."""

    job: Job

    @property
    def is_held(self) -> bool:
        """Whether it is suspended."""
        return self.job.spec.suspend

    @property
    def has_finished(self) -> bool:
        """Whether it is complete or failed, with every pod ended."""
        return self.job.has_finished

    @cached_property
    def pod_sets(self) -> tuple[PodSetSide, ...]:
        """Its pods, as many as run at a time."""
        return (PodSetSide(self.job.spec.template.spec, self.job.wanted_pods, self.context),)

    @cached_property
    def submitted(self) -> SubmittedWorkload:
        """The Job as its owner wrote it. Raises QuantityError."""
        (pods,), spec = self.pod_sets, self.job.spec
        return replace(
            self.described(),
            request=pods.request,
            placement=own_placement(pods.spec, self.injected),
            pods=pods.pods,
            managed_by=spec.managed_by,
            manual_selector=spec.manual_selector,
        )

    @cached_property
    def progress(self) -> WorkloadProgress:
        """How far it has come. Raises QuantityError."""
        return WorkloadProgress(
            held=self.is_held,
            has_pods=self.job.has_pods,
            replaces=self.job.replaces if REPLACEMENT in self.metadata.annotations else "",
            annotations=self.annotations,
            peak=self.peak,
        )

    @cached_property
    def pending_injection(self) -> InjectedAnnotation:
        """The placement that it gets at once while held: of its only flavors, unless it contradicts the owner's.

        Flavors of devices come with the start: they depend on claims, of which two replicas can know different
        versions.
        """
        (pods,), quota = self.pod_sets, self.context.quota
        found = quota.tree.get(self.group or "")
        if found is None or found.is_parent:
            return NOTHING
        try:
            request = pods.pod_request
        except QuantityError:
            return NOTHING
        known = {resource: amount for resource, amount in request.items() if not quota.settings.is_of_devices(resource)}
        flavors, _ = find_flavors(only_flavors(found, known, self.metadata.labels), quota.flavors)
        placement = own_placement(pods.spec, self.injected)
        return NOTHING if conflicts(placement, flavors) else injection(placement, flavors)


class JobReviews(ReviewSort[JobSide]):
    """How reviews of Jobs differ."""

    def read(self, body: msgspec.Raw, context: ReviewContext) -> JobSide:
        """Return the Job, of one side of a review."""
        job = read_job(body)
        return JobSide("Job", job.metadata, context.group_of(job.metadata.labels), context, job)

    def hold(self, new: JobSide) -> list[Operation]:
        """Suspend it."""
        return [] if new.is_held else [add(("spec", "suspend"), value=True)]

    def go_on(self, edit: WorkloadReview[JobSide]) -> list[Operation]:
        """Take back the suspension of a chart written for Kueue that is applied again."""
        old, new = edit.old, edit.new
        if edit.context.queues is None or old is None or old.is_held or not new.is_held:
            return []
        by_convention = is_suspended_by_convention(new.metadata.labels)
        return [add(("spec", "suspend"), value=False)] if by_convention else []

    def join_pod_group(self, edit: WorkloadReview[JobSide]) -> list[Operation]:
        """Name a PodGroup in its template, where its group or its owner asks for a gang and its owner names none.

        The field is immutable. The name is unlike that of any other Job, a deleted one of the same name included.
        """
        job, context = edit.new.job, edit.context
        named = job.spec.template.spec.scheduling_group is not None or job.spec.scheduling is not None
        if named or not context.has_pod_groups or job.wanted_pods < _SMALLEST_GANG or not job.has_own_controller:
            return []
        tree = context.quota.tree
        path = [tree[name] for name in tree.path(edit.group or "")]
        if not path or not is_gang(path, context.quota.settings, startup_declared([job.metadata])[0]):
            return []
        unlike = sha256(edit.review.uid.encode()).hexdigest()[:_UNLIKE]
        name = f"{OWN_POD_GROUP}{job.metadata.name or job.metadata.generate_name.rstrip('-.')}-{unlike}"
        return [add((*TEMPLATE, "schedulingGroup"), {"podGroupName": name})]

    def pending_injection(self, edit: WorkloadReview[JobSide]) -> InjectedAnnotation | None:
        """Return the placement of its only flavors; None: its template cannot change, or it is in no group.

        A template's placement can change at creation, and while the Job is suspended without a start time.
        """
        old, new = edit.old, edit.new
        may_change = old is None or (new.is_held and old.is_held and old.job.status.start_time is None)
        return new.pending_injection if may_change and new.group is not None else None

    def place(self, edit: WorkloadReview[JobSide], injected: InjectedAnnotation) -> list[Operation]:
        """Write the placement into its template."""
        return placement_operations(edit.new.job.spec.template.spec, edit.new.injected, injected, TEMPLATE)

    def check_template(self, edit: WorkloadReview[JobSide]) -> Findings:
        """Pods of a Job must not claim to belong to a governed object."""
        before = "" if edit.old is None or edit.joins else edit.old.job.spec.template.metadata.unit
        now = edit.new.job.spec.template.metadata.unit
        return Findings(tuple(check_unit(edit.new.name, before, now, "spec.template.")))

    def check_forged(self, edit: WorkloadReview[JobSide]) -> Findings:
        """Deny Quotree's annotations on its template."""
        return _check_template_annotations(edit.new, {})

    def check_changed(self, edit: WorkloadReview[JobSide], changed: WorkloadEdit) -> Findings:
        """Judge the edit, and what it changes in the annotations of the template."""
        found = super().check_changed(edit, changed)
        if changed.after is None or edit.old is None:
            return found
        before = {} if edit.joins else own_annotations(edit.old.job.spec.template.metadata.annotations)
        return _check_template_annotations(edit.new, before) + found


def _check_template_annotations(new: JobSide, before: Mapping[str, str]) -> Findings:
    """Pods with Quotree's annotations would count as plain pods. `before`: those that the template already has."""
    own = own_annotations(new.job.spec.template.metadata.annotations)
    found = check_annotations_untouched(new.submitted, before, own)
    return Findings(
        tuple(Violation(each.rule, each.object, f"spec.template.{each.field}", each.message) for each in found)
    )


JOB: Final = JobReviews()
