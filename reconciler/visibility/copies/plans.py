"""The snapshot and plan that answers are made of: the leader's latest; a follower's copy makes its own."""

from datetime import datetime

from reconciler.report.latest_plan import LatestPlan
from reconciler.visibility.objects.observed import ObservedPlan
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.decider import Decider
from shared.cluster.state.group_history import history_of, over_since_of
from shared.quota.measure.accounts.run_times import RunTimes
from shared.quota.measure.accounts.written_accounts import run_times_of
from shared.quota.outlook.outlook import Outlook


def current_plan(
    state: ClusterState, latest: LatestPlan, now: datetime, leaderless_since: datetime | None = None
) -> ObservedPlan:
    """Return the latest plan: the leader's own, or in a follower what it would decide from its watches."""
    snapshot, decided = latest.snapshot, latest.plan
    if snapshot is not None and decided is not None:
        return ObservedPlan(Outlook(snapshot, decided, latest.cache), leads=True)
    return _plan_as_new_leader(state, now, leaderless_since)


def known_run_times(state: ClusterState) -> RunTimes:
    """Return the run times that the statuses of the groups keep."""
    return run_times_of((name, each.status) for name, each in state.tree.groups.items())


def _plan_as_new_leader(state: ClusterState, now: datetime, leaderless_since: datetime | None) -> ObservedPlan:
    """Plan with what the statuses of the groups keep of the past, which becomes what `state` knows of it."""
    groups = state.tree.groups.values()
    state.remember_over(over_since_of(groups, state.faults))
    state.history = history_of(groups, state.settings.fairness_half_life, now, state.faults)
    return ObservedPlan(Outlook(*Decider(state).decide(now), leaderless_since=leaderless_since), leads=False)
