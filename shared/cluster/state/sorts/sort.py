"""The interface of the sorts: Jobs, objects of governed kinds, and pods, alone or in pod groups. Pure."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import ClassVar, Generic, Protocol, TypeVar

from shared.api.core.job import Job
from shared.api.core.metadata import Metadata
from shared.api.core.pod import Pod, PodSpec
from shared.cluster.state.observed.gangs import WantedPodGroup
from shared.cluster.state.observed.job_pods import PodSums
from shared.cluster.state.observed.job_readings import KnownReadings
from shared.cluster.state.observed.job_use import Use
from shared.cluster.state.observed.pod_replacement import PolicyChange
from shared.kinds.kind_object import KindObject
from shared.quota.model.namespace_context import NamespaceContexts
from shared.quota.model.read.jobs import PodRequest, Reading
from shared.quota.model.read.kind_objects import PodsBySet
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.workload import Workload

WorkloadObject = Job | Pod | KindObject
Owner = Job | KindObject
"""An object whose controller or operator creates pods."""

T = TypeVar("T", bound=WorkloadObject)
OwnerT = TypeVar("OwnerT", bound=Owner)


class ReadingContext(Protocol):
    """What a workload is read with. `pods_of`, `sums_of`: the pods of an owner, by the key of its workload."""

    @property
    def settings(self) -> QuotaSettings: ...
    @property
    def namespaces(self) -> NamespaceContexts: ...
    @property
    def pods_of(self) -> Callable[[str], PodsBySet]: ...
    @property
    def sums_of(self) -> Callable[[str], PodSums | None]: ...
    @property
    def request_of(self) -> PodRequest: ...
    @property
    def known_jobs(self) -> KnownReadings: ...
    @property
    def now(self) -> Callable[[], datetime | None]: ...


class WorkloadSort(ABC, Generic[T]):
    """What differs between the sorts."""

    starts_alone: ClassVar[bool] = False
    """Its start needs no answer of a controller: it starts when its gate is gone."""
    can_be_revoked: ClassVar[bool] = True
    """Its owner can suspend it again before its controller has noted the start."""
    may_stop_early: ClassVar[bool] = False
    """What its operator has made may still be making pods when the operator has noted the stop."""

    @abstractmethod
    def type_of(self, seen: T) -> tuple[str, str]:
        """Return its apiVersion and kind."""

    @abstractmethod
    def read(self, key: str, objects: Sequence[T], context: ReadingContext, apart: int) -> Reading:
        """Return the workload that the objects are, as they are written; see `WorkloadReader.read`."""

    @abstractmethod
    def with_metadata(self, seen: T, metadata: Metadata) -> T:
        """Return the object with other metadata."""

    @abstractmethod
    def is_suspended(self, seen: T) -> bool:
        """Return whether it is held."""

    @abstractmethod
    def is_answered(self, seen: T, sums: PodSums | None) -> bool:
        """Return whether its controller has noted that it was started."""

    def policy_change(
        self, _seen: T, _workload: Workload, _sums: PodSums | None, _now: datetime | None
    ) -> PolicyChange | None:
        """Return the change of its podReplacementPolicy that it needs."""
        return None

    def wanted_pod_group(self, _seen: T, _workload: Workload) -> WantedPodGroup | None:
        """Return the PodGroup that its pods are placed with, if Quotree makes it."""
        return None

    def is_live(self, seen: T) -> bool:
        """Return whether it can be written: it has not ended."""
        return True

    def is_gated(self, seen: T) -> bool:
        """Return whether it is a pod that is still held, maybe in a group that has started."""
        return False

    def pod_group(self, seen: T) -> str | None:
        """Return the key of the pod group that it is labelled with."""
        return None

    def suspended_since(self, seen: T) -> datetime | None:
        """Return when its controller last noted that it is suspended; None: it has not, or does not say so."""
        return None

    def keeps_start_time(self, seen: T) -> bool:
        """Return whether it is suspended and Kubernetes has not reset its start time."""
        return False

    def lacks_pods(self, seen: T, pods: PodsBySet) -> bool:
        """Return whether pods that it declares have not been seen, if its use is read from them."""
        return False

    def has_noted_stop(self, seen: T) -> bool:
        """Return whether its operator has noted that it was stopped, while it may be making pods."""
        return False

    def use(self, seen: T, workload: Workload, sums: PodSums | None, last: Workload | None) -> Use | None:
        """Return the use of what reads as `workload`, given its pods; None: as it reads. See `use_of_job`."""
        return None


class OwnerSort(WorkloadSort[OwnerT]):
    """What differs between the sorts whose pods a controller or operator creates."""

    @abstractmethod
    def key_of(self, seen: OwnerT) -> str:
        """Return the key of its workload."""

    @abstractmethod
    def pod_specs(self, seen: OwnerT) -> list[PodSpec]:
        """Return the specs of its pod templates."""

    @abstractmethod
    def may_have_pods(self, seen: OwnerT) -> bool:
        """Return whether it says that it has pods, or is about to make them."""

    @abstractmethod
    def is_use_changed(self, seen: OwnerT, workload: Workload, sums: PodSums | None) -> bool:
        """Return whether its pods, which changed, may use something else than `workload` says."""
