"""Decides on the cluster again and again; what makes that fail is set aside. Pure: no I/O, no logging, no clock.

See docs/specification.md §5.10.
"""

from datetime import datetime

from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.faults.bisection import Bisection, finish
from shared.cluster.state.faults.worlds import DecideOnPart, find_parts, most_suspicious
from shared.quota.decide.decisions import Plan
from shared.quota.decide.plan import plan
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import Snapshot, measure


class Decider:
    """Decides on what one ClusterState says; keeps the last whole decision, which makes the next one cheap."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self.last: Snapshot | None = None
        """The snapshot of the last whole decision; None: the next one is made from scratch."""
        self.cache = CycleCache()

    def measure(self, now: datetime, base: Snapshot | None = None) -> Snapshot:
        """Return the snapshot of this moment, measured on top of `base` or of the last whole decision."""
        return measure(self._state.world_at(now), now, base or self.last)

    def plan(self, snapshot: Snapshot) -> Plan:
        """Return what this snapshot leads to; from then on it is the last whole decision."""
        decided = plan(snapshot, self.cache)
        self.last = snapshot
        return decided

    def decide(self, now: datetime) -> tuple[Snapshot, Plan]:
        """Measure and plan; what makes that fail is set aside. Raises what fails without any object."""
        while True:
            try:
                snapshot = self.measure(now)
                return snapshot, self.plan(snapshot)
            except Exception as error:
                finish(self.recover(error, now))

    def recover(self, error: Exception, now: datetime) -> Bisection[None]:
        """Set aside the object on which deciding has failed. Raises `error` if none is responsible.

        The next decision goes on from the last whole one; if no object is at fault by itself, that one is, and the next
        is made from scratch. An object that changes while the search runs is left as it is then.
        """
        last = self.last
        self._keep(last)
        found = yield from find_parts(self._state.world_at(now), self._deciding_at(now), last)
        if not found:
            if found is None or last is None:
                raise error
            self._keep(None)
            return
        cause = most_suspicious(found, last.world if last is not None else None)
        if not self._state.set_aside(cause, error) and not self._state.changed:
            raise error

    def _keep(self, last: Snapshot | None) -> None:
        """Keep nothing but what the last whole decision has left; None: nothing at all."""
        self.last = last
        self.cache = CycleCache() if last is None else self.cache.as_of(last)

    def _deciding_at(self, now: datetime) -> DecideOnPart:
        """Return what decides on a part of the world; on top of the last whole decision, with what is known of it."""
        last, cache = self.last, self.cache

        def decide(part: World, base: Snapshot | None) -> Snapshot:
            snapshot = measure(part, now, base)
            plan(snapshot, cache.copy() if base is last else None)
            return snapshot

        return decide
