"""Which forecasts are kept to see later how right they were: of a few workloads that wait, in each leaf.

See docs/specification.md §9.8.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final
from zlib import crc32

from shared.api.durations import later
from shared.quota.measure.accounts.periods import milliseconds
from shared.quota.measure.accounts.run_times import RunTimes
from shared.quota.measure.accounts.waits import ForeseenWait
from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.workload import Workload, WorkloadId
from shared.quota.outlook.forecast.forecast import Forecast, may_start

OF_A_LEAF: Final = 2
"""So many workloads of a leaf are forecast at a time: those that wait at one moment are right or wrong together."""
MOST: Final = 64
"""So many workloads are forecast at a time in all leaves."""

ForeseenStarts = Mapping[str, Mapping[WorkloadId, ForeseenWait]]
"""leaf → forecasts of its workloads."""


def foreseen_starts(given: Snapshot, known: RunTimes) -> ForeseenStarts:
    """Return forecasts by leaf, not corrected, of a few that wait. `given`: the snapshot after the next plan."""
    most = given.world.settings.forecast_steps
    chosen = sorted(_chosen(given), key=lambda each: _drawn(each, given.now))[:MOST] if most else []
    if not chosen:
        return {}
    found = dict[str, dict[WorkloadId, ForeseenWait]]()
    forecast = Forecast(given, known, {each.id for each in chosen}, most)
    for workload in chosen:
        ends = forecast.uncorrected(workload)
        if ends is not None:
            found.setdefault(workload.group, {})[workload.id] = _wait(given.now, *ends)
    return found


def _chosen(given: Snapshot) -> Iterator[Workload]:
    for leaf in given.leaves.values():
        waiting = (each for each in leaf.pending if may_start(given, each))
        yield from sorted(waiting, key=lambda each: _drawn(each, given.now))[:OF_A_LEAF]


def _drawn(workload: Workload, now: datetime) -> int:
    """Return a number that puts workloads into another order at each moment."""
    return crc32(f"{workload.kind}/{workload.key}/{milliseconds(now)}".encode())


def _wait(now: datetime, earliest: timedelta, latest: timedelta) -> ForeseenWait:
    return ForeseenWait(*(milliseconds(later(now, each)) for each in (timedelta(), earliest, latest)))
