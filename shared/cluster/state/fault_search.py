"""Finds the object on which deciding fails, and sets it aside. Pure.

See docs/specification.md §5.10.
"""

from datetime import datetime
from functools import partial

from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.faults.bisection import Bisection, finish
from shared.cluster.state.faults.worlds import find_parts, most_suspicious
from shared.quota.decide.decisions import Plan
from shared.quota.decide.plan import plan
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import Snapshot, measure


def set_aside_cause(state: ClusterState, error: Exception, now: datetime, last: Snapshot | None) -> Bisection[bool]:
    """Set aside the object on which deciding has failed; return whether there is one. Raises `error` if not.

    `last`: the snapshot that the failed one was built on. If no object is at fault by itself, that one is: False. An
    object that changes while the search runs is left as it is then.
    """
    world = state.world_at(now)
    last_good = None if last is None else last.world
    found = yield from find_parts(world, partial(_decide, now), last_good)
    if found is None or (not found and last is None):
        raise error
    if found and not state.set_aside(most_suspicious(found, last_good), error) and not state.changed:
        raise error
    return bool(found)


def decide_from_scratch(state: ClusterState, now: datetime) -> tuple[Snapshot, Plan]:
    """Decide without what earlier cycles have left; what makes that fail is set aside."""
    while True:
        try:
            snapshot = measure(state.world_at(now), now)
            return snapshot, plan(snapshot)
        except Exception as error:
            finish(set_aside_cause(state, error, now, None))


def _decide(now: datetime, world: World, last: Snapshot | None) -> Snapshot:
    snapshot = measure(world, now, last)
    plan(snapshot)
    return snapshot
