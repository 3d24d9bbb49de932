"""A pod starts when its gate is removed, and ends by the Eviction API. Pure."""

from reconciler.write import patches
from reconciler.write.sorts.sort import FlavorsOf, PodSetOf, WriteSort
from shared.api.core.pod import Pod
from shared.api.json.patches import Operation
from shared.api.names import MAIN_POD_SET, NOTICE, TURN
from shared.cluster.state.expected.unwritten import AnnotationPatch
from shared.kube.resources import PODS, Resource
from shared.quota.decide.decisions import Start


class PodWrites(WriteSort[Pod]):
    """What is written on a pod."""

    def resource(self, _seen: Pod) -> Resource:
        """Return the resource of pods."""
        return PODS

    def start(
        self, seen: Pod, start: Start, written: AnnotationPatch, flavors: FlavorsOf, pod_set_of: PodSetOf
    ) -> list[Operation]:
        """Remove its gate."""
        pod_set = pod_set_of(seen) if start.workload.pod_sets else MAIN_POD_SET
        return patches.start_pod(seen, start.workload.group, pod_set, written, flavors(pod_set))

    def evict(self, seen: Pod, _group: str, written: AnnotationPatch, _guard: patches.Guard) -> list[Operation]:
        """Write the reason: the Eviction API ends it."""
        return patches.annotate(seen.metadata, {**written, NOTICE: None, TURN: None})

    def least_eviction(self, _seen: Pod) -> list[Operation]:
        """Return nothing: the Eviction API alone ends it."""
        return []
