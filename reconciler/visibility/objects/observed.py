"""The source of every answer: a snapshot, the plan made from it, and the replica that made it."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from shared.quota.decide.decisions import Plan
from shared.quota.decide.explain.pending_reasons import PendingReasons
from shared.quota.measure.snapshot import Snapshot


@dataclass(frozen=True, slots=True, eq=False)
class ObservedPlan:
    """The latest plan of the leader; in a follower, the plan it would have made."""

    snapshot: Snapshot
    plan: Plan
    leads: bool
    reasons: PendingReasons = field(init=False, repr=False)
    """The reason of each pending workload."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "reasons", PendingReasons(self.plan))

    @property
    def served_by(self) -> str:
        """Leader or Follower."""
        return "Leader" if self.leads else "Follower"

    def stamp(self) -> dict[str, Any]:
        """Return the members of each status that say how recent it is."""
        return {"asOf": write_moment(self.snapshot.now), "servedBy": self.served_by}


def write_moment(time: datetime) -> str:
    """RFC 3339 in UTC with whole seconds, like Kubernetes' Time."""
    return time.isoformat(timespec="seconds").replace("+00:00", "Z")
