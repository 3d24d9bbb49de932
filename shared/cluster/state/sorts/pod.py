"""Pods: held by a gate, each a workload of its own or a member of a pod group. Pure."""

from collections.abc import Sequence
from typing import ClassVar

import msgspec

from shared.api.core.metadata import Metadata
from shared.api.core.pod import Pod
from shared.cluster.state.observed.job_pods import PodSums
from shared.cluster.state.sorts.sort import ReadingContext, WorkloadSort
from shared.quota.model.read.jobs import Reading
from shared.quota.model.read.pods import pod_group_of, workload_of_pod, workload_of_pod_group


class PodSort(WorkloadSort[Pod]):
    """A pod, or all pods of a group."""

    starts_alone: ClassVar[bool] = True
    can_be_revoked: ClassVar[bool] = False

    def type_of(self, _seen: Pod) -> tuple[str, str]:
        """Return its apiVersion and kind."""
        return "v1", "Pod"

    def read(self, key: str, objects: Sequence[Pod], context: ReadingContext, apart: int) -> Reading:
        """Return the pod, or the pod group with that key, as a workload."""
        first = objects[0]
        around = context.namespaces.of(first.metadata.namespace)
        if pod_group_of(first) == key:
            return workload_of_pod_group(list(objects), around, context.settings, apart=apart, now=context.now())
        return workload_of_pod(first, around, context.settings, context.now())

    def with_metadata(self, seen: Pod, metadata: Metadata) -> Pod:
        """Return it with other metadata."""
        return msgspec.structs.replace(seen, metadata=metadata)

    def is_suspended(self, seen: Pod) -> bool:
        """Return whether it has the gate."""
        return seen.is_gated

    def is_answered(self, _seen: Pod, _sums: PodSums | None) -> bool:
        """Return True: without its gate it has started."""
        return True

    def is_live(self, seen: Pod) -> bool:
        """Return whether it has not ended and may still start."""
        return not (seen.has_ended or seen.never_starts)

    def is_gated(self, seen: Pod) -> bool:
        """Return whether it has the gate."""
        return seen.is_gated

    def pod_group(self, seen: Pod) -> str | None:
        """Return the key of the pod group that it is labelled with."""
        return pod_group_of(seen)
