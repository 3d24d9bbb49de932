"""The Jobs and pods of workloads, by workload key. Pure."""

from collections.abc import Iterator
from typing import NamedTuple, Self

from reconciler.state.workload_reader import WorkloadObject
from shared.api.core.job import Job
from shared.api.core.pod import Pod
from shared.quota.model.pod_reading import pod_group_of


class PodRef(NamedTuple):
    """Which pod is to be ended, and of which workload."""

    key: str
    namespace: str
    name: str
    uid: str

    @classmethod
    def of(cls, key: str, pod: Pod) -> Self:
        """This pod of the workload."""
        return cls(key, pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)


class ObjectStore:
    """The objects as the watches showed them last."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._pods: dict[str, dict[str, Pod]] = {}

    def put_job(self, job: Job) -> None:
        """Add or replace it."""
        self._jobs[job.metadata.uid] = job

    def lose_job(self, uid: str) -> bool:
        """Remove it; whether it was there."""
        return self._jobs.pop(uid, None) is not None

    def put_pod(self, pod: Pod) -> None:
        """Add or replace it."""
        self._pods.setdefault(key_of_pod(pod), {})[pod.metadata.uid] = pod

    def lose_pod(self, pod: Pod) -> None:
        """Remove it."""
        key = key_of_pod(pod)
        members = self._pods.get(key, {})
        members.pop(pod.metadata.uid, None)
        if not members:
            self._pods.pop(key, None)

    def all_of(self, key: str) -> list[WorkloadObject]:
        """The Job, or the pods, of a workload; of a group also those that have ended before others."""
        job = self._jobs.get(key)
        return [job] if job is not None else list(self._pods.get(key, {}).values())

    def live_of(self, key: str) -> list[WorkloadObject]:
        """Those that may be written; nothing when the workload has gone or ended."""
        return [each for each in self.all_of(key) if isinstance(each, Job) or not each.has_ended]

    def job(self, uid: str) -> Job | None:
        """The Job with this uid."""
        return self._jobs.get(uid)

    def has_pod(self, key: str, uid: str) -> bool:
        """Whether this pod of the workload is still there and has not ended."""
        found = self._pods.get(key, {}).get(uid)
        return found is not None and not found.has_ended

    def firsts(self) -> Iterator[tuple[str, WorkloadObject]]:
        """Every workload key, and one of its objects."""
        yield from self._jobs.items()
        for key, members in self._pods.items():
            yield key, next(iter(members.values()))


def key_of_pod(pod: Pod) -> str:
    """The workload key of a pod: its group's namespace/name, or its own uid."""
    return pod_group_of(pod) or pod.metadata.uid
