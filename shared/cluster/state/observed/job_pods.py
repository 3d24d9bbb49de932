"""The pods of Jobs and of objects of governed kinds that have not ended, by workload, and what they use together. Pure.

A Job uses what its pods themselves request: pods may be larger than the template says (other webhooks change them),
and terminating pods still run beside those that replace them.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import msgspec

from shared.api.core.job import Job
from shared.api.json.reading import aware
from shared.quota.measure.static.using_pods import UsingPod
from shared.quota.model.read.kind_objects import PodsBySet, SeenPods
from shared.quota.model.tree import Amounts
from shared.resources import MAX_AMOUNT, Amount


@dataclass(frozen=True, slots=True)
class PodSums:
    """How many pods a Job has, and the sum of their requests: active ones, and deleted ones."""

    active: int
    terminating: int
    active_request: Amounts
    terminating_request: Amounts
    ends_by: tuple[datetime, ...] = ()
    """Until when each of the deleted ones has to have ended."""

    @property
    def pods(self) -> int:
        """How many there are."""
        return self.active + self.terminating

    @property
    def request(self) -> Amounts:
        """The request of all of them."""
        return add_up((self.active_request, self.terminating_request))


class SucceededPod(msgspec.Struct, frozen=True, gc=False):
    """A succeeded pod of an object of a governed kind. `job`: the key of that object's workload."""

    uid: str
    job: str
    pod_set: str


_NONE: Final[Sequence[UsingPod]] = ()


class JobPods:
    """One record per pod, shared with `NodeUsage`."""

    def __init__(self, ignored: Collection[str]) -> None:
        self._ignored = ignored
        self._of_job: dict[str, dict[str, UsingPod]] = {}
        self._succeeded: dict[str, dict[str, str]] = {}
        """By workload and uid, the pod set of each pod that has succeeded."""

    def see(self, changes: Iterable[tuple[UsingPod | None, UsingPod | None]]) -> set[str]:
        """Process changes of pods; return the uids of their Jobs."""
        touched = set()
        for before, after in changes:
            for pod in (before, after):
                if pod is not None and pod.job:
                    touched.add(pod.job)
            if before is not None and before.job:
                self._remove(before)
            if after is not None and after.job:
                self._of_job.setdefault(after.job, {})[after.uid] = after
        return touched

    def observe_succeeded(self, changes: Iterable[tuple[SucceededPod | None, SucceededPod | None]]) -> set[str]:
        """Process succeeded or deleted pods of objects of governed kinds; return the keys of these objects."""
        touched = set()
        for before, after in changes:
            if before is not None:
                touched.add(before.job)
                pods = self._succeeded.get(before.job, {})
                pods.pop(before.uid, None)
                if not pods:
                    self._succeeded.pop(before.job, None)
            if after is not None:
                touched.add(after.job)
                self._succeeded.setdefault(after.job, {})[after.uid] = after.pod_set
        return touched

    def by_set(self, job: str) -> PodsBySet:
        """Return the pods of an object of a governed kind, by the names of its pod sets."""
        found: dict[str, list[UsingPod]] = {}
        for pod in self._of_job.get(job, {}).values():
            found.setdefault(pod.pod_set, []).append(pod)
        done = Counter(self._succeeded.get(job, {}).values())
        return {
            name: SeenPods(
                len(pods),
                sum(each.is_ready and not each.is_terminating for each in pods) + done[name],
                self._sum(pods),
            )
            for name, pods in {**dict.fromkeys(done, _NONE), **found}.items()
        }

    def _remove(self, pod: UsingPod) -> None:
        pods = self._of_job.get(pod.job, {})
        pods.pop(pod.uid, None)
        if not pods:
            self._of_job.pop(pod.job, None)

    def __contains__(self, job: str) -> bool:
        return job in self._of_job

    def active(self, job: str) -> list[UsingPod]:
        """Return the pods of the Job that are not deleted."""
        return [pod for pod in self._of_job.get(job, {}).values() if not pod.is_terminating]

    def is_active(self, job: str, uid: str) -> bool:
        """Return whether the pod with this uid is still one of these."""
        known = self._of_job.get(job, {}).get(uid)
        return known is not None and not known.is_terminating

    def unplaced(self, job: str) -> list[str]:
        """Return why pods of the Job have no node, one text for each such pod."""
        return [pod.unplaced for pod in self._of_job.get(job, {}).values() if pod.unplaced]

    def sums(self, job: str) -> PodSums | None:
        """Return the sums of the Job's pods; None if it has none."""
        pods = self._of_job.get(job)
        if not pods:
            return None
        active = [pod for pod in pods.values() if not pod.is_terminating]
        terminating = [pod for pod in pods.values() if pod.is_terminating]
        ends_by = tuple(aware(pod.ends_by) for pod in terminating if pod.ends_by is not None)
        return PodSums(len(active), len(terminating), self._sum(active), self._sum(terminating), ends_by)

    def _sum(self, pods: Iterable[UsingPod]) -> Amounts:
        total = add_up(pod.request for pod in pods)
        return {resource: amount for resource, amount in total.items() if resource not in self._ignored}


def add_up(requests: Iterable[Mapping[str, Amount]]) -> Amounts:
    """Return the sum by resource."""
    total: dict[str, Amount] = {}
    for request in requests:
        for resource, amount in request.items():
            total[resource] = min(total.get(resource, 0) + amount, MAX_AMOUNT)
    return total


def highest(first: Amounts, second: Amounts) -> Amounts:
    """Return the larger amount of each resource."""
    return {resource: max(first.get(resource, 0), second.get(resource, 0)) for resource in {**first, **second}}


def is_as_declared(job: Job, request: Amounts, sums: PodSums) -> bool:
    """Whether the Job's pods use no more than `request`, its template's times `job.pods_left`; none terminates."""
    wanted = job.pods_left
    return (
        not sums.terminating
        and sums.active <= wanted
        and all(amount * wanted <= request.get(name, 0) * sums.active for name, amount in sums.active_request.items())
    )


def request_of_active(job: Job, declared: Amounts, sums: PodSums) -> Amounts:
    """What a running Job uses without its terminating pods: its active pods as they are, the missing ones as declared.

    `declared` is the template's request times `job.pods_left`. Example: 4 pods of 1 cpu declared, 3 active of which one
    was made to request 3: 5 for these, 1 for the fourth, 6 in all. Never less than `declared`, unless terminating pods
    must end before they are replaced (podReplacementPolicy Failed): then those are not counted twice.
    """
    wanted, missing, delayed = job.pods_left, pods_to_be_made(job, sums), _delayed(job, sums)
    one = {resource: amount // wanted for resource, amount in declared.items()} if wanted else {}
    expected = {resource: amount * missing for resource, amount in one.items()}
    floor = {resource: amount * max(0, wanted - delayed) for resource, amount in one.items()}
    total = highest(add_up((sums.active_request, expected)), floor)
    return {resource: amount for resource, amount in total.items() if amount}


def pods_to_be_made(job: Job, sums: PodSums) -> int:
    """Return how many pods a running Job can still make at once."""
    return max(0, job.pods_left - sums.active - _delayed(job, sums))


def _delayed(job: Job, sums: PodSums) -> int:
    """Return how many of its pods must end before others take their place."""
    return sums.terminating if job.spec.pod_replacement_policy == "Failed" else 0
