"""The patches that start a workload's objects on the nodes of its flavors; and which of these cannot go together.

See docs/specification.md §5.3.
"""

from dataclasses import dataclass
from functools import partial

from reconciler.write.annotations import write_turn
from reconciler.write.sorts.registry import writes_of
from shared.api.json.patches import Operation
from shared.api.names import ADMISSION, TURN
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.expected.unwritten import AnnotationPatch
from shared.cluster.state.sorts.sort import WorkloadObject
from shared.quota.decide.decisions import Start
from shared.quota.model.flavor import Flavor
from shared.quota.model.flavor_placement import conflicts, find_flavors


def _turn_of(start: Start) -> AnnotationPatch:
    """Return the annotation of a turn with which the workload starts: it might have begun in the same cycle."""
    turn = start.workload.turn
    return {} if turn is None else {TURN: write_turn(turn)}


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
        """Start this object of the workload; `text` is its admission annotation. A turn is written with it."""
        written, flavors = {ADMISSION: text, **_turn_of(start)}, partial(self._flavors_of, start)
        return writes_of(target).start(target, start, written, flavors, self._state.work.readings.reader.pod_set_of)

    def _flavors_of(self, start: Start, pod_set: str) -> list[Flavor]:
        names = start.flavors.get(pod_set, {}).values()
        return find_flavors(sorted(names), self._state.tree.flavors)[0]
