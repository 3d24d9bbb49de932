"""What a group will use over the coming day: the engine is run ahead, and the group's use is read every half hour.

See docs/specification.md §9.8.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Final

from shared.api.durations import later
from shared.quota.decide.plan import plan
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.measure.accounts.run_times import NO_RUN_TIMES, RunTimes
from shared.quota.measure.group_usage import NO_NUMBERS
from shared.quota.measure.inputs.workload_set import amounts_in
from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.workload import Workload
from shared.quota.outlook.forecast.forecast import NOTHING_KNOWN, Unforeseen, expectations_in
from shared.quota.outlook.forecast.run_ahead import Beginning, Expectations, RunSteps, drawn_run_times, moments_ahead
from shared.quota.outlook.forecast.run_times import RUNS
from shared.resources import Amount, FlavorResource

STEP: Final = timedelta(minutes=30)
STEPS: Final = 48
_FEWEST: Final = 3
"""A picture of fewer moments says nothing."""

_Course = Sequence[tuple[datetime, Amount]]
"""What is used from each moment on, in order; the last one is where the run ends."""


@dataclass(frozen=True, slots=True)
class ExpectedUse:
    """What the group uses at each moment: in the runs with the least, the middle and the most of it.

    `is_cut`: whether the runs ended before the day does. `unknown`: how much of what is used and requested now is by
    workloads of which nobody knows how long they run; they are taken to run on. `comes`: whether others come.
    """

    times: tuple[datetime, ...]
    least: tuple[Amount, ...]
    middle: tuple[Amount, ...]
    most: tuple[Amount, ...]
    is_cut: bool
    unknown: Amount
    comes: bool


def expected_use(
    given: Snapshot, group: str, key: FlavorResource, known: RunTimes = NOTHING_KNOWN
) -> ExpectedUse | Unforeseen | None:
    """Return what the group will use of the key, or why that is not known; None: the settings want no forecasts.

    `given`: the snapshot after the next plan. Nothing is said where more than half of what the group's workloads use
    and request is of unknown run time.
    """
    most_steps = given.world.settings.forecast_steps
    if not most_steps:
        return None
    expectations = expectations_in(given, known)
    total, unknown = _amounts(given, group, key, expectations)
    if 2 * unknown > total:
        return Unforeseen.RUN_TIMES_UNKNOWN
    cache = CycleCache()
    plan(given, cache)
    start = Beginning(given, cache, expectations, known)
    courses = [[*_course(start, RunSteps(run, most_steps // RUNS), group, key)] for run in range(RUNS)]
    end = min(course[-1][0] for course in courses)
    times = [moment for number in range(STEPS + 1) if (moment := later(given.now, number * STEP)) <= end]
    if len(times) < _FEWEST:
        return Unforeseen.TOO_FAR
    found = [sorted(_at(course, moment) for course in courses) for moment in times]
    least, middle, most = (tuple(each[place] for each in found) for place in (0, RUNS // 2, -1))
    leaves = given.world.tree.leaves_below(group)
    comes = any(known.get(leaf, NO_RUN_TIMES).arrivals_since for leaf in leaves)
    return ExpectedUse(tuple(times), least, middle, most, len(times) <= STEPS, unknown, comes)


def _course(start: Beginning, steps: RunSteps, group: str, key: FlavorResource) -> Iterator[tuple[datetime, Amount]]:
    given, used = start.given, _used(start.given, group, key)
    until = later(given.now, STEPS * STEP)
    yield given.now, used
    run_times = drawn_run_times(given, start.expectations, steps.run)
    for ahead in moments_ahead(start, run_times, steps, until):
        used = _used(ahead.moment.snapshot, group, key)
        yield ahead.moment.now, used
        if ahead.is_last_step:
            return
    yield until, used


def _used(snapshot: Snapshot, group: str, key: FlavorResource) -> Amount:
    return snapshot.numbers.get(group, {}).get(key, NO_NUMBERS).used


def _at(course: _Course, moment: datetime) -> Amount:
    return course[bisect_right(course, moment, key=itemgetter(0)) - 1][1]


def _amounts(given: Snapshot, group: str, key: FlavorResource, expectations: Expectations) -> tuple[Amount, Amount]:
    """Return how much the group's workloads use and request, and how much of that is of unknown run time."""
    total = unknown = 0
    for name in given.world.tree.leaves_below(group):
        leaf = given.leaves.get(name)
        for workload in () if leaf is None else (*leaf.admitted, *leaf.pending):
            amount = _amount(workload, key)
            total += amount
            unknown += amount if workload.id not in expectations else 0
    return total, unknown


def _amount(workload: Workload, key: FlavorResource) -> Amount:
    if workload.admission is None:
        return workload.request.get(key.resource, 0)
    return sum(amount for own, amount in amounts_in(workload, workload.admission.flavors) if own == key)
