"""One moment of the cluster, frozen, with what the engine says about it: what every page is computed from."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from shared.cluster.state.observed.projections import GroupStatusRecord
from shared.quota.decide.outlook import Outlook
from shared.quota.measure.inputs.world import World
from shared.quota.model.workload import Workload, WorkloadId


@dataclass(frozen=True, slots=True)
class Frame:
    """What was seen, numbered; `outlook` is None where the user's rights do not show all that a decision depends on."""

    number: int
    now: datetime
    world: World
    groups: Mapping[str, GroupStatusRecord]
    outlook: Outlook | None
    notices: tuple[str, ...]
    """What is not shown and why, and what might be old."""
    loading: tuple[str, ...] = ()
    """What has not been read yet."""

    def find(self, kind: str, key: str) -> Workload | None:
        """Return the workload of that kind and namespace/name."""
        wanted = WorkloadId(kind, key)
        if self.outlook is not None:
            return self.outlook.find(wanted)
        found = (each.by_id.get(wanted) for each in self.world.workload_sets.values())
        return next((each for each in found if each is not None), None)
