"""One review of a Job, read: the Job before and after, and what follows from it, each computed once. Pure."""

from dataclasses import dataclass, replace
from functools import cached_property

from shared.api.core.job import Job, read_job
from shared.api.names import REPLACEMENT
from shared.api.review import Review, ReviewOperation
from shared.quota.model.rules.workloads.changed_workload import WorkloadProgress
from shared.quota.model.rules.workloads.submitted_workload import SubmittedWorkload
from shared.resources import QuantityError
from webhook.workloads.queue_edit import QueueEdit, requests_more
from webhook.workloads.review_context import ReviewContext
from webhook.workloads.workload_side import PodSetSide, WorkloadSide, as_judged

KIND = "Job"


@dataclass(frozen=True)
class JobSide:
    """A Job on one side of the review."""

    job: Job
    workload: WorkloadSide

    @cached_property
    def submitted(self) -> SubmittedWorkload:
        """The Job as its owner wrote it. Raises QuantityError."""
        spec = self.job.spec
        return replace(self.workload.submitted, managed_by=spec.managed_by, manual_selector=spec.manual_selector)

    @cached_property
    def progress(self) -> WorkloadProgress:
        """How far it has come. Raises QuantityError."""
        return WorkloadProgress(
            held=self.job.spec.suspend,
            has_pods=self.job.has_pods,
            replaces=self.job.replaces if REPLACEMENT in self.job.metadata.annotations else "",
            annotations=self.workload.annotations,
            peak=self.workload.pod_set.peak,
        )


@dataclass(frozen=True)
class JobReview:
    """A review of a Job. `old` None: creation; `group` None: not managed."""

    job: Job
    old: Job | None
    group: str | None
    old_group: str | None
    by_reconciler: bool
    context: ReviewContext

    @property
    def joins(self) -> bool:
        """Whether the edit makes it managed: it is judged as if it were created."""
        return self.old is not None and self.old_group is None and self.group is not None

    @property
    def may_be_placed(self) -> bool:
        """Whether the template's placement can change: at creation, and while suspended without a start time."""
        old = self.old
        return old is None or (self.job.spec.suspend and old.spec.suspend and old.status.start_time is None)

    @cached_property
    def after(self) -> JobSide:
        """The Job after the edit."""
        return self._side(self.job, self.group)

    @cached_property
    def before(self) -> JobSide | None:
        """The Job before the edit."""
        return None if self.old is None else self._side(self.old, self.old_group)

    def _side(self, job: Job, group: str | None) -> JobSide:
        pod_set = PodSetSide(job.spec.template.spec, job.wanted_pods, self.context)
        return JobSide(job, WorkloadSide(KIND, job.metadata, pod_set, group))

    @cached_property
    def queue_edit(self) -> QueueEdit | None:
        """What the edit means for its place in the queue; None at creation."""
        old, job, before = self.old, self.job, self.before
        if old is None or before is None:
            return None
        try:
            was, now = before.workload.pod_set.peak, self.after.workload.pod_set.peak
            is_more = self.old_group != self.group or requests_more(was, now)
        except QuantityError:
            is_more = False
        waits = old.spec.suspend and job.spec.suspend
        return QueueEdit(as_judged(old.metadata, self.old_group), job.metadata, waits, is_more)


def read_job_review(review: Review, context: ReviewContext) -> JobReview:
    job = read_job(review.object)
    old = read_job(review.old_object) if review.operation is ReviewOperation.UPDATE else None
    return JobReview(
        job,
        old,
        context.group_of(job.metadata.labels),
        None if old is None else context.group_of(old.metadata.labels),
        context.is_by_reconciler(review),
        context,
    )
