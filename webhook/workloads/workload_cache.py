"""Workloads and what they are judged with, from watches: namespaces, LimitRanges, RuntimeClasses, Jobs, plain pods."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, TypeVar

from shared.api.core.job import read_job
from shared.api.core.limitrange import read_limit_range
from shared.api.core.namespace import read_namespace
from shared.api.core.pod import read_pod
from shared.api.core.resource_claim import read_resource_claim_template, read_shared_claim
from shared.api.core.runtimeclass import read_runtime_class
from shared.api.names import GROUP_LABEL, POD_SET_LABEL
from shared.kinds.kind import Kinds
from shared.kube.client import Client
from shared.kube.errors import NotFound
from shared.kube.resources import (
    JOBS,
    LIMIT_RANGES,
    NAMESPACES,
    POD_GROUPS,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RUNTIME_CLASSES,
    Resource,
)
from shared.kube.watch.cache import Change, Sink, transitions
from shared.kube.watch.watches import Watches
from shared.kube.watch.watching import MAY_BE_ABSENT, Watch
from shared.quota.model.devices.claims import DeviceSource
from shared.quota.model.devices.resources import DeviceResources
from shared.quota.model.membership import resolve_group
from shared.quota.model.namespace_context import NamespaceContext, NamespaceContexts, Transition
from shared.quota.model.read.pods import is_covered
from shared.quota.model.rules import GroupWorkloads
from shared.quota.model.rules.groups.names import is_name
from webhook.workloads.owner_cache import OwnerCache, WorkloadRecord, owner_of

R = TypeVar("R")
K = TypeVar("K")

UNFINISHED: Final = "status.phase!=Succeeded,status.phase!=Failed"


_NO_KINDS: Final = Kinds()
_NO_NAME: Final = "metadata.name=quotree"
"""No PodGroup that Quotree makes is called so."""


class WatchedWorkloads:
    """Read from the same event loop; updated by the watches it adds."""

    def __init__(  # noqa: PLR0913
        self,
        client: Client,
        watches: Watches,
        *,
        default_group: bool,
        kinds: Kinds = _NO_KINDS,
        devices: DeviceResources | None = None,
        gang_scheduling: bool = False,
    ) -> None:
        self._client = client
        self._default_group = default_group
        self._namespaces = contexts = NamespaceContexts(devices)
        self._counts: Counter[tuple[str, str, bool]] = Counter()
        self._made: Counter[tuple[str, str]] = Counter()
        """(unit, pod set) -> its pods that have not ended, where pods make others."""
        watches.add(Watch(client, NAMESPACES, read_namespace, _sink(contexts.observe_namespaces)))
        watches.add(Watch(client, LIMIT_RANGES, read_limit_range, _sink(contexts.observe_limit_ranges)))
        watches.add(Watch(client, RUNTIME_CLASSES, read_runtime_class, _sink(contexts.observe_runtime_classes)))
        if devices is not None:
            for resource, project, source in (
                (RESOURCE_CLAIM_TEMPLATES, read_resource_claim_template, DeviceSource.TEMPLATE),
                (RESOURCE_CLAIMS, read_shared_claim, DeviceSource.CLAIM),
            ):
                sink = _sink(partial(contexts.observe_claims, source))
                watches.add(Watch(client, resource, project, sink, settings=MAY_BE_ABSENT))
        self._pod_groups = watches.add(_none_of(client, POD_GROUPS)) if gang_scheduling else None
        self._jobs = watches.add(Watch(client, JOBS, job_record, self._observe_workloads))
        project_pod = record_of_any_pod if any(kind.has_makers for kind in kinds.suspended) else pod_record
        watches.add(Watch(client, PODS, project_pod, self._observe_workloads, labels=GROUP_LABEL, fields=UNFINISHED))
        self.owners = OwnerCache(client, watches, kinds, self._observe_workloads)
        """The objects of governed kinds, and what their operators create."""

    def of_group(self, group: str) -> GroupWorkloads:
        """Count the unfinished Jobs and plain pods that resolve to the group."""
        found = {False: 0, True: 0}
        for (namespace, label, runs), count in self._counts.items():
            if count and self._resolve(namespace, label) == group:
                found[runs] += count
        return GroupWorkloads(pending=found[False], running=found[True])

    @property
    def has_pod_groups(self) -> bool:
        """Whether the API server knows PodGroups, and Quotree makes them."""
        return self._pod_groups is not None and not self._pod_groups.is_absent

    def made_for(self, unit: str, pod_set: str) -> int:
        """Return how many pods of that set the object has that have not ended."""
        return self._made[unit, pod_set]

    def namespaces(self) -> Collection[str]:
        """Return the names of all namespaces, as the watch has shown them."""
        return self._namespaces.names

    async def job(self, namespace: str, name: str, uid: str) -> WorkloadRecord | None:
        """This Job; read from the API server if the watch might lag. None if it has finished. Raises ApiError."""
        found = self._jobs.records.get(uid)
        if found is None or not (found.over or found.unit or found.owner or self.group_of(found)):
            found = await self._job_now(namespace, name, uid)
        return None if found is None or found.over else found

    def group_of(self, record: WorkloadRecord) -> str | None:
        """Return the group that the workload resolves to."""
        return self._resolve(record.namespace, record.label)

    async def namespace_context(self, namespace: str) -> NamespaceContext:
        """The context of workloads in the namespace; read from the API server if no watch has reported it yet."""
        if self._namespaces.knows(namespace):
            return self._namespaces.of(namespace)
        return await self.namespace_context_now(namespace)

    async def namespace_context_now(self, namespace: str) -> NamespaceContext:
        """Return the same with the labels that the namespace has at this moment. Raises ApiError."""
        labels: dict[str, str] = {}
        if is_name(namespace):
            with suppress(NotFound):
                labels = read_namespace(await self._client.get(NAMESPACES, namespace)).metadata.labels
        return self._namespaces.with_labels(namespace, labels)

    async def _job_now(self, namespace: str, name: str, uid: str) -> WorkloadRecord | None:
        if not (is_name(name) and is_name(namespace)):
            return None
        try:
            found = job_record(await self._client.get(JOBS, name, namespace))
        except NotFound:
            return None
        return found if found.uid == uid else None

    def _resolve(self, namespace: str, label: str) -> str | None:
        labels = {GROUP_LABEL: label} if label else {}
        return resolve_group(labels, self._namespaces.labels(namespace), default_group=self._default_group)

    def _observe_workloads(self, changes: Sequence[Change[WorkloadRecord]]) -> None:
        for before, after in transitions(changes):
            self._count(before, -1)
            self._count(after, 1)

    def _count(self, record: WorkloadRecord | None, step: int) -> None:
        if record is None or record.over:
            return
        if record.unit:
            if record.pod_set:
                _add(self._made, (record.unit, record.pod_set), step)
            return
        _add(self._counts, (record.namespace, record.label, record.runs), step)


def _add(counts: Counter[K], key: K, step: int) -> None:
    counts[key] += step
    if not counts[key]:
        del counts[key]


def _none_of(client: Client, resource: Resource) -> Watch[None]:
    """Watch no object of a kind: only whether the API server knows it."""
    return Watch(client, resource, lambda _raw: None, lambda _changes: None, fields=_NO_NAME, settings=MAY_BE_ABSENT)


def _sink(see: Callable[[Iterable[Transition[R]]], object]) -> Sink[R]:
    """Pass the changes of a watch on as transitions."""

    def sink(changes: Sequence[Change[R]]) -> None:
        see(transitions(changes))

    return sink


def job_record(raw: bytes) -> WorkloadRecord:
    """Return the part of a Job that is kept."""
    job = read_job(raw)
    metadata = job.metadata
    runs = not job.spec.suspend or job.has_pods
    label = metadata.labels.get(GROUP_LABEL, "")
    return WorkloadRecord(
        metadata.uid, metadata.namespace, label, runs, job.has_finished, metadata.unit, owner_of(metadata)
    )


def pod_record(raw: bytes) -> WorkloadRecord | None:
    """Return the part of a pod that is kept; None for one that another object accounts for."""
    pod = read_pod(raw)
    if is_covered(pod):
        return None
    metadata = pod.metadata
    label = metadata.labels.get(GROUP_LABEL, "")
    return WorkloadRecord(metadata.uid, metadata.namespace, label, not pod.is_gated, pod.has_ended)


def record_of_any_pod(raw: bytes) -> WorkloadRecord | None:
    """Return the same, and of a pod that counts for an object of a governed kind, which object and pod set that is."""
    pod = read_pod(raw)
    metadata, pod_set = pod.metadata, pod.metadata.labels.get(POD_SET_LABEL, "")
    if not (pod_set and is_covered(pod) and metadata.unit):
        return pod_record(raw)
    return WorkloadRecord(
        metadata.uid, metadata.namespace, "", runs=True, over=pod.has_ended, unit=metadata.unit, pod_set=pod_set
    )
