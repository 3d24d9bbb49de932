"""The patches that start a workload's objects on the nodes of its flavors; and which of these cannot go together.

See docs/specification.md §5.3.
"""

from dataclasses import dataclass

from reconciler.write import patches
from shared.api.core.job import Job
from shared.api.names import ADMISSION, MAIN_POD_SET
from shared.api.patches import Operation
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.observed.workload_reader import WorkloadObject
from shared.kinds.kind_object import KindObject
from shared.quota.decide.decisions import Start
from shared.quota.model.flavor import Flavor
from shared.quota.model.flavor_placement import conflicts, find_flavors


@dataclass(frozen=True, slots=True)
class StartPatches:
    """Written from the objects, and from the flavors as they are now."""

    _state: ClusterState

    def conflicts(self, start: Start) -> list[str]:
        """Return why no node can take pods of the workload in these flavors: a sentence for each label that differs."""
        return [
            problem
            for each in start.workload.sets
            for problem in conflicts(each.placement, self._flavors_of(start, each.name))
        ]

    def of(self, target: WorkloadObject, start: Start, text: str) -> list[Operation]:
        """Start this object of the workload; `text` is its admission annotation."""
        group, written = start.workload.group, {ADMISSION: text}
        if isinstance(target, Job):
            return patches.start_job(target, group, written, self._flavors_of(start, MAIN_POD_SET))
        if isinstance(target, KindObject):
            chosen = {name: self._flavors_of(start, name) for name in start.flavors}
            return patches.start_kind(target, group, written, chosen)
        pod_set = self._state.work.pod_set_of(target) if start.workload.pod_sets else MAIN_POD_SET
        return patches.start_pod(target, group, pod_set, written, self._flavors_of(start, pod_set))

    def _flavors_of(self, start: Start, pod_set: str) -> list[Flavor]:
        names = start.flavors.get(pod_set, {}).values()
        return find_flavors(sorted(names), self._state.flavors)[0]
