"""What the engine would do next, and next, in a world where nothing happens but its own decisions.

Starts are ready at once, evicted workloads end before the next cycle unless an order is given, nothing finishes. Pure:
worlds in, worlds out. Used by `quotree simulate`, by what-if questions and by tests.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from shared.api.durations import later
from shared.json_data import Json
from shared.quota.decide.decisions import Plan
from shared.quota.decide.plan import plan
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.measure.inputs.past_use import UseHistory
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.model.workload import Workload
from shared.quota.outlook.explain.pending_rows import PendingRows, waiting_as_data
from shared.quota.outlook.simulate.json_output import cycle_as_data, groups_as_data
from shared.quota.outlook.simulate.step import advance, carry_out, end_evictions, end_now, evicting_in

__all__ = ["MOST_CYCLES", "SimulationRun", "advance", "as_json", "carry_out", "end_evictions", "run"]

MOST_CYCLES = 1000
"""A world that still changes after this many cycles is given up."""


@dataclass(frozen=True, slots=True)
class SimulationRun:
    """Cycles simulated; of a run until stable, `plans` leaves out those that changed nothing."""

    plans: tuple[Plan, ...]
    last: Plan
    snapshot: Snapshot
    """The numbers after the last cycle; workloads that it evicts still count."""
    world: World
    settled: bool
    """Whether the last cycle changed nothing, nothing evicted ends any more, and time alone will change nothing."""
    most_ending: int
    """The most evictions that were under way at the same time."""


EndOrder = Callable[[Sequence[Workload]], Iterable[Workload]]
"""Given the workloads that are being evicted, returns those that end before the next cycle: at least one."""


def all_at_once(evicting: Sequence[Workload]) -> Iterable[Workload]:
    """Return all evicted workloads: they end before the next cycle."""
    return evicting


def run(  # noqa: PLR0913
    world: World,
    now: datetime,
    cycles: int | None = None,
    step: timedelta = timedelta(),
    *,
    limit: int = MOST_CYCLES,
    known: Snapshot | None = None,
    ends: EndOrder = all_at_once,
) -> SimulationRun:
    """Run so many cycles; None: until nothing changes any more, or `limit` cycles.

    `known`: a snapshot of a similar world, from which the first measurement goes on; it changes no result.
    `ends`: which evicted workloads end before the next cycle.
    Between cycles `step` passes; a world at rest that waits for a moment (grace, notice, back-off) is taken there.
    """
    plans: list[Plan] = []
    snapshot = known
    cache = CycleCache()
    history = UseHistory.in_world(world, now)
    left = limit if cycles is None else max(1, cycles)
    most_ending = 0
    while True:
        world = world.at(now)
        history = history.after(world, now)
        world = history.put_into(world)
        snapshot = measure(world, now, snapshot)
        latest = plan(snapshot, cache)
        world = carry_out(world, latest)
        evicting = evicting_in(world)
        most_ending = max(most_ending, len(evicting))
        is_still = latest.is_idle and not evicting
        settled = is_still and latest.wake_at is None
        left -= 1
        if cycles is not None or not latest.is_idle:
            plans.append(latest)
        if left <= 0 or (settled and cycles is None):
            break
        world = end_now(world, ends(evicting)) if evicting else world
        now = latest.wake_at if is_still and cycles is None and latest.wake_at else later(now, step)
    return SimulationRun(tuple(plans), latest, measure(world, now, snapshot), world, settled, most_ending)


def as_json(run: SimulationRun) -> Json:
    """`groups`, `cycles` and `pending` as in docs/specification.md §9.5; the caller adds what rules found."""
    return {
        "groups": groups_as_data(run.snapshot.numbers),
        "cycles": [cycle_as_data(each) for each in run.plans],
        "pending": [waiting_as_data(each.why) for each in PendingRows(run.last)],
    }
