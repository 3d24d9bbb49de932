"""When waiting workloads will start: an interval for each from several runs ahead, or why none is known.

See docs/specification.md §9.8.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property
from typing import Final

from shared.api.durations import later
from shared.json_data import Json
from shared.quota.decide.plan import plan
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.measure.accounts.run_times import NO_RUN_TIMES, RunTimes
from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.workload import Workload, WorkloadId
from shared.quota.outlook.forecast.corrections import corrected, has_enough
from shared.quota.outlook.forecast.run_ahead import (
    PARTS,
    Beginning,
    Expectations,
    ForeseenStart,
    RunAhead,
    RunSteps,
    run_ahead,
)
from shared.quota.outlook.forecast.run_times import PERCENT, RUNS, Basis, expected
from shared.quota.outlook.outlook import Outlook

MOMENT: Final = timedelta(seconds=1)
NOTHING_KNOWN: Final[RunTimes] = {}


class Unforeseen(StrEnum):
    """Why it is not known when a workload will start."""

    RUN_TIMES_UNKNOWN = "RunTimesUnknown"
    """It does not start before one of the workloads ends of which nobody knows how long they run."""
    NOT_IN_EVERY_RUN = "NotInEveryRun"
    """It does not start in some of the runs, although all end that has a known run time."""
    TOO_FAR = "TooFar"
    """It starts more than thirty days from now, or its group uses nothing when the runs are cut short."""


@dataclass(frozen=True, slots=True)
class Foreseen:
    """When a workload will start. `before`: how many of its group are before it; `endless`: as in ForeseenStart."""

    earliest: datetime
    latest: datetime
    bases: frozenset[Basis]
    before: int
    endless: int

    def as_data(self) -> Json:
        """Return the interval as every command and API shows it."""
        return {
            "from": self.earliest.isoformat(timespec="seconds"),
            "until": self.latest.isoformat(timespec="seconds"),
            "percent": PERCENT,
            "assumes": [each.value for each in Basis if each in self.bases],
            "before": self.before,
            "endless": self.endless,
        }


@dataclass(frozen=True, slots=True)
class NotForeseen:
    """Why nothing is said. `endless`: how many workloads of unknown run time run. `runs`: in how many it starts."""

    because: Unforeseen
    endless: int
    runs: int

    def as_data(self) -> Json:
        """Return it as every command and API shows it."""
        return {"unknown": self.because.value, "endless": self.endless, "runs": f"{self.runs}/{RUNS}"}


def forecast_as_data(
    outlook: Outlook, workloads: Sequence[Workload], known: RunTimes = NOTHING_KNOWN
) -> Mapping[WorkloadId, Json]:
    """Return when each of these workloads starts, or why that is not known, for all who show it.

    Of one that a person holds, or that could never start, nothing is said. Empty where the settings want no forecasts,
    and while no reconciler leads.
    """
    if outlook.leaderless_since is not None:
        return {}
    most = outlook.given.world.settings.forecast_steps
    asked = [each for each in workloads if may_start(outlook.after, each)]
    if not most or not asked:
        return {}
    found = Forecast(outlook.after, known, {each.id for each in asked}, most)
    return {each.id: found.of(each).as_data() for each in asked}


def may_start(given: Snapshot, workload: Workload) -> bool:
    """Return whether there is a forecast of it: no person holds it, and it could ever fit."""
    leaf = given.leaves.get(workload.group)
    could = leaf is None or leaf.options(workload).could_fit
    return could and workload.is_pending and not workload.hold and not workload.deactivated


class Forecast:
    """The runs ahead from one snapshot, which is the one after the next plan."""

    def __init__(
        self,
        given: Snapshot,
        known: RunTimes = NOTHING_KNOWN,
        wanted: Collection[WorkloadId] | None = None,
        most_steps: int = 1_000,
    ) -> None:
        """`wanted`: the workloads that are asked for; None: all that wait."""
        self._now = given.now
        self._known = known
        self._places = _places(given)
        self._expectations = expectations_in(given, known)
        admitted = (each for leaf in given.leaves.values() for each in leaf.admitted)
        self._endless = sum(each.id not in self._expectations for each in admitted)
        asked = self._places if wanted is None else wanted
        cache = CycleCache()
        if asked:
            plan(given, cache)
        start = Beginning(given, cache, self._expectations, known)
        self._runs: list[RunAhead] = [
            run_ahead(start, asked, RunSteps(run, most_steps // RUNS)) for run in range(RUNS if asked else 0)
        ]

    def of(self, workload: Workload) -> Foreseen | NotForeseen:
        """Return when a workload that waits will start, or why that is not known."""
        found, raw = self._starts(workload), self.uncorrected(workload)
        if raw is not None:
            bases = frozenset().union(*(each.bases for each in found))
            seen = self._known.get(workload.group, NO_RUN_TIMES)
            if has_enough(seen):
                raw, bases = corrected(*raw, seen), bases | {Basis.FORECASTS}
            earliest, latest = later(self._now, raw[0]), later(later(self._now, MOMENT), raw[1])
            before = self._places.get(workload.id, 0)
            return Foreseen(earliest, latest, bases, before, max(each.endless for each in found))
        is_cut = any(run.is_cut for run in self._runs)
        because = Unforeseen.TOO_FAR if is_cut else Unforeseen.NOT_IN_EVERY_RUN
        if self._has_endless:
            because = Unforeseen.RUN_TIMES_UNKNOWN
        return NotForeseen(because, self._endless, len(found))

    def uncorrected(self, workload: Workload) -> tuple[timedelta, timedelta] | None:
        """Return how long after now it starts in the runs, at the earliest and latest; None: not in all of them."""
        after = [each.at - self._now for each in self._starts(workload)]
        if len(after) < RUNS:
            return None
        # Changes are up to half a part of the time from now on early or late in the runs.
        halves = 2 * PARTS + 1
        return min(after) * (halves - 1) / halves, max(after) * (halves + 1) / halves

    def _starts(self, workload: Workload) -> list[ForeseenStart]:
        """Return when it starts in each of the runs in which it does."""
        return [start for run in self._runs if (start := run.starts.get(workload.id)) is not None]

    @cached_property
    def _has_endless(self) -> bool:
        return self._endless > 0 or any(each not in self._expectations for each in self._places)


def expectations_in(given: Snapshot, known: RunTimes) -> Expectations:
    """Return what is known of the runs of all workloads."""
    found = {}
    for name, workloads in given.world.workload_sets.items():
        leaf = given.leaves.get(name)
        for workload in workloads.by_id.values():
            own = expected(workload, leaf, known)
            if own is not None:
                found[workload.id] = own
    return found


def _places(given: Snapshot) -> Mapping[WorkloadId, int]:
    """Return how many workloads of its leaf are before each that waits."""
    return {each.id: place for leaf in given.leaves.values() for place, each in enumerate(leaf.pending)}
