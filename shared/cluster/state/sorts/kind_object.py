"""Objects of governed kinds: their operators make their pods, and may show neither start nor stop. Pure."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from shared.api.core.metadata import Metadata
from shared.api.core.pod import PodSpec
from shared.cluster.state.observed.job_pods import PodSums
from shared.cluster.state.sorts.sort import OwnerSort, ReadingContext
from shared.kinds.kind_object import KindObject
from shared.quota.model.read.jobs import Reading
from shared.quota.model.read.kind_objects import NO_PODS_OF_SET, PodsBySet, workload_of_kind
from shared.quota.model.read.pods import unit_key
from shared.quota.model.workload import Workload


class KindSort(OwnerSort[KindObject]):
    """An object of a governed kind and the pods that carry its uid."""

    may_stop_early: ClassVar[bool] = True

    def type_of(self, seen: KindObject) -> tuple[str, str]:
        """Return its apiVersion and kind."""
        return seen.kind.api_version, seen.kind.kind

    def key_of(self, seen: KindObject) -> str:
        """Return its uid and namespace, by which its pods say that they belong to it."""
        return unit_key(seen.metadata.uid, seen.metadata.namespace)

    def read(self, key: str, objects: Sequence[KindObject], context: ReadingContext, _apart: int) -> Reading:
        """Return the object and its pods as a workload."""
        around = context.namespaces.of(objects[0].metadata.namespace)
        return workload_of_kind(objects[0], around, context.settings, context.pods_of(key), context.now())

    def with_metadata(self, seen: KindObject, metadata: Metadata) -> KindObject:
        """Return it with other metadata."""
        return replace(seen, metadata=metadata)

    def is_suspended(self, seen: KindObject) -> bool:
        """Return whether its field for that says so."""
        return seen.suspended

    def is_answered(self, seen: KindObject, sums: PodSums | None) -> bool:
        """Return whether its operator has noted the start, or has made pods."""
        return seen.noted or sums is not None

    def pod_specs(self, seen: KindObject) -> list[PodSpec]:
        """Return the template of each pod set."""
        return [each.spec for each in seen.pod_sets]

    def may_have_pods(self, _seen: KindObject) -> bool:
        """Return False: what its status counts is not relied on."""
        return False

    def is_use_changed(self, _seen: KindObject, _workload: Workload, _sums: PodSums | None) -> bool:
        """Return True: its use is read from its pods."""
        return True

    def lacks_pods(self, seen: KindObject, pods: PodsBySet) -> bool:
        """Return whether fewer pods of a set exist, or have succeeded, than it declares."""
        found = ((each.count, pods.get(each.name, NO_PODS_OF_SET)) for each in seen.pod_sets)
        return not all(max(of_set.present, of_set.ready) >= count for count, of_set in found)

    def has_noted_stop(self, seen: KindObject) -> bool:
        """Return whether its operator has observed that it is suspended."""
        return seen.stopped
