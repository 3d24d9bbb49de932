"""What comes while the engine is run ahead: workloads like those that came lately, drawn for each run.

See docs/specification.md §9.8.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from heapq import merge
from operator import attrgetter
from typing import Final, NamedTuple
from zlib import crc32

from shared.api.durations import later
from shared.quota.measure.accounts.periods import milliseconds
from shared.quota.measure.accounts.run_times import NO_RUN_TIMES, LeafRunTimes, PastArrival, RunTimes
from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.workload import Workload, WorkloadId, namespace_of
from shared.quota.outlook.forecast.run_times import Expectation, draw
from shared.quota.outlook.simulate.timeline import Arrival

BLOCK: Final = 3600
"""The time ahead is made of parts of the past of so many seconds at most: what comes together comes together again."""
_MARK: Final = "~"
"""No name of an object begins with it."""


class Came(NamedTuple):
    """A workload that came at `at`, in seconds since 1970, and how long one like it runs."""

    at: int
    like: Workload
    run_time: timedelta


def is_drawn(workload: Workload) -> bool:
    """Return whether the workload is one of those that `arrivals` makes up."""
    return workload.key.partition("/")[2].startswith(_MARK)


def arrivals(
    given: Snapshot, known: RunTimes, expectations: Mapping[WorkloadId, Expectation], run: int
) -> Iterator[Arrival]:
    """Yield what comes after `given` in one of the runs, in order and without an end.

    The same for the same snapshot and run. Nothing comes in a leaf of which it is not known what came lately.
    """
    leaves = sorted(name for name in given.leaves if known.get(name, NO_RUN_TIMES).arrivals_since)
    return merge(*(_of_leaf(given, name, known[name], expectations, run) for name in leaves), key=attrgetter("at"))


def _of_leaf(
    given: Snapshot, leaf: str, seen: LeafRunTimes, expectations: Mapping[WorkloadId, Expectation], run: int
) -> Iterator[Arrival]:
    """Yield part after part of the past, each from a moment that is drawn; the past goes on with its beginning."""
    now = milliseconds(given.now) // 1000
    came, past = _came(given, leaf, seen, expectations, run), now - seen.arrivals_since
    if not came:  # else the past is not empty either: it has what came
        return
    moments, block, number, part = [each.at - seen.arrivals_since for each in came], min(BLOCK, past), 0, 0
    while True:
        begin = crc32(f"{leaf}/{run}/{part}".encode()) % past
        first = bisect_left(moments, begin)
        for place in range(first, first + len(came)):
            after = moments[place % len(came)] - begin + (past if place >= len(came) else 0)
            if after >= block:
                break
            number += 1
            yield _arrival(given, came[place % len(came)], part * block + after, f"{_MARK}{leaf}-{number}")
        part += 1


def _arrival(given: Snapshot, came: Came, after: int, name: str) -> Arrival:
    at = later(given.now, timedelta(seconds=after))
    key = f"{namespace_of(came.like.key)}/{name}"
    workload = replace(
        came.like, key=key, uid="", created=at, queued=at, admission=None, eviction=None, claim=None, turn=None,
        hold=False, gates=(), deactivated=False, not_before=None, notice=None, failed_starts=0, evictions=0,
    )  # fmt: skip
    return Arrival(at, workload, came.run_time)


def _came(
    given: Snapshot, leaf: str, seen: LeafRunTimes, expectations: Mapping[WorkloadId, Expectation], run: int
) -> list[Came]:
    """Return all that came to the leaf since the moment since which it is known."""
    now, present = milliseconds(given.now) // 1000, given.world.workloads_of(leaf).by_id.values()
    found = [Came(each.came, _like(leaf, given, each), timedelta(seconds=each.took)) for each in seen.arrivals]
    for workload in present:
        expectation = expectations.get(workload.id)
        if expectation is not None and not workload.is_left_over:
            run_time = draw(workload, expectation, timedelta(), run)
            found.append(Came(milliseconds(workload.created) // 1000, workload, run_time))
    return sorted((each for each in found if seen.arrivals_since < each.at <= now), key=lambda each: each.at)


def _like(leaf: str, given: Snapshot, past: PastArrival) -> Workload:
    return Workload(f"/{_MARK}", leaf, past.request, given.now, given.now, priority=past.priority)
