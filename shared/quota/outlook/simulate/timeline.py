"""A world lived through in time: workloads arrive, run for their time and end, and the engine decides at each change.

Starts are ready at once. Evicted workloads end, and controllers note starts (until then, none of these is evicted), at
once or a given time later. What was evicted runs its whole time again. Pure: the time is that of the events.

See docs/specification.md §9.5.
"""

import heapq
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from shared.api.durations import later
from shared.quota.decide.decisions import Plan
from shared.quota.decide.plan import plan
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.measure.inputs.past_use import UseHistory
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.model.workload import Workload, WorkloadId
from shared.quota.outlook.simulate.quiet import Spares, never
from shared.quota.outlook.simulate.reactions import AT_ONCE, ExpectedReactions, Reactions
from shared.quota.outlook.simulate.step import carry_out, end_now, evicting_in

MOST_CYCLES_AT_ONCE: Final = 100
"""A world that still changes after so many cycles at one moment goes on with the next event."""
GATHERED: Final = timedelta(milliseconds=50)
"""How long changes are gathered before a cycle: what the reconciler does by default."""
LONGEST_PAUSE: Final = timedelta(milliseconds=500)
"""After a plan that changes something, a cluster makes the next one sooner."""
SHORTEST_WAIT: Final = timedelta(seconds=1)
"""Between two moments at which nothing but the time has changed."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A workload comes.

    `run_time`: how long it runs after a start; None: to the end of the events. `ends_evicted`: it ends after that time
    also where it was evicted, if its pods have not ended before.
    """

    at: datetime
    workload: Workload
    run_time: timedelta | None
    ends_evicted: bool = False


@dataclass(frozen=True, slots=True)
class Departure:
    """A workload that has not ended is taken away by its owner; nothing happens if it has."""

    at: datetime
    workload: WorkloadId


@dataclass(frozen=True, slots=True)
class TimedEdit:
    """The tree, the flavors or the nodes change."""

    at: datetime
    change: Callable[[World], World]


TimedEvent = Arrival | Departure | TimedEdit


@dataclass(frozen=True, slots=True)
class Moment:
    """What happened at one moment: workloads ended, then came plans, each made in the world that the last one left."""

    now: datetime
    ended: tuple[Workload, ...]
    plans: tuple[Plan, ...]
    snapshot: Snapshot
    """The numbers that the last plan was made from."""


@dataclass(slots=True)
class _Known:
    group: str
    run_time: timedelta | None
    ends_evicted: bool = False


