"""How long a workload will run, as far as that is known: equally likely run times, and on what they rest.

What its owner expects counts before what was seen, and that before mere limits. See docs/specification.md §9.8.
"""

from collections.abc import Iterable
from datetime import timedelta
from enum import StrEnum
from typing import Final, NamedTuple
from zlib import crc32

from shared.quota.measure.accounts.run_times import NO_RUN_TIMES, LeafRunTimes, RunTimes, series_of
from shared.quota.measure.leaves.leaf_snapshot import LeafSnapshot
from shared.quota.model.workload import Workload

RUNS: Final = 9
"""How often the engine is run ahead. Of ten draws that are equally likely, the tenth lies between the earliest and the
latest of the other nine in 8 of 10 cases."""
PERCENT: Final = 80
ENOUGH: Final = 3
"""So many runs must have been seen before run times are taken from them."""
DECLARED: Final = (25, 60, 80, 90, 100, 100, 110, 130, 200)
"""How long runs take of what was expected, in percent, where too few have been seen."""
LIMITED: Final = (5, 15, 30, 40, 50, 60, 70, 85, 100)
"""The same of a limit, where nothing else is known."""
LONGER: Final = (110, 125, 150, 175, 200, 250, 300, 400, 600)
"""How long a run takes of what it has run, in percent, where it has outrun all that was likely."""
_STEPS: Final = (1, 2, 4, 5, 7, 8)
"""Numbers without a divisor in common with RUNS."""


class Basis(StrEnum):
    """On what a forecast rests."""

    DECLARED = "DeclaredRunTimes"
    PAST = "PastRunTimes"
    LIMITS = "RunTimeLimits"
    ARRIVALS = "RecentArrivals"
    PACE = "PaceOfItsGroup"
    FORECASTS = "PastForecasts"


class Expectation(NamedTuple):
    """What is known of one workload's run: equally likely run times in order, none of them over `limit`."""

    basis: Basis
    likely: tuple[timedelta, ...]
    limit: timedelta | None


def expected(workload: Workload, leaf: LeafSnapshot | None, known: RunTimes) -> Expectation | None:
    """Return what is known of the run of a workload in this leaf; None: nothing."""
    own, seen = workload.run_time, known.get(workload.group, NO_RUN_TIMES)
    group_limit = None if leaf is None or leaf.run_time is None else leaf.run_time.time
    limits = [each for each in (workload.max_run_time, own.deadline, group_limit) if each is not None]
    limit = min(limits, default=None)
    if own.expected is not None:
        percents = seen.percents if len(seen.percents) >= ENOUGH else DECLARED
        return _bounded(Basis.DECLARED, _parts(own.expected, percents), limit)
    past = _past(workload, seen)
    if past:
        return _bounded(Basis.PAST, (timedelta(seconds=each) for each in past), limit)
    return None if limit is None else _bounded(Basis.LIMITS, _parts(limit, LIMITED), limit)


def _past(workload: Workload, seen: LeafRunTimes) -> tuple[int, ...]:
    """Return how long workloads of its series took, or all of its leaf where these are too few."""
    own = seen.seconds.get(series_of(workload.key), ())
    together = tuple(each for values in seen.seconds.values() for each in values)
    return next((each for each in (own, together) if len(each) >= ENOUGH), ())


def _parts(whole: timedelta, percents: Iterable[int]) -> Iterable[timedelta]:
    return (whole * percent / 100 for percent in percents)


def _bounded(basis: Basis, likely: Iterable[timedelta], limit: timedelta | None) -> Expectation:
    return Expectation(basis, tuple(sorted(each if limit is None else min(each, limit) for each in likely)), limit)


def draw(workload: Workload, known: Expectation, has_run: timedelta, run: int) -> timedelta:
    """Return the run time of a workload in one of the runs, longer than what it has run already.

    The same for the same workload and run. Over all runs, each part of the likely run times is drawn alike.
    """
    left = [each for each in known.likely if each > has_run]
    if not left:
        outrun = _parts(has_run, LONGER)
        left = [*outrun] if known.limit is None else [min(max(known.limit, has_run), each) for each in outrun]
    dice = crc32(f"{workload.kind}/{workload.key}".encode())
    place = (dice + run * _STEPS[dice % len(_STEPS)]) % RUNS
    fraction = crc32(f"{run}/{workload.key}".encode()) / 2**32
    return left[int((place + fraction) / RUNS * len(left))]
