"""Which PodGroup the pods of a started Job are placed with, and what one that exists says. Pure.

See docs/specification.md §8.6.
"""

from datetime import datetime

import msgspec

from shared.api.core.job import Job
from shared.api.names import ADMISSION
from shared.api.pod_group import own_pod_group, read_pod_group
from shared.quota.model.read.jobs import ready_pods
from shared.quota.model.workload import Workload


class WantedPodGroup(msgspec.Struct, frozen=True):
    """The PodGroup of a started Job. `since`: when the Job was started."""

    namespace: str
    name: str
    job: str
    uid: str
    priority_class: str
    pods: int
    """So many pods at least are placed together; 1 once that has been so, for those that replace others."""
    since: datetime
    refusal: str = ""
    """Why it was refused since then, as the Job says; empty: it was not."""


class SeenPodGroup(msgspec.Struct, frozen=True):
    """A PodGroup that Quotree has made. `owner`: the uid of its Job; `started`: its annotation of that."""

    namespace: str
    name: str
    uid: str
    owner: str
    pods: int
    started: str
    is_deleting: bool


def wanted_pod_group(job: Job, workload: Workload) -> WantedPodGroup | None:
    """Return the PodGroup that the Job needs now; None: none, or not one of Quotree's."""
    name, admission = own_pod_group(job.spec.template.spec), workload.admission
    if not name or admission is None or workload.is_evicting or job.spec.suspend or job.metadata.is_deleting:
        return None
    placed = admission.ready or admission.was_ready
    pods = 1 if placed else max(1, ready_pods([job.metadata], job.pods_left))
    metadata, priority_class = job.metadata, job.spec.template.spec.priority_class_name
    return WantedPodGroup(
        metadata.namespace,
        name,
        metadata.name,
        metadata.uid,
        priority_class,
        pods,
        admission.since,
        admission.pod_group_refusal,
    )


def project_pod_group(raw: bytes) -> SeenPodGroup:
    """Return what is kept of a PodGroup."""
    found = read_pod_group(raw)
    metadata, gang = found.metadata, found.spec.scheduling_policy.gang
    return SeenPodGroup(
        metadata.namespace,
        metadata.name,
        metadata.uid,
        metadata.unit,
        0 if gang is None else gang.min_count,
        metadata.annotations.get(ADMISSION, ""),
        metadata.is_deleting,
    )
