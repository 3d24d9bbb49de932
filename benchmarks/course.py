"""What a watch of Jobs shows of a run, and what follows from it: who waited, for its quota or for the contender.

A Job waits for the contender while as many GPUs as it requests are idle, of one flavor that it accepts, and for its
quota otherwise: all groups may borrow what is idle. Idle GPUs are dealt to those that wait by priority, then by age, so
that a GPU keeps one Job waiting at most. A GPU is idle from the moment at which the Job controller says in a Job's
status that its pods have ended until a Job that was given its flavor is resumed; until then nothing can start again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from typing import Final

from shared.api.core.job import Job
from shared.kube.watch.cache import Change, Changed

POINTS: Final = 60
"""How many a curve has."""


class What(Enum):
    """What happens to a Job."""

    CREATED = "created"
    STARTED = "started"
    EVICTED = "evicted"
    FREED = "freed"
    """No pod of it is left after its eviction."""
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Event:
    """When it was seen, in seconds; `flavor`: which one the Job was given, of a start."""

    at: float
    what: What
    job: str
    flavor: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a Job needs: GPUs of one of these flavors, all of them where it needs none. `priority`: higher first."""

    gpus: int
    flavors: Sequence[str]
    priority: int


@dataclass(frozen=True, slots=True)
class Sample:
    """One moment: how many Jobs wait, how many of these for the contender, how many GPUs are idle and wanted."""

    at: float
    waiting: int
    could_run: int
    idle: int
    wanted: int


@dataclass(slots=True)
class Course:
    """What has been seen. `label`: the node label that a started Job's pods select, whose value is the flavor."""

    label: str
    events: list[Event] = field(default_factory=list)
    ended: set[str] = field(default_factory=set)
    _holding: set[str] = field(default_factory=set)
    """Jobs that were started and whose pods have not ended."""

    def see(self, changes: Sequence[Change[Job]], now: float) -> None:
        """Process a batch of the watch that came at this moment."""
        for change in changes:
            if isinstance(change, Changed) and change.after is not None:
                for what in self._happened(change.before, change.after):
                    selector = change.after.spec.template.spec.node_selector
                    flavor = selector.get(self.label, "") if what is What.STARTED else ""
                    self.events.append(Event(now, what, change.after.metadata.name, flavor))

    def _happened(self, before: Job | None, after: Job) -> Iterator[What]:
        name = after.metadata.name
        if before is None:
            yield What.CREATED
        if name in self.ended:
            return
        was_suspended = before is None or before.spec.suspend
        if was_suspended and not after.spec.suspend:
            self._holding.add(name)
            yield What.STARTED
        elif not was_suspended and after.spec.suspend:
            yield What.EVICTED
        if after.has_finished:
            self.ended.add(name)
            yield What.ENDED
        elif after.spec.suspend and name in self._holding and not after.has_pods:
            self._holding.discard(name)
            yield What.FREED

    def count(self, what: What) -> int:
        """Return how often it happened."""
        return sum(each.what is what for each in self.events)

    def until(self, what: What, points: int, end: float) -> list[float]:
        """Return how often it had happened at the end of each of so many equal parts of the time up to `end`."""
        times = [each.at for each in self.events if each.what is what]
        return [float(sum(at <= end * (number + 1) / points for at in times)) for number in range(points)]

    def waits(self, end: float) -> list[float]:
        """Return how long each Job waited for its first start, in order; until `end` where it has none."""
        first: dict[str, float] = {}
        for each in self.events:
            if each.what is What.STARTED:
                first.setdefault(each.job, each.at)
        created = {each.job: each.at for each in self.events if each.what is What.CREATED}
        return sorted(first.get(name, end) - at for name, at in created.items())


def samples(
    events: Sequence[Event], asked: Mapping[str, Asked], room: Mapping[str, int], end: float, step: float
) -> Iterator[Sample]:
    """Yield what was so at each step up to `end`. `room`: flavor → its GPUs."""
    waiting: dict[str, float] = {}
    held: dict[str, str] = {}
    left, at = iter([*events, Event(float("inf"), What.ENDED, "")]), step
    event = next(left)
    while at <= end:
        while event.at <= at:
            _follow(event, waiting, held)
            event = next(left)
        idle = dict(room)
        for name, flavor in held.items():
            if flavor in idle:
                idle[flavor] -= asked[name].gpus
        free = sum(max(0, each) for each in idle.values())
        could = _deal({name: since for name, since in waiting.items() if name not in held}, asked, idle)
        yield Sample(at, len(waiting), len(could), free, sum(asked[name].gpus for name in could))
        at += step


def _follow(event: Event, waiting: dict[str, float], held: dict[str, str]) -> None:
    if event.what is What.STARTED:
        waiting.pop(event.job, None)
        held[event.job] = event.flavor
    elif event.what in {What.CREATED, What.EVICTED}:
        waiting[event.job] = event.at
    else:
        held.pop(event.job, None)
        if event.what is What.ENDED:
            waiting.pop(event.job, None)


def _deal(waiting: Mapping[str, float], asked: Mapping[str, Asked], idle: dict[str, int]) -> list[str]:
    """Return which of them could all run at once, and take from `idle` what they need."""
    found = []
    for name in sorted(waiting, key=lambda each: (-asked[each].priority, waiting[each], each)):
        needs = asked[name]
        flavor = next((each for each in needs.flavors if idle[each] >= needs.gpus), None)
        if flavor is not None:
            idle[flavor] -= needs.gpus
            found.append(name)
    return found


def averages(values: Sequence[float], points: int = POINTS) -> list[float]:
    """Return the averages of so many equal parts of a series, or the series if it has fewer values."""
    parts = min(points, len(values))
    cuts = [len(values) * number // parts for number in range(parts + 1)] if parts else []
    return [sum(values[low:high]) / (high - low) for low, high in pairwise(cuts)]
