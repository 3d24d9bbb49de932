"""Read the workloads among the objects: which are managed, and what each requests."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

import msgspec

from cli.read.kind_objects import WorkloadRead, namespace_of, read_kind_objects
from cli.read.objects import ManifestObjects
from shared.api.core.job import Job
from shared.api.core.limitrange import LimitRange
from shared.api.core.metadata import LONG_AGO, Metadata
from shared.api.core.pod import Pod, PodSpec
from shared.quota.model.counts.entries import counts_on_path
from shared.quota.model.counts.requests import with_counts_requested
from shared.quota.model.devices.claims import DeviceSource
from shared.quota.model.devices.flavors import with_all_devices
from shared.quota.model.namespace_context import NamespaceContexts
from shared.quota.model.read.jobs import ObjectState, Reading, workload_of_job
from shared.quota.model.read.pods import (
    pod_group_of,
    started_group_of,
    unit_key,
    workload_of_pod,
    workload_of_pod_group,
)
from shared.quota.model.rules.findings import Violation
from shared.quota.model.rules.workloads.object_size import check_size, object_size
from shared.quota.model.rules.workloads.submitted_workload import PodTerms, SubmittedWorkload
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import DEFAULT, SYSTEM, Group, Tree
from shared.quota.model.workload import Workload, WorkloadId


def contexts_of(objects: ManifestObjects, settings: QuotaSettings) -> NamespaceContexts:
    """Return the contexts of all workloads in the manifests; a namespace that is not among them has no labels."""
    contexts = NamespaceContexts(settings.devices)
    contexts.observe_namespaces((None, each) for each in objects.context.namespaces)
    contexts.observe_limit_ranges((None, _with_namespace(each)) for each in objects.context.limit_ranges)
    contexts.observe_priority_classes((None, each) for each in objects.context.priority_classes)
    contexts.observe_runtime_classes((None, each) for each in objects.context.runtime_classes)
    contexts.observe_claims(DeviceSource.TEMPLATE, ((None, each) for each in objects.context.claim_templates))
    contexts.observe_claims(DeviceSource.CLAIM, ((None, each) for each in objects.context.claims))
    return contexts


def _with_namespace(limits: LimitRange) -> LimitRange:
    metadata = msgspec.structs.replace(limits.metadata, namespace=namespace_of(limits.metadata))
    return msgspec.structs.replace(limits, metadata=metadata)


@dataclass(frozen=True, slots=True)
class SubmittedWorkloads:
    """All workloads as the engine counts them and as their owners wrote them, and unreadable ones."""

    workloads: tuple[Workload, ...]
    submitted: tuple[SubmittedWorkload, ...]
    """What the admission webhook would review: everything that does not run already."""
    contexts: NamespaceContexts
    accounts: Mapping[WorkloadId, str]
    """workload → its key in `managed`."""
    managed: frozenset[str]
    """What is counted as a workload, or was until it finished: Jobs and pods by uid, or Kind/namespace/name without
    one, and pod groups by key.
    """
    problems: tuple[tuple[str, str], ...]
    """(object name, what is wrong)."""
    refused: tuple[Violation, ...] = ()
    """Why objects of governed kinds cannot be governed."""

    def as_created(self, now: datetime) -> "SubmittedWorkloads":
        """Return the same where what has no `creationTimestamp`, as a manifest that was never applied, is new."""
        return replace(self, workloads=tuple(_as_created(each, now) for each in self.workloads))


def read_workloads(objects: ManifestObjects, settings: QuotaSettings) -> SubmittedWorkloads:
    """Read every managed Job, pod and pod group, and the unmanaged pods that use nodes."""
    cluster = contexts_of(objects, settings)
    found = [_read_job(job, cluster, settings) for job in objects.jobs if not job.metadata.unit]
    members: dict[str, list[Pod]] = {}
    for pod in objects.pods:
        key = pod_group_of(pod) if pod.is_gated else started_group_of(pod)
        if key is None:
            found.append(_read_pod(pod, cluster, settings))
        else:
            members.setdefault(key, []).append(pod)
    groups = {key: _read_group(key, pods, cluster, settings) for key, pods in members.items()}
    counted = [*((read.metadata.uid or read.name, read) for read in found), *groups.items()]
    found += groups.values()
    seen = list(read_kind_objects(objects, cluster, settings))
    counted += ((unit_key(read.metadata.uid, read.metadata.namespace), read) for read in seen)
    found += seen
    known = {group.name: group for group in objects.groups}
    counted_workloads = [read.reading.workload for read in found if read.reading.workload is not None]
    return SubmittedWorkloads(
        workloads=tuple(_as_counted(each, known, settings) for each in counted_workloads),
        submitted=tuple(each for read in found for each in _submitted(read, cluster)),
        contexts=cluster,
        accounts={read.reading.workload.id: key for key, read in counted if read.reading.workload is not None},
        managed=frozenset(key for key, read in counted if read.reading.state is not ObjectState.UNMANAGED),
        problems=tuple((read.name, problem) for read in found for problem in read.reading.problems),
        refused=tuple(each for read in found for each in read.refused),
    )


def _as_counted(workload: Workload, groups: Mapping[str, Group], settings: QuotaSettings) -> Workload:
    """Return the workload with devices that it was not started with, and what its group counts."""
    found = with_all_devices(workload, groups.get(workload.group), settings)
    return with_counts_requested(found, counts_on_path(groups.get, workload.group))


def _read_job(job: Job, cluster: NamespaceContexts, settings: QuotaSettings) -> WorkloadRead:
    reading = workload_of_job(job, cluster.of(namespace_of(job.metadata)), settings)
    name, spec = f"Job/{job.metadata.key}", job.spec.template.spec
    refused = _too_large(name, job.metadata, spec, reading)
    return WorkloadRead(name, job.metadata, reading, (spec,), job.spec, refused=refused)


def _read_pod(pod: Pod, cluster: NamespaceContexts, settings: QuotaSettings) -> WorkloadRead:
    reading = workload_of_pod(pod, cluster.of(namespace_of(pod.metadata)), settings)
    name = pod_name(pod)
    refused = _too_large(name, pod.metadata, pod.spec, reading)
    return WorkloadRead(name, pod.metadata, reading, (pod.spec,), refused=refused)


def _too_large(name: str, metadata: Metadata, spec: PodSpec, reading: Reading) -> tuple[Violation, ...]:
    """Return what the webhook would refuse of a managed workload; the size of a file says nothing about the object."""
    if reading.state is ObjectState.UNMANAGED:
        return ()
    return tuple(check_size(name, None, object_size(0, metadata, spec)))


def pod_name(pod: Pod) -> str:
    """Return the name that violations use. It stands for the uid, which pods in files seldom have."""
    return f"Pod/{pod.metadata.key}"


def _read_group(key: str, members: list[Pod], cluster: NamespaceContexts, settings: QuotaSettings) -> WorkloadRead:
    reading = workload_of_pod_group(members, cluster.of(namespace_of(members[0].metadata)), settings)
    return WorkloadRead(f"PodGroup/{key}", members[0].metadata, reading, tuple(pod.spec for pod in members))


def _submitted(read: WorkloadRead, cluster: NamespaceContexts) -> Iterator[SubmittedWorkload]:
    workload = read.reading.workload
    if workload is not None and workload.admission is None and read.is_first:
        namespace = namespace_of(read.metadata)
        yield SubmittedWorkload(
            object=read.name,
            group=workload.group,
            namespace=namespace,
            labels=read.metadata.labels,
            annotations=read.metadata.annotations,
            namespace_labels=cluster.labels(namespace) if cluster.knows(namespace) else None,
            request=workload.request,
            placement=workload.placement,
            pods=workload.pods,
            pod_sets=workload.pod_sets,
            # Whom kube-scheduler preempts is said where there is one: by the review.
            terms=tuple(replace(PodTerms.of(spec, cluster.of(namespace)), preempts=False) for spec in read.specs),
            managed_by=read.job.managed_by if read.job else "",
            manual_selector=read.job is not None and read.job.manual_selector,
        )


def _as_created(workload: Workload, now: datetime) -> Workload:
    if workload.created != LONG_AGO:
        return workload
    return replace(workload, created=now, queued=now if workload.queued == LONG_AGO else workload.queued)


def read_tree(objects: ManifestObjects, workloads: SubmittedWorkloads) -> Tree:
    """Return the tree, with `default` and `system` where a workload names them: every cluster has these groups.

    See docs/specification.md §2.3.
    """
    named = {DEFAULT, SYSTEM} & {each.group for each in workloads.workloads}
    return Tree.of((*(Group(name) for name in sorted(named)), *objects.groups))
