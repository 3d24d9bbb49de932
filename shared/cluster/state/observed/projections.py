"""The part of each watched object that is kept: only what decisions need, compared by value.

An event that leaves a record equal is dropped, so a record contains nothing that changes without meaning.
"""

from datetime import datetime
from typing import Final

import msgspec

from shared.api.core.job import Job, JobSpec, JobStatus, read_job
from shared.api.core.limitrange import NO_DEFAULTS
from shared.api.core.metadata import Metadata
from shared.api.core.node import allocatable, read_node
from shared.api.core.pod import Pod, read_pod_with_claims
from shared.api.core.pod_request import effective_request
from shared.api.names import POD_SET_LABEL, UNIT_LABEL
from shared.api.quotagroup import QuotaGroupStatus, read_quota_group
from shared.cluster.state.observed.interning import Interned
from shared.cluster.state.observed.job_pods import SucceededPod
from shared.cluster.state.observed.trimming import (
    cut_job_affinity,
    cut_pod_affinity,
    trim_conditions,
    trim_metadata,
    trim_placement,
)
from shared.kinds.kind_object import KindObject
from shared.quota.measure.static.using_pods import UsingPod, using_pod
from shared.quota.model.node import ClusterNode
from shared.quota.model.read.groups import group_of
from shared.quota.model.read.pods import account_of, is_covered, unit_key, unit_of
from shared.quota.model.tree import Group

_NO_METADATA: Final = Metadata()
_job_specs: Final = Interned[JobSpec]()
_statuses_of_waiting_jobs: Final = Interned[JobStatus]()
"""Shares what those say that were suspended in the same second; Jobs that run are fewer, and differ in it."""


class GroupStatusRecord(msgspec.Struct, frozen=True):
    """A QuotaGroup, and the status last written to it."""

    uid: str
    generation: int
    group: Group
    status: QuotaGroupStatus


class FinishedOwner(msgspec.Struct, frozen=True, gc=False):
    """A finished Job or object of a governed kind. `key`: that of its workload. `end`: when a Job finished."""

    key: str
    end: datetime | None = None


class PodRecord(msgspec.Struct, frozen=True):
    """A pod as a workload of its own, unless another object covers it, and as use of its node, once it has one.

    `succeeded`: one that an object of a governed kind covers, and that counts as ready there.
    """

    work: Pod | None
    using: UsingPod | None
    succeeded: SucceededPod | None = None
    made: Pod | None = None
    """The pod itself, if it says that it was made for an object of a governed kind."""

    @property
    def uid(self) -> str:
        """The uid of the pod."""
        if self.using is not None:
            return self.using.uid
        whole = self.work or self.made
        if whole is not None:
            return whole.metadata.uid
        return "" if self.succeeded is None else self.succeeded.uid


_NOTHING: Final = PodRecord(None, None)


def project_job(raw: bytes) -> Job | FinishedOwner | None:
    """A Job as a record; None for a finished one that was made for an object of a governed kind."""
    job = read_job(cut_job_affinity(raw))
    if job.has_finished:
        return None if job.metadata.unit else FinishedOwner(job.metadata.uid, job.finished_at)
    template = msgspec.structs.replace(
        job.spec.template, metadata=_NO_METADATA, spec=trim_placement(job.spec.template.spec)
    )
    spec = _job_specs.shared(msgspec.structs.replace(job.spec, template=template))
    status = _statuses_of_waiting_jobs.shared(job.status) if spec.suspend else job.status
    return msgspec.structs.replace(job, metadata=trim_metadata(job.metadata), spec=spec, status=status)


def project_pod(raw: bytes) -> PodRecord | None:
    """Return a pod as a workload of its own, as use of its node, or both; None for neither."""
    pod = read_pod_with_claims(cut_pod_affinity(raw))
    metadata, spec, status = trim_metadata(pod.metadata), trim_placement(pod.spec), trim_conditions(pod.status)
    return _record_of(msgspec.structs.replace(pod, metadata=metadata, spec=spec, status=status))


def identify_pod(record: PodRecord) -> tuple[str, str]:
    """Return the pod's uid, and the key of the object of a governed kind that its label names; empty: none."""
    return record.uid, "" if record.made is None else account_of(record.made) or ""


def pod_alone(record: PodRecord) -> PodRecord | None:
    """Return the record of the pod as if it had no such label."""
    pod = record.made
    if pod is None:
        return record
    labels = {name: text for name, text in pod.metadata.labels.items() if name != UNIT_LABEL}
    return _record_of(msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, labels=labels)))


def pod_of_another(record: PodRecord) -> PodRecord | None:
    """Return the record of a pod that the object accounts for, without the pod itself."""
    found = msgspec.structs.replace(record, made=None)
    return None if found == _NOTHING else found


def identify_owner(record: Job | KindObject | FinishedOwner) -> tuple[str, str]:
    """Return the uid of a Job or an object of a governed kind, and the key of the object that its label names."""
    if isinstance(record, FinishedOwner):
        return record.key, ""
    metadata = record.metadata
    return metadata.uid, unit_key(metadata.unit, metadata.namespace) if metadata.unit else ""


def _record_of(pod: Pod) -> PodRecord | None:
    work = None if is_covered(pod) else pod
    using = _using(pod, is_covered=work is None)
    succeeded = _succeeded(pod) if unit_of(pod) else None
    found = PodRecord(work, using, succeeded, pod if unit_of(pod) and not pod.has_ended else None)
    return None if found == _NOTHING else found


def _succeeded(pod: Pod) -> SucceededPod | None:
    metadata = pod.metadata
    if pod.status.phase != "Succeeded" or metadata.is_deleting:
        return None
    return SucceededPod(metadata.uid, account_of(pod) or "", metadata.labels.get(POD_SET_LABEL, ""))


def _using(pod: Pod, *, is_covered: bool) -> UsingPod | None:
    if pod.has_ended or not (pod.spec.node_name or is_covered):
        return None
    return using_pod(pod, pod.metadata.namespace, effective_request(pod.spec, NO_DEFAULTS))


def project_node(raw: bytes) -> ClusterNode:
    """Return the part of a node that determines capacity."""
    node = read_node(raw)
    return ClusterNode(
        node.metadata.name, node.metadata.labels, allocatable(node), node.takes_pods, node.not_ready_since
    )


def project_group(raw: bytes) -> GroupStatusRecord:
    """Return a QuotaGroup and its status."""
    view = read_quota_group(raw)
    return GroupStatusRecord(view.metadata.uid, view.metadata.generation, group_of(view), view.status)
