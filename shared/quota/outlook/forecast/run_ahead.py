"""One run ahead: workloads end after the run times drawn for them, others like them come, and the engine decides.

See docs/specification.md §9.8.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime, timedelta
from heapq import heapify, heappop, heappush, merge
from typing import Final, NamedTuple

from shared.api.durations import later
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.measure.accounts.run_times import RunTimes
from shared.quota.measure.leaves.leaf_snapshot import LeafSnapshot
from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.in_force import next_border
from shared.quota.model.workload import WorkloadId
from shared.quota.outlook.forecast.arrivals import arrivals, is_drawn
from shared.quota.outlook.forecast.run_times import Basis, Expectation, draw
from shared.quota.outlook.simulate.timeline import Arrival, Moment, TimedEdit, Timeline

FARTHEST: Final = timedelta(days=30)
"""How far the engine is run ahead at most."""
PARTS: Final = 20
"""What changes within such a part of the time from now on is decided on together."""

_GROUPS: Final = 20
_WAITING: Final = 80
"""A cycle counts as one more step for so many groups, and for so many workloads that wait: it costs more then."""

Expectations = Mapping[WorkloadId, Expectation]
"""What is known of the runs of workloads; those of unknown run time are not in it, and do not end."""


class ForeseenStart(NamedTuple):
    """When a workload starts in a run. `endless`: how many of unknown run time run then."""

    at: datetime
    bases: frozenset[Basis]
    endless: int


class RunSteps(NamedTuple):
    """Which of the runs it is, and how many steps it has at most: starts, evictions, and cycles."""

    run: int
    most: int


class Beginning(NamedTuple):
    """From what all runs begin. `cache`: that of a plan made from `given`; `known`: run times of the past."""

    given: Snapshot
    cache: CycleCache
    expectations: Expectations
    known: RunTimes


class RunAhead:
    """What one run shows."""

    def __init__(self, given: Snapshot, expectations: Expectations) -> None:
        self.starts: dict[WorkloadId, ForeseenStart] = {}
        self.is_cut = False
        """Whether it ended before all had started, and things would still change."""
        self._expectations = expectations
        self._bases: frozenset[Basis] = frozenset()
        admitted = (each for leaf in given.leaves.values() for each in leaf.admitted)
        self._endless = sum(each.id not in expectations for each in admitted)

    def record(self, moment: Moment, *, any_came: bool) -> None:
        """Keep what starts at this moment. `any_came`: whether workloads have come that were drawn."""
        if any_came:
            self._bases |= {Basis.ARRIVALS}
        ended = {self._expectations[each.id].basis for each in moment.ended if each.id in self._expectations}
        if not ended <= self._bases:
            self._bases |= ended
        for start in (each for plan in moment.plans for each in plan.starts):
            if start.workload.id not in self.starts and not is_drawn(start.workload):
                self.starts[start.workload.id] = ForeseenStart(moment.now, self._bases, self._endless)
                self._endless += start.workload.id not in self._expectations

    def cut_short(self, given: Snapshot, run_times: Mapping[WorkloadId, timedelta], until: datetime) -> None:
        """End the run here. What waits then starts in the room that its leaf has now, one after another."""
        self.is_cut = True
        for leaf in given.leaves.values():
            for workload_id, at in _in_order(leaf, given.now, run_times):
                if workload_id in self._expectations and workload_id not in self.starts and at <= until:
                    bases = self._bases | {self._expectations[workload_id].basis, Basis.PACE}
                    self.starts[workload_id] = ForeseenStart(at, bases, self._endless)


def _in_order(
    leaf: LeafSnapshot, now: datetime, run_times: Mapping[WorkloadId, timedelta]
) -> Iterator[tuple[WorkloadId, datetime]]:
    """Yield when each that waits in a leaf starts, one after another, in the room that runs of the leaf leave.

    Two GPUs end at 14:00 and two at 15:00: of three workloads with two GPUs that run for three hours the first starts
    at 14:00, the second at 15:00, and the third at 17:00.
    """
    ends = [
        (later(each.admission.since, run_times[each.id]), each.id, each.request)
        for each in leaf.admitted
        if each.admission is not None and each.id in run_times
    ]
    heapify(ends)
    free: Counter[str] = Counter()
    for workload in leaf.pending:
        while ends and any(amount > free[name] for name, amount in workload.request.items()):
            end, _, request = heappop(ends)
            now = max(now, end)
            free.update(request)
        if workload.id not in run_times or any(amount > free[name] for name, amount in workload.request.items()):
            return
        yield workload.id, now
        free.subtract(workload.request)
        heappush(ends, (later(now, run_times[workload.id]), workload.id, workload.request))


class MomentAhead(NamedTuple):
    """A moment of a run. `any_came`: whether workloads have come that were drawn; `is_last_step`: no step is left."""

    moment: Moment
    any_came: bool
    is_last_step: bool


def run_ahead(start: Beginning, wanted: Collection[WorkloadId], steps: RunSteps) -> RunAhead:
    """Run the engine ahead until all `wanted` have started, for at most so many steps."""
    given = start.given
    run_times, until = drawn_run_times(given, start.expectations, steps.run), later(given.now, FARTHEST)
    found, left = RunAhead(given, start.expectations), set(wanted)
    if _cycle(given) > steps.most:
        found.cut_short(given, run_times, until)
        return found
    for moment, any_came, is_last_step in moments_ahead(start, run_times, steps, until):
        found.record(moment, any_came=any_came)
        left -= {each.workload.id for plan in moment.plans for each in plan.starts}
        if not left:
            break
        if is_last_step:
            found.cut_short(moment.snapshot, run_times, until)
    return found


def moments_ahead(
    start: Beginning, run_times: dict[WorkloadId, timedelta], steps: RunSteps, until: datetime
) -> Iterator[MomentAhead]:
    """Yield each moment of a run, until no step is left. `run_times`: receives those of what comes."""
    given, coming = start.given, _Coming(start, run_times, steps)
    taken = _cycle(given)
    timeline = Timeline(given.world, given.now, run_times, given, start.cache.copy())
    for moment in timeline.live(coming.events(until), until, parts=PARTS):
        cycle = _cycle(moment.snapshot)
        taken += cycle + sum(cycle + len(plan.starts) + len(plan.evictions) for plan in moment.plans)
        is_last_step = max(taken, coming.count) >= steps.most
        yield MomentAhead(moment, coming.count > 0, is_last_step)
        if is_last_step:
            return


def _cycle(given: Snapshot) -> int:
    """Return as how many steps a cycle counts."""
    waiting = sum(len(leaf.pending) for leaf in given.leaves.values())
    return 1 + len(given.tree.groups) // _GROUPS + waiting // _WAITING


class _Coming:
    """What comes in one run: workloads, and the moments at which another tree is in force."""

    def __init__(self, start: Beginning, run_times: dict[WorkloadId, timedelta], steps: RunSteps) -> None:
        """`run_times`: receives those of what comes."""
        self.count = 0
        """So many workloads have come."""
        self._start = start
        self._run_times = run_times
        self._steps = steps

    def events(self, until: datetime) -> Iterator[Arrival | TimedEdit]:
        """Yield it all in order."""
        borders: Iterator[Arrival | TimedEdit] = _borders(self._start.given)
        yield from merge(borders, self._arrivals(until), key=lambda each: each.at)

    def _arrivals(self, until: datetime) -> Iterator[Arrival]:
        start = self._start
        for each in arrivals(start.given, start.known, start.expectations, self._steps.run):
            if each.at > until or self.count >= self._steps.most:
                return
            if each.run_time is not None:
                self._run_times[each.workload.id] = each.run_time
            yield each
            self.count += 1


def drawn_run_times(given: Snapshot, expectations: Expectations, run: int) -> dict[WorkloadId, timedelta]:
    """Return how long each workload runs in one of the runs; those of unknown run time are not in it."""
    drawn: dict[WorkloadId, timedelta] = {}
    for workloads in given.world.workload_sets.values():
        for workload in workloads.by_id.values():
            known, admission = expectations.get(workload.id), workload.admission
            if known is not None:
                has_run = timedelta() if admission is None else max(timedelta(), given.now - admission.since)
                drawn[workload.id] = draw(workload, known, has_run, run)
    return drawn


def _borders(given: Snapshot) -> Iterator[TimedEdit]:
    """Yield the moments at which another tree is in force: the engine decides then."""
    written = given.world.written or given.world.tree
    at = next_border(written, given.now)
    while at is not None:
        yield TimedEdit(at, lambda world: world)
        at = next_border(written, at)
