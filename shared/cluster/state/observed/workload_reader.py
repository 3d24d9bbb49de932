"""Reads the objects of one workload in the context of their namespace. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from shared.api.core.job import Job
from shared.api.core.pod import Pod
from shared.cluster.state.observed.interning import InternedRequests
from shared.kinds.kind_object import KindObject
from shared.quota.model.device_flavors import with_all_devices
from shared.quota.model.namespace_context import NamespaceContexts
from shared.quota.model.read.jobs import ObjectState, Reading, workload_of_job
from shared.quota.model.read.kind_objects import NO_PODS, PodsBySet, workload_of_kind
from shared.quota.model.read.pod_sets import member_of
from shared.quota.model.read.pods import pod_group_of, workload_of_pod, workload_of_pod_group
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Group
from shared.quota.model.workload import Workload

WorkloadObject = Job | Pod | KindObject


def _no_pods(_key: str) -> PodsBySet:
    return NO_PODS


def _no_group(_name: str) -> Group | None:
    return None


def _no_moment() -> datetime | None:
    return None


@dataclass(frozen=True, slots=True)
class WorkloadReader:
    """`admits` (group, labels of the namespace): whether the group takes its workloads.

    `pods_of`: the pods of an object of a governed kind, by the key of its workload. `group_of`: the group of that name.

    `now`: the moment of the latest cycle, by which it is judged which times in annotations can be.
    """

    settings: QuotaSettings
    namespaces: NamespaceContexts
    admits: Callable[[str, Mapping[str, str]], bool]
    pods_of: Callable[[str], PodsBySet] = _no_pods
    group_of: Callable[[str], Group | None] = _no_group
    now: Callable[[], datetime | None] = _no_moment
    _requests: InternedRequests = field(default_factory=InternedRequests)

    def read(self, key: str, objects: Sequence[WorkloadObject], apart: int = 0) -> Reading:
        """Return a Job, a pod, or all pods of a group, of which `apart` more run as workloads of their own.

        Before its adoption, or in a namespace that the group does not admit, it is on hold.
        """
        reading = self._as_written(key, objects, apart)
        workload = reading.workload
        if workload is None:
            return reading
        if reading.state is ObjectState.ADOPTED:
            return replace(reading, workload=replace(workload, hold=True))
        if not workload.is_pending:
            return replace(reading, workload=self._with_answer(key, objects[0], workload))
        namespace = objects[0].metadata.namespace
        if self.admits(workload.group, self.namespaces.labels(namespace)):
            return reading
        problem = f"group {workload.group} does not admit namespace {namespace}; it waits"
        held = replace(workload, hold=True, hold_reason=problem)
        return Reading(reading.state, held, (*reading.problems, problem))

    def with_all_devices(self, workload: Workload) -> Workload:
        """Return the workload as it counts, including devices that it was not started with."""
        return with_all_devices(workload, self.group_of(workload.group), self.settings)

    def pod_set_of(self, pod: Pod) -> str:
        """Return the set that a pod of a group with several belongs to."""
        return member_of(pod, self.namespaces.of(pod.metadata.namespace), self.settings).pod_set

    def _as_written(self, key: str, objects: Sequence[WorkloadObject], apart: int) -> Reading:
        first = objects[0]
        context = self.namespaces.of(first.metadata.namespace)
        if isinstance(first, Job):
            return workload_of_job(first, context, self.settings, self._requests.of, self.now())
        if isinstance(first, KindObject):
            return workload_of_kind(first, context, self.settings, self.pods_of(key), self.now())
        pods = [each for each in objects if isinstance(each, Pod)]
        if pod_group_of(first) == key:
            return workload_of_pod_group(pods, context, self.settings, apart=apart, now=self.now())
        return workload_of_pod(first, context, self.settings, self.now())

    def _with_answer(self, key: str, target: WorkloadObject, workload: Workload) -> Workload:
        """An admitted workload is not stopped before its controller has acknowledged the start."""
        if workload.admission is None or self._is_answered(key, target):
            return workload
        return replace(workload, admission=replace(workload.admission, answered=False))

    def _is_answered(self, key: str, target: WorkloadObject) -> bool:
        if isinstance(target, Job):
            return target.status.start_time is not None
        return not isinstance(target, KindObject) or target.noted or bool(self.pods_of(key))
