"""One moment of the cluster, frozen, with what the engine says about it: what every page is computed from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from shared.cluster.state.observed.projections import GroupStatusRecord
from shared.quota.measure.inputs.world import World
from shared.quota.model.workload import Workload, WorkloadId
from shared.quota.outlook.outlook import Outlook


class StaleCause(StrEnum):
    """Why nothing new is seen."""

    SILENT = "Silent"
    """The API server does not answer."""
    CREDENTIALS = "Credentials"
    """It refuses the user's credentials."""
    WATCH = "Watch"
    """One watch is interrupted."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Says since when nothing new is seen, and why; `detail` names the watch."""

    since: datetime
    cause: StaleCause
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ServedReason:
    """Why a workload waits, and its place in its queue, as the visibility API says."""

    position: int
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Frame:
    """What was seen, numbered; `outlook` is None where the user's rights do not show all that a decision depends on."""

    number: int
    now: datetime
    world: World
    groups: Mapping[str, GroupStatusRecord]
    outlook: Outlook | None
    notices: tuple[str, ...]
    """What is not shown, and why."""
    loading: tuple[str, ...] = ()
    """What has not been read yet."""
    standing: Standing | None = None
    """None: the frame shows what is. Else it shows what was, until something new is seen."""
    served: Mapping[WorkloadId, ServedReason] = field(default_factory=dict)
    """What the visibility API says where `outlook` is None, as far as this user may ask it."""
    leaderless_since: datetime | None = None
    """When the last reconciler led; None: one leads, or the user cannot know."""

    def find(self, kind: str, key: str) -> Workload | None:
        """Return the workload of that kind and namespace/name."""
        wanted = WorkloadId(kind, key)
        if self.outlook is not None:
            return self.outlook.find(wanted)
        found = (each.by_id.get(wanted) for each in self.world.workload_sets.values())
        return next((each for each in found if each is not None), None)
