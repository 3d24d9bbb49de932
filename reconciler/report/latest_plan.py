"""The latest plan of the leader, and the snapshot it was made from."""

from dataclasses import dataclass

from shared.quota.decide.decisions import Plan
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.measure.snapshot import Snapshot


@dataclass(slots=True)
class LatestPlan:
    """Set by every decision cycle; empty while this process does not lead."""

    snapshot: Snapshot | None = None
    plan: Plan | None = None

    cache: CycleCache | None = None

    def show(self, snapshot: Snapshot, plan: Plan, cache: CycleCache | None = None) -> None:
        """Set the latest snapshot and plan, and what is kept from cycle to cycle."""
        self.snapshot, self.plan, self.cache = snapshot, plan, cache

    def clear(self) -> None:
        """Drop them: this process no longer leads."""
        self.snapshot = self.plan = self.cache = None
