"""Whether a workload starts in the next cycles of a world."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from shared.quota.decide.plan import plan
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.measure.inputs.past_use import UseHistory
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.model.workload import WorkloadId
from shared.quota.outlook.simulate.step import advance, evicting_in

MOST_CYCLES: Final = 64
_NOBODY: Final = WorkloadId("", "")


@dataclass(frozen=True, slots=True)
class Trial:
    """How it is tried: whose start is awaited, from which snapshot on, and whether time passes while nothing happens.

    What a world has in common with the snapshot's is not measured again.
    """

    workload: WorkloadId
    given: Snapshot
    time_passes: bool

    def starts_at(self, world: World) -> datetime | None:
        """Return when the workload starts; None if it does not. Evicted workloads end before the next cycle."""
        return self._lived_through(world)[0]

    def at_rest(self, world: World) -> World:
        """Return the world after the next cycles, in which nothing changes any more before a time passes."""
        return replace(self, workload=_NOBODY, time_passes=False)._lived_through(world)[1]

    def in_the_end(self, world: World) -> World:
        """Return the world in which nothing changes any more, also by the passing of time."""
        return replace(self, workload=_NOBODY, time_passes=True)._lived_through(world)[1]

    def _lived_through(self, world: World) -> tuple[datetime | None, World]:
        now, snapshot, cache = self.given.now, self.given, CycleCache()
        history = UseHistory.in_world(world, now)
        for _ in range(MOST_CYCLES):
            history = history.after(world, now)
            world = history.put_into(world)
            snapshot = measure(world, now, snapshot)
            decided = plan(snapshot, cache)
            if any(start.workload.id == self.workload for start in decided.starts):
                return now, world
            if decided.is_idle and not evicting_in(world):
                if decided.wake_at is None or not self.time_passes:
                    return None, world
                now = decided.wake_at
            world = advance(world, decided)
        return None, world

    def starts(self, world: World | None) -> bool:
        """Return whether it starts in this world; never in None, a world that must not be."""
        return world is not None and self.starts_at(world) is not None
