"""The source of every answer: the outlook of one replica."""

from dataclasses import dataclass
from typing import Any

from shared.api.json.reading import write_moment
from shared.quota.measure.snapshot import Snapshot
from shared.quota.outlook.outlook import Outlook


@dataclass(frozen=True, slots=True, eq=False)
class ObservedPlan:
    """The latest plan of the leader; in a follower, the plan it would have made."""

    outlook: Outlook
    leads: bool

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot that the plan was made from."""
        return self.outlook.given

    @property
    def served_by(self) -> str:
        """Leader or Follower."""
        return "Leader" if self.leads else "Follower"

    def stamp(self) -> dict[str, Any]:
        """Return the members of each status that say how recent it is."""
        return {"asOf": write_moment(self.snapshot.now), "servedBy": self.served_by}
