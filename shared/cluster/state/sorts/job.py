"""Jobs: the Job controller makes their pods, and notes when one starts. Pure."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from shared.api.core.job import Job
from shared.api.core.metadata import Metadata
from shared.api.core.pod import PodSpec
from shared.cluster.state.observed.gangs import WantedPodGroup, wanted_pod_group
from shared.cluster.state.observed.job_pods import PodSums, is_as_declared
from shared.cluster.state.observed.job_use import Use, use_of_job
from shared.cluster.state.observed.pod_replacement import PolicyChange, policy_change
from shared.cluster.state.sorts.sort import OwnerSort, ReadingContext
from shared.quota.model.read.jobs import Reading, workload_of_job
from shared.quota.model.workload import Workload


class JobSort(OwnerSort[Job]):
    """A Job and its pods."""

    def type_of(self, _seen: Job) -> tuple[str, str]:
        """Return its apiVersion and kind."""
        return "batch/v1", "Job"

    def key_of(self, seen: Job) -> str:
        """Return its uid."""
        return seen.metadata.uid

    def read(self, key: str, objects: Sequence[Job], context: ReadingContext, _apart: int) -> Reading:
        """Return the Job as a workload."""
        job, around = objects[0], context.namespaces.of(objects[0].metadata.namespace)
        if job.spec.suspend and not job.has_finished and not job.metadata.is_deleting:
            job = _as_its_pods_show(job, context.sums_of(key))
        reading = context.known_jobs.find(key, job, around)
        if reading is None:
            reading = workload_of_job(job, around, context.settings, context.request_of, context.now())
            context.known_jobs.keep(key, job, around, reading)
        return reading

    def with_metadata(self, seen: Job, metadata: Metadata) -> Job:
        """Return it with other metadata."""
        return msgspec.structs.replace(seen, metadata=metadata)

    def is_suspended(self, seen: Job) -> bool:
        """Return whether it is suspended."""
        return seen.spec.suspend

    def is_answered(self, seen: Job, sums: PodSums | None) -> bool:
        """Return whether it has a start time, or all its pods are seen: none is in the making."""
        return seen.status.start_time is not None or (sums is not None and sums.active >= max(1, seen.pods_left))

    def policy_change(
        self, seen: Job, workload: Workload, sums: PodSums | None, now: datetime | None
    ) -> PolicyChange | None:
        """Return what lets its pods be replaced when they have ended, or are lost."""
        return policy_change(seen, workload, sums, now)

    def wanted_pod_group(self, seen: Job, workload: Workload) -> WantedPodGroup | None:
        """Return that of a started Job that was created as a gang."""
        return wanted_pod_group(seen, workload)

    def suspended_since(self, seen: Job) -> datetime | None:
        """Return the time of its condition Suspended, if that is true."""
        found = [each for each in seen.status.conditions if each.type == "Suspended" and each.status == "True"]
        return found[0].last_transition_time if found else None

    def keeps_start_time(self, seen: Job) -> bool:
        """Return whether it is suspended with a start time, as before Kubernetes 1.36."""
        return seen.keeps_start_time

    def use(self, seen: Job, workload: Workload, sums: PodSums | None, last: Workload | None) -> Use:
        """Return its use by what its pods request, terminating ones included."""
        return use_of_job(seen, workload, sums, last)

    def pod_specs(self, seen: Job) -> list[PodSpec]:
        """Return its template."""
        return [seen.spec.template.spec]

    def may_have_pods(self, seen: Job) -> bool:
        """Return whether its status counts pods, or it runs."""
        return seen.has_pods

    def is_use_changed(self, seen: Job, workload: Workload, sums: PodSums | None) -> bool:
        """Return whether its pods differ from its template times its size."""
        return sums is not None and not is_as_declared(seen, workload.request, sums)


def _as_its_pods_show(job: Job, sums: PodSums | None) -> Job:
    """Return the suspended Job with all its pods in its status.

    The Job controller of Kubernetes 1.30 counts none at first of those that it deletes for a suspension.
    """
    if sums is None or job.status.terminating >= sums.pods:
        return job
    return msgspec.structs.replace(job, status=msgspec.structs.replace(job.status, terminating=sums.pods))
