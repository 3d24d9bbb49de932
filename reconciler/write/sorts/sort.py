"""The interface: what a start and an eviction write on one object of a workload. Pure."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Generic

from reconciler.write.patches import Guard
from shared.api.core.pod import Pod
from shared.api.json.patches import Operation
from shared.cluster.state.expected.unwritten import AnnotationPatch
from shared.cluster.state.sorts.sort import T
from shared.kube.resources import Resource
from shared.quota.decide.decisions import Start
from shared.quota.model.flavor import Flavor

FlavorsOf = Callable[[str], Sequence[Flavor]]
"""The flavors that a pod set got, as they are now."""
PodSetOf = Callable[[Pod], str]
"""The set that a pod of a group with several belongs to."""


class WriteSort(ABC, Generic[T]):
    """What is written on one sort."""

    @abstractmethod
    def resource(self, seen: T) -> Resource:
        """Return where it is written."""

    @abstractmethod
    def start(
        self, seen: T, start: Start, written: AnnotationPatch, flavors: FlavorsOf, pod_set_of: PodSetOf
    ) -> list[Operation]:
        """Return the patch that starts it on the nodes of its flavors."""

    @abstractmethod
    def evict(self, seen: T, group: str, written: AnnotationPatch, guard: Guard) -> list[Operation]:
        """Return the patch that stops it, with its reason."""

    def change_policy(self, _seen: T, _group: str, _policy: str) -> list[Operation]:
        """Return the patch that changes when the pods of a started one are replaced; none where that is not its own."""
        return []

    @abstractmethod
    def least_eviction(self, seen: T) -> list[Operation]:
        """Return the smallest patch that stops it, for an object that has no space for the reason; maybe none."""
