"""What happens to each workload of a log when it is lived through again."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from heapq import merge
from operator import attrgetter
from typing import Final

from cli.replay.past import PastLog, PastWorkload
from shared.quota.measure.inputs.world import World
from shared.quota.model.workload import WorkloadId
from shared.quota.outlook.simulate.quiet import Quiet
from shared.quota.outlook.simulate.timeline import Arrival, Departure, Moment, TimedEvent, Timeline

RENEWALS: Final = 3_000
"""How often past use is brought up to date at most; it can be most of what a long replay costs."""
Progress = Callable[[datetime], None]
"""Is told of each moment that is reached."""


@dataclass(slots=True)
class ReplayedWorkload:
    """A workload of the log, and what happened to it in the replay."""

    past: PastWorkload
    starts: list[datetime] = field(default_factory=list)
    evictions: list[datetime] = field(default_factory=list)
    ended: datetime | None = None


@dataclass(frozen=True, slots=True)
class Replayed:
    """A log lived through."""

    log: PastLog
    workloads: tuple[ReplayedWorkload, ...]


def replay(log: PastLog, world: World, gathered: timedelta, progress: Progress | None = None) -> Replayed:
    """Live through the log, beginning with `world`, which holds the workloads that are there when it begins."""
    found = {each.workload.id: ReplayedWorkload(each) for each in log.workloads}
    for each in found.values():
        if each.past.workload.admission is not None:
            each.starts.append(each.past.workload.admission.since)
    known = {each.workload.id: each.run_time for each in log.workloads if each.run_time is not None}
    timeline = Timeline(
        world, log.begin, known, stopping=log.stopping, answering=log.answering, decisions=log.decisions or (),
        renewed=(log.end - log.begin) / RENEWALS, spares=Quiet(),
    )  # fmt: skip
    for moment in timeline.live(_events(log), log.end, gathered):
        _record(moment, found)
        if progress is not None:
            progress(moment.now)
    return Replayed(log, tuple(found.values()))


def _events(log: PastLog) -> Iterator[TimedEvent]:
    """Yield the events in the order of their times: at one moment edits first, then arrivals, then departures."""
    arrivals = (
        Arrival(each.decided, each.workload, each.run_time, each.ends_evicted)
        for each in sorted(log.workloads, key=attrgetter("decided"))
        if each.decided >= log.begin and each.workload.admission is None
    )
    departures = sorted(
        (Departure(each.left, each.workload.id) for each in log.workloads if each.left is not None),
        key=attrgetter("at"),
    )
    return merge(log.edits, arrivals, departures, key=attrgetter("at"))


def _record(moment: Moment, found: dict[WorkloadId, ReplayedWorkload]) -> None:
    for plan in moment.plans:
        for evict in plan.evictions:
            found[evict.workload.id].evictions.append(moment.now)
        for start in plan.starts:
            found[start.workload.id].starts.append(moment.now)
    for each in moment.ended:
        found[each.id].ended = moment.now
