"""The plan that the leader made last, and the snapshot that it was made on."""

from dataclasses import dataclass

from shared.quota.decide.decisions import Plan
from shared.quota.measure.snapshot import Snapshot


@dataclass(slots=True)
class LatestPlan:
    """Set by every decision cycle; nothing while this process does not lead."""

    snapshot: Snapshot | None = None
    plan: Plan | None = None

    def show(self, snapshot: Snapshot, plan: Plan) -> None:
        """From now on these are the latest."""
        self.snapshot, self.plan = snapshot, plan

    def clear(self) -> None:
        """This process does not lead any more."""
        self.snapshot = self.plan = None