class Timeline:
    """Lives through events in the order of their times, which must be sorted."""

    def __init__(  # noqa: PLR0913, PLR0917
        self,
        world: World,
        now: datetime,
        run_times: Mapping[WorkloadId, timedelta] | None = None,
        measured: Snapshot | None = None,
        cache: CycleCache | None = None,
        stopping: Reactions = AT_ONCE,
        answering: Reactions = AT_ONCE,
        decisions: Sequence[datetime] = (),
        renewed: timedelta = timedelta(),
        spares: Spares = never,
    ) -> None:
        """`run_times`: how long workloads that are in the world at `now` run after a start; others run to the end.

        `stopping`: how long after an eviction the last pod ends; `answering`: after a start its controller notes it.
        `decisions`: when a cluster decided, sorted. With these a plan that changes something is followed by the next
        one as there, a little later, and not at the same moment.
        `renewed`: past use is brought up to date no more often than that.
        `spares`: whether no plan need be made; the numbers of such moments are older ones.
        `measured`: a snapshot of `world`, and `cache`, used for plans made from it, make the first step cheap.
        """
        self._world, self._begin = world, now
        history = UseHistory.in_world(world, now)
        self._history = replace(history, shortest=max(history.shortest, renewed))
        self._cache = cache or CycleCache()
        self._snapshot = measured
        self._known: dict[WorkloadId, _Known] = {}
        self._ends: list[tuple[datetime, WorkloadId, datetime]] = []
        """(when it ends, workload, the start after which it does): outdated if it was evicted meanwhile."""
        self._decisions = decisions
        self._spares = spares
        self._stops = ExpectedReactions(stopping)
        self._answers = ExpectedReactions(answering)
        self._wake_at: datetime | None = now
        for each in evicting_in(world):
            self._stops.expect_at(now, each.id)
        for each in (each for held in world.workload_sets.values() for each in held.by_id.values()):
            self._known[each.id] = _Known(each.group, (run_times or {}).get(each.id))
            if each.admission is not None:
                self._expect_end(each.id, each.admission.since)

    def live(
        self, events: Iterable[TimedEvent], until: datetime, gathered: timedelta = GATHERED, parts: int | None = None
    ) -> Iterator[Moment]:
        """Yield each moment at which something changed, up to `until`.

        What comes within `gathered` of the first change is decided on together, as a cluster gathers its changes. With
        `parts`, also what ends within one such part of the time since the beginning; it is decided on in the middle
        of that, so that starts are neither early nor late in the mean.
        """
        coming = _Coming(events)
        while True:
            moments = (coming.at, self._next_end, self._stops.next, self._answers.next, self._wake_at)
            begin = min(filter(None, moments), default=None)
            if begin is None or begin > until:
                return
            wait = gathered if parts is None else max(gathered, (begin - self._begin) / parts)
            if begin == self._wake_at:
                wait = timedelta()
            now = later(begin, wait if parts is None else wait / 2)
            ended = [*self._end_runs(later(begin, wait))]
            events_now = [*coming.take(now)]
            for event in events_now:
                ended += self._apply(event)
            if events_now or self._snapshot is None or not self._spares_plan(now, self._snapshot, None):
                yield self._decide(now, tuple(ended))
                continue
            self._react(now)
            self._history = self._history.after(self._world, now)
            yield Moment(now, tuple(ended), (), self._snapshot)

    def _spares_plan(self, now: datetime, snapshot: Snapshot, latest: Plan | None) -> bool:
        """Return whether no plan need be made now; `latest`: the one just made from `snapshot`, if one was."""
        return (self._wake_at is None or self._wake_at > now) and self._spares(self._world, snapshot, latest)

    @property
    def _next_end(self) -> datetime | None:
        return self._ends[0][0] if self._ends else None

    def _react(self, now: datetime) -> None:
        """Let the evicted workloads end whose last pods have ended by now, and the starts be noted that are."""
        stopped = filter(None, map(self._find, self._stops.take(now)))
        self._world = end_now(self._world, [each for each in stopped if each.is_evicting])
        for noted in self._answers.take(now):
            self._note_start(noted, answered=True)

    def _note_start(self, workload: WorkloadId, *, answered: bool) -> None:
        found = self._find(workload)
        if found is not None and found.admission is not None and found.admission.answered is not answered:
            after = replace(found, admission=replace(found.admission, answered=answered))
            self._world = self._world.with_changes([(found, after)])

    def _expect_end(self, workload: WorkloadId, start: datetime) -> None:
        run_time = self._known[workload].run_time
        if run_time is not None:
            heapq.heappush(self._ends, (later(start, run_time), workload, start))

    def _end_runs(self, now: datetime) -> Iterator[Workload]:
        while self._ends and self._ends[0][0] <= now:
            _, workload_id, start = heapq.heappop(self._ends)
            found = self._find(workload_id)
            if found is None or found.admission is None or found.admission.since != start:
                continue
            if not found.is_evicting or self._known[workload_id].ends_evicted:
                yield self._remove(found)

    def _apply(self, event: TimedEvent) -> Iterator[Workload]:
        if isinstance(event, TimedEdit):
            self._world = event.change(self._world)
        elif isinstance(event, Arrival):
            self._known[event.workload.id] = _Known(event.workload.group, event.run_time, event.ends_evicted)
            self._world = self._world.with_changes([(None, event.workload)])
        else:
            found = self._find(event.workload)
            if found is not None:
                yield self._remove(found)

    def _find(self, workload: WorkloadId) -> Workload | None:
        known = self._known.get(workload)
        return None if known is None else self._world.workloads_of(known.group).by_id.get(workload)

    def _remove(self, workload: Workload) -> Workload:
        self._world = self._world.with_changes([(workload, None)])
        del self._known[workload.id]
        return workload

    def _decide(self, now: datetime, ended: tuple[Workload, ...]) -> Moment:
        plans: list[Plan] = []
        for _ in range(1 if self._decisions else MOST_CYCLES_AT_ONCE):
            snapshot, decided = self._plan(now)
            if decided.is_idle:
                break
            plans.append(decided)
            for start in decided.starts:
                self._expect_end(start.workload.id, now)
            self._wake_at = _next_look(decided, later(now, SHORTEST_WAIT))
            if self._spares_plan(now, snapshot, decided):
                self._history = self._history.after(self._world, now)
                return Moment(now, ended, tuple(plans), snapshot)
        soon = self._next_decision(now) if self._decisions else later(now, SHORTEST_WAIT)
        self._wake_at = _next_look(decided, soon) if decided.is_idle else soon
        return Moment(now, ended, tuple(plans), snapshot)

    def _next_decision(self, now: datetime) -> datetime:
        """Return when the cluster decided next, if that was soon; else when it would have."""
        place = bisect_right(self._decisions, now)
        usual = later(now, GATHERED)
        found = self._decisions[place] if place < len(self._decisions) else usual
        return found if found - now < LONGEST_PAUSE else usual

    def _plan(self, now: datetime) -> tuple[Snapshot, Plan]:
        """Decide once, and carry it out."""
        self._react(now)
        world = self._world.at(now)
        self._history = self._history.after(world, now)
        snapshot = measure(self._history.put_into(world), now, self._snapshot)
        decided = plan(snapshot, self._cache)
        self._world = carry_out(snapshot.world, decided)
        for evict in decided.evictions:
            self._stops.expect(evict.workload.id, now)
        for start in decided.starts:
            if self._answers.expect(start.workload.id, now):
                self._note_start(start.workload.id, answered=False)
        self._react(now)
        self._snapshot = snapshot
        return snapshot, decided


def _next_look(decided: Plan, soonest: datetime) -> datetime | None:
    """Return when time alone changes what is decided: a rule's, a turn's or a limited run's moment; None: never."""
    moments = (decided.wake_at, decided.next_turn, decided.next_end)
    found = min(filter(None, moments), default=None)
    return found and max(found, soonest)


class _Coming:
    """The events that have not happened yet, with a look at the next one."""

    def __init__(self, events: Iterable[TimedEvent]) -> None:
        self._events = iter(events)
        self._next = next(self._events, None)

    @property
    def at(self) -> datetime | None:
        """When the next one happens; None: there is none."""
        return None if self._next is None else self._next.at

    def take(self, until: datetime) -> Iterator[TimedEvent]:
        """Yield those up to a moment."""
        while self._next is not None and self._next.at <= until:
            yield self._next
            self._next = next(self._events, None)
