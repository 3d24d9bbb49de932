"""Reads the objects of one workload in the context of their namespace. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from shared.api.core.pod import Pod
from shared.cluster.state.observed.interning import InternedRequests
from shared.cluster.state.observed.job_pods import PodSums
from shared.cluster.state.observed.job_readings import KnownReadings
from shared.cluster.state.sorts.registry import sort_of
from shared.cluster.state.sorts.sort import WorkloadObject
from shared.quota.model.admissions import why_no_admission
from shared.quota.model.counts.entries import counts_on_path
from shared.quota.model.counts.requests import with_counts_requested
from shared.quota.model.devices.flavors import with_all_devices
from shared.quota.model.namespace_context import NamespaceContexts
from shared.quota.model.read.jobs import ObjectState, PodRequest, Reading
from shared.quota.model.read.kind_objects import NO_PODS, PodsBySet
from shared.quota.model.read.pod_sets import member_of
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Group
from shared.quota.model.workload import NOTHING_CLOSED, Workload
from shared.resources import Amount, FlavorResource


def _no_pods(_key: str) -> PodsBySet:
    return NO_PODS


def _no_sums(_key: str) -> PodSums | None:
    return None


def _no_group(_name: str) -> Group | None:
    return None


def _nothing_closed(_: str) -> Mapping[FlavorResource, Amount]:
    return NOTHING_CLOSED


def _no_moment() -> datetime | None:
    return None


@dataclass(frozen=True, slots=True)
class WorkloadReader:
    """`admits` (group, labels of the namespace): whether the group takes its workloads.

    `pods_of`: the pods of an object of a governed kind, by the key of its workload. `group_of`: the group of that
    name. `sums_of`: what the pods of an owner use together, by the same key. `on_closed_nodes`: what of that is on
    nodes that take no more pods.

    `now`: the moment of the latest cycle, by which it is judged which times in annotations can be.
    """

    settings: QuotaSettings
    namespaces: NamespaceContexts
    admits: Callable[[str, Mapping[str, str]], bool]
    pods_of: Callable[[str], PodsBySet] = _no_pods
    group_of: Callable[[str], Group | None] = _no_group
    now: Callable[[], datetime | None] = _no_moment
    sums_of: Callable[[str], PodSums | None] = _no_sums
    on_closed_nodes: Callable[[str], Mapping[FlavorResource, Amount]] = _nothing_closed
    known_jobs: KnownReadings = field(default_factory=KnownReadings)
    _requests: InternedRequests = field(default_factory=InternedRequests)

    def read(self, key: str, objects: Sequence[WorkloadObject], apart: int = 0) -> Reading:
        """Return a Job, a pod, or all pods of a group, of which `apart` more run as workloads of their own.

        Before its adoption, or in a namespace that the group does not admit, it is on hold.
        """
        reading = sort_of(objects[0]).read(key, objects, self, apart)
        workload = reading.workload
        if workload is None:
            return reading
        if reading.state is ObjectState.RUNNING:
            why = why_no_admission(workload, self.group_of, self.settings)
            if why:
                problem = f"its admission {why}: it counts as absent"
                reading = Reading(ObjectState.ADOPTED, replace(workload, admission=None), (*reading.problems, problem))
                workload = replace(workload, admission=None)
        if reading.state is ObjectState.ADOPTED:
            return replace(reading, workload=replace(workload, hold=True, gates=()))
        if not workload.is_pending:
            return replace(reading, workload=self._with_answer(key, objects[0], workload))
        namespace = objects[0].metadata.namespace
        if self.admits(workload.group, self.namespaces.labels(namespace)):
            return reading
        problem = f"group {workload.group} does not admit namespace {namespace}; it waits"
        held = replace(workload, hold=True, hold_reason=problem)
        return Reading(reading.state, held, (*reading.problems, problem))

    def as_placed(self, account: str, workload: Workload) -> Workload:
        """Return the workload with what the pods of this account hold on nodes that take no more pods."""
        if workload.admission is None:
            return workload
        return workload.holding_on_closed_nodes(self.on_closed_nodes(account))

    @property
    def request_of(self) -> PodRequest:
        """The request of a pod, computed once for all that are alike."""
        return self._requests.of

    def as_counted(self, workload: Workload) -> Workload:
        """Return the workload as it counts: with devices that it was not started with, and what its group counts."""
        found = with_all_devices(workload, self.group_of(workload.group), self.settings)
        return with_counts_requested(found, counts_on_path(self.group_of, workload.group))

    def pod_set_of(self, pod: Pod) -> str:
        """Return the set that a pod of a group with several belongs to."""
        return member_of(pod, self.namespaces.of(pod.metadata.namespace), self.settings).pod_set

    def _with_answer(self, key: str, target: WorkloadObject, workload: Workload) -> Workload:
        """An admitted workload is not stopped before its controller has acknowledged the start."""
        if workload.admission is None or self._is_answered(key, target):
            return workload
        return replace(workload, admission=replace(workload.admission, answered=False))

    def _is_answered(self, key: str, target: WorkloadObject) -> bool:
        return sort_of(target).is_answered(target, self.sums_of(key))
