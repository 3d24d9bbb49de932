"""One review of a Job, read: the Job before and after, its groups, its request. Pure."""

from dataclasses import dataclass, replace

from shared.api.core.job import Job, read_job
from shared.api.names import REPLACEMENT
from shared.api.review import Review, ReviewOperation
from shared.quota.model.rules.workloads.changed_workload import WorkloadProgress
from shared.quota.model.rules.workloads.submitted_workload import SubmittedWorkload
from shared.resources import QuantityError
from webhook.workloads.common import as_judged, own_annotations, peak_of, submitted_workload
from webhook.workloads.queue_edit import QueueEdit, requests_more
from webhook.workloads.review_context import ReviewContext

KIND = "Job"


@dataclass(frozen=True, slots=True)
class JobReview:
    """A review of a Job. `old` None: creation; `group` None: not managed."""

    job: Job
    old: Job | None
    group: str | None
    old_group: str | None
    by_reconciler: bool

    @property
    def joins(self) -> bool:
        """Whether the edit makes it managed: it is judged as if it were created."""
        return self.old is not None and self.old_group is None and self.group is not None

    @property
    def may_be_placed(self) -> bool:
        """Whether the template's placement can change: at creation, and while suspended without a start time."""
        old = self.old
        return old is None or (self.job.spec.suspend and old.spec.suspend and old.status.start_time is None)


def read_job_review(review: Review, context: ReviewContext) -> JobReview:
    job = read_job(review.object)
    old = read_job(review.old_object) if review.operation is ReviewOperation.UPDATE else None
    return JobReview(
        job,
        old,
        context.group_of(job.metadata.labels),
        None if old is None else context.group_of(old.metadata.labels),
        context.is_by_reconciler(review),
    )


def submitted_job(job: Job, group: str, context: ReviewContext) -> SubmittedWorkload:
    submitted = submitted_workload(context, KIND, job.metadata, group, job.spec.template.spec, pods=job.wanted_pods)
    return replace(submitted, managed_by=job.spec.managed_by, manual_selector=job.spec.manual_selector)


def queue_edit(edit: JobReview, old: Job, context: ReviewContext) -> QueueEdit:
    job = edit.job
    try:
        was, now = (peak_of(each.spec.template.spec, each.wanted_pods, context) for each in (old, job))
        is_more = edit.old_group != edit.group or requests_more(was, now)
    except QuantityError:
        is_more = False
    return QueueEdit(
        as_judged(old.metadata, edit.old_group), job.metadata, old.spec.suspend and job.spec.suspend, is_more
    )


def progress_of(job: Job, context: ReviewContext) -> WorkloadProgress:
    return WorkloadProgress(
        held=job.spec.suspend,
        has_pods=job.has_pods,
        replaces=job.replaces if REPLACEMENT in job.metadata.annotations else "",
        annotations=own_annotations(job.metadata.annotations),
        peak=peak_of(job.spec.template.spec, job.wanted_pods, context),
    )
