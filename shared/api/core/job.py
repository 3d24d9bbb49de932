"""A batch Job: how many pods, from which template, and their progress."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from shared.api.conditions import ObservedCondition, is_true
from shared.api.core.metadata import Metadata
from shared.api.core.pod import PodSpec
from shared.api.json.reading import Int32, View, reader
from shared.api.names import JOB_CONTROLLER

_MAX_INDEXES_TEXT: Final = 1 << 20
_OVER: Final = ("Complete", "Failed")
WHEN_ENDED: Final = "Failed"
"""The podReplacementPolicy by which a pod is replaced once it has ended."""
AT_ONCE: Final = "TerminatingOrFailed"
"""That by which it is replaced as soon as it is deleted: what Kubernetes takes where none is given."""


class PodTemplate(View, frozen=True):
    """The template of a Job's pods."""

    metadata: Metadata = Metadata()
    spec: PodSpec = PodSpec()


class JobScheduling(View, frozen=True):
    """What the owner of a Job has the Job controller tell kube-scheduler; only whether it is there."""


class JobSpec(View, frozen=True, gc=True, weakref=True):
    """The spec of a Job.

    Absent `parallelism` means 1; absent `completions` a work queue: done when one has succeeded and all ended.
    """

    suspend: bool = False
    parallelism: Int32 | None = None
    completions: Int32 | None = None
    managed_by: str = ""
    manual_selector: bool = False
    pod_replacement_policy: str = ""
    active_deadline_seconds: int | None = None
    scheduling: JobScheduling | None = None
    template: PodTemplate = PodTemplate()


class JobStatus(View, frozen=True, gc=True, weakref=True):
    """Counts of pods as the Job controller last saw them; `active` leaves terminating pods out."""

    start_time: datetime | None = None
    active: Int32 = 0
    ready: Int32 = 0
    terminating: Int32 = 0
    succeeded: Int32 = 0
    failed: Int32 = 0
    failed_indexes: str = ""
    conditions: list[ObservedCondition] = []


class Job(View, frozen=True):
    """A Job."""

    metadata: Metadata = Metadata()
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    @property
    def has_finished(self) -> bool:
        """Complete or Failed, with every pod ended."""
        return self._is_over and self.status.active <= 0 and self.status.terminating <= 0

    @property
    def _is_over(self) -> bool:
        for each in self.status.conditions:  # noqa: SIM110 - asked of every Job several times
            if each.type in _OVER and each.status == "True":
                return True
        return False

    @property
    def finished_at(self) -> datetime | None:
        """When it became Complete or Failed, in whole seconds; None: it has not."""
        found = (each for each in self.status.conditions if each.type in _OVER and each.status == "True")
        return next((each.last_transition_time for each in found if self.has_finished), None)

    @property
    def has_pods(self) -> bool:
        """Whether its pods might still run: by counts, or as the Job controller has not noted that it is suspended."""
        if self.status.active > 0 or self.status.terminating > 0:
            return True
        return self.status.start_time is not None and not self.keeps_start_time

    @property
    def keeps_start_time(self) -> bool:
        """Whether it is suspended and still shows when it last started: Kubernetes before 1.36 does not reset that."""
        if not self.spec.suspend or self.status.start_time is None or self._is_over:
            return False
        return self.has_own_controller and is_true(self.status.conditions, "Suspended")

    @property
    def wanted_pods(self) -> int:
        """The maximum of concurrent pods: min(parallelism, completions); never below 0."""
        return pods_at_once(self.spec.parallelism, self.spec.completions)

    @property
    def pods_left(self) -> int:
        """How many pods it may still run at a time: min(parallelism, completions left).

        More when more are active, as after parallelism was lowered. A work queue starts none after its first success.
        """
        if self._is_over:
            return max(0, self.status.active) + max(0, self.status.terminating)
        if self.spec.completions is None:
            left = self.wanted_pods if self.status.succeeded <= 0 else 0
        else:
            left = min(self.wanted_pods, self.spec.completions - self.status.succeeded - self._failed_indexes)
        return max(0, left, self.status.active)

    @property
    def replaces(self) -> str:
        """When its pods are replaced: WHEN_ENDED or AT_ONCE."""
        return self.spec.pod_replacement_policy or AT_ONCE

    @property
    def has_own_controller(self) -> bool:
        """Whether Kubernetes' own Job controller makes its pods."""
        return self.spec.managed_by in ("", JOB_CONTROLLER)

    @property
    def _failed_indexes(self) -> int:
        return count_indexes(self.status.failed_indexes) if self.status.failed_indexes else 0

    @property
    def ready_pods(self) -> int:
        """How many pods are ready or have succeeded."""
        return self.status.ready + self.status.succeeded


def pods_at_once(parallelism: int | None, completions: int | None) -> int:
    """min(parallelism, completions), where absent parallelism is 1 and absent completions is no bound."""
    parallel = 1 if parallelism is None else parallelism
    return max(0, parallel if completions is None else min(parallel, completions))


def count_indexes(text: str) -> int:
    """Return how many indexes `text` lists, as Kubernetes writes them: "1,3-5,7" is 5.

    Text that is no such list counts 0.
    """
    if len(text) > _MAX_INDEXES_TEXT:
        return 0
    return sum(_sizes(text.split(",")))


def _sizes(parts: Iterable[str]) -> Iterable[int]:
    for part in parts:
        first, dash, last = part.partition("-")
        if not (first.isascii() and first.isdigit() and len(first) < 11):
            continue
        if not dash:
            yield 1
        elif last.isascii() and last.isdigit() and len(last) < 11:
            yield max(0, int(last) - int(first) + 1)


read_job = reader(Job)
