"""What a Job counts as, given its pods: its own use, and that of its terminating pods. Pure."""

from dataclasses import replace
from typing import NamedTuple

from shared.api.core.job import Job
from shared.cluster.state.observed.job_pods import PodSums, highest, pods_to_be_made, request_of_active
from shared.cluster.state.observed.terminating import as_terminating
from shared.quota.model.tree import Amounts
from shared.quota.model.workload import Workload


class Use(NamedTuple):
    """`counted`: the workload itself, None when it has ended; `beside`: its terminating pods, if they use anything."""

    counted: Workload | None
    beside: Workload | None = None


def use_of_job(job: Job, workload: Workload, sums: PodSums | None, last: Workload | None) -> Use:
    """Return the use of a Job that reads as `workload`.

    `last`: how its terminating pods, or else it, counted before.
    """
    if sums is None:
        # The start time of a Job under deletion is never reset: without pods it has ended.
        return Use(None if job.metadata.is_deleting and workload.is_evicting else workload)
    if workload.is_evicting:
        if not job.has_pods:
            # Only those that are seen: its status counts none.
            return Use(replace(workload, request=sums.request, pods=sums.pods))
        most = max(workload.pods, sums.pods)
        return Use(replace(workload, request=highest(workload.request, sums.request), pods=most))
    if workload.is_pending:
        return Use(workload, None if last is None else _beside(last, sums.request, sums.pods))
    request, pods = request_of_active(job, workload.request, sums), sums.active + pods_to_be_made(job, sums)
    return Use(
        replace(workload, request=request, pods=pods), _beside(workload, sums.terminating_request, sums.terminating)
    )


def _beside(workload: Workload, request: Amounts, pods: int) -> Workload | None:
    return as_terminating(replace(workload, claim=None), request, pods) if pods else None
