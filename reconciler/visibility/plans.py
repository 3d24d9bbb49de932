"""The snapshot and plan that answers are made of: the leader's latest; a follower makes its own when it is asked."""

import time
from datetime import UTC, datetime
from typing import Final

from reconciler.report.latest_plan import LatestPlan
from reconciler.state.cluster_state import ClusterState
from reconciler.state.group_history import history_of, over_since_of
from reconciler.visibility.objects.observed import ObservedPlan
from shared.quota.decide.plan import plan
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.measure.snapshot import Snapshot, measure

_OLDEST: Final = 1.0
"""Seconds for which a follower's plan serves at least."""
_SHARE: Final = 10
"""A follower plans at most in one of so many seconds."""


class Plans:
    """Gives the plan of the moment."""

    def __init__(self, state: ClusterState, latest: LatestPlan) -> None:
        self.state = state
        """What the watches show."""
        self._latest = latest
        self._own: ObservedPlan | None = None
        self._snapshot: Snapshot | None = None
        self._cache = CycleCache()
        self._fresh_until = 0.0

    @property
    def leads(self) -> bool:
        """Whether this process leads, and has decided."""
        return self._latest.plan is not None

    def current(self) -> ObservedPlan:
        """The latest plan: a leader's own, or what a follower would decide on what its watches show."""
        snapshot, decided = self._latest.snapshot, self._latest.plan
        if snapshot is not None and decided is not None:
            if self._own is None or self._own.plan is not decided:
                self._own = ObservedPlan(snapshot, decided, leads=True)
            return self._own
        if self._own is None or self._own.leads or time.monotonic() >= self._fresh_until:
            self._own = self._plan(datetime.now(UTC))
        return self._own

    def _plan(self, now: datetime) -> ObservedPlan:
        """Plan as a new leader would, with what the statuses of the groups keep of the past."""
        began = time.monotonic()
        groups = self.state.groups.values()
        self.state.remember_over(over_since_of(groups))
        self.state.history = history_of(groups, self.state.settings.fairness_half_life, now)
        self._snapshot = measure(self.state.world_at(now), now, self._snapshot)
        found = ObservedPlan(self._snapshot, plan(self._snapshot, self._cache), leads=False)
        ended = time.monotonic()
        self._fresh_until = ended + max(_OLDEST, (ended - began) * _SHARE)
        return found
