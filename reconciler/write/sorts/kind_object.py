"""An object of a governed kind is resumed and suspended where its descriptor says. Pure."""

from reconciler.write import patches
from reconciler.write.sorts.sort import FlavorsOf, PodSetOf, WriteSort
from shared.api.json.patches import Operation
from shared.cluster.state.expected.unwritten import AnnotationPatch
from shared.kinds.kind_object import KindObject
from shared.kube.resources import Resource, resource_of_kind
from shared.quota.decide.decisions import Start


class KindWrites(WriteSort[KindObject]):
    """What is written on an object of a governed kind."""

    def resource(self, seen: KindObject) -> Resource:
        """Return the resource of its kind."""
        return resource_of_kind(seen.kind)

    def start(
        self, seen: KindObject, start: Start, written: AnnotationPatch, flavors: FlavorsOf, _pod_set_of: PodSetOf
    ) -> list[Operation]:
        """Resume it, each pod set on the nodes of its own flavors."""
        chosen = {name: flavors(name) for name in start.flavors}
        return patches.start_kind(seen, start.workload.group, written, chosen)

    def evict(self, seen: KindObject, group: str, written: AnnotationPatch, guard: patches.Guard) -> list[Operation]:
        """Suspend it."""
        return patches.evict_kind(seen, group, written, guard)

    def least_eviction(self, seen: KindObject) -> list[Operation]:
        """Suspend it, and nothing else."""
        return patches.suspend_kind(seen)
