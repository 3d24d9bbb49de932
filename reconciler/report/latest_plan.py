"""The latest plan of the leader, and the snapshot it was made from."""

from dataclasses import dataclass

from shared.quota.decide.decisions import Plan
from shared.quota.measure.snapshot import Snapshot


@dataclass(slots=True)
class LatestPlan:
    """Set by every decision cycle; empty while this process does not lead."""

    snapshot: Snapshot | None = None
    plan: Plan | None = None

    def show(self, snapshot: Snapshot, plan: Plan) -> None:
        """Set the latest snapshot and plan."""
        self.snapshot, self.plan = snapshot, plan

    def clear(self) -> None:
        """Drop both: this process no longer leads."""
        self.snapshot = self.plan = None
