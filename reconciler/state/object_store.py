"""The Jobs and pods that are work, by unit: a Job or a lone pod by its uid, a group of pods by its key. Pure."""

from collections.abc import Iterator

from reconciler.state.workload_reader import WorkloadObject
from shared.api.core.job import Job
from shared.api.core.pod import Pod
from shared.quota.model.pod_reading import pod_group_of


class ObjectStore:
    """As the watches showed them last."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._pods: dict[str, dict[str, Pod]] = {}

    def put_job(self, job: Job) -> None:
        """It is as this."""
        self._jobs[job.metadata.uid] = job

    def lose_job(self, uid: str) -> bool:
        """It has gone; whether it was there."""
        return self._jobs.pop(uid, None) is not None

    def put_pod(self, pod: Pod) -> None:
        """It is as this."""
        self._pods.setdefault(unit_of_pod(pod), {})[pod.metadata.uid] = pod

    def lose_pod(self, pod: Pod) -> None:
        """It has gone."""
        unit = unit_of_pod(pod)
        members = self._pods.get(unit, {})
        members.pop(pod.metadata.uid, None)
        if not members:
            self._pods.pop(unit, None)

    def all_of(self, unit: str) -> list[WorkloadObject]:
        """The Job, or the pods, of a unit, also those that have ended while others of their group have not."""
        job = self._jobs.get(unit)
        return [job] if job is not None else list(self._pods.get(unit, {}).values())

    def live_of(self, unit: str) -> list[WorkloadObject]:
        """Those that may be written on; nothing when the unit has gone or ended."""
        return [each for each in self.all_of(unit) if isinstance(each, Job) or not each.has_ended]

    def has_pod(self, pod: Pod) -> bool:
        """Whether this pod is still there and has not ended."""
        found = self._pods.get(unit_of_pod(pod), {}).get(pod.metadata.uid)
        return found is not None and not found.has_ended

    def firsts(self) -> Iterator[tuple[str, WorkloadObject]]:
        """Every unit, and one of its objects."""
        yield from self._jobs.items()
        for unit, members in self._pods.items():
            yield unit, next(iter(members.values()))


def unit_of_pod(pod: Pod) -> str:
    """The unit of a pod: its group's key, or its own uid."""
    return pod_group_of(pod) or pod.metadata.uid
