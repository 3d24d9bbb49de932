"""What the versions of one object in a log say: when it came, started, was evicted and ended, and what decisions knew.

A leader's log says at which lines it decided. What is between two of them, the second decision knew first.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from cli.read.manifests import Manifest
from shared.api.annotations import read_annotations
from shared.api.core.job import Job, read_job
from shared.api.durations import later

_BEFORE_NEXT_SECOND: Final = timedelta(milliseconds=999)
_SEEN_AT_ONCE: Final = timedelta(seconds=2)
_SEEN_WHILE_LED: Final = timedelta(minutes=1)
"""What a leader sees later than that ended while nobody led."""
_OVER: Final = frozenset({"Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"})
_PHASES: Final = frozenset({"Succeeded", "Failed"})


@dataclass(slots=True)
class Decision:
    """The first decision after some lines of a log: when it was made; None: the log does not say."""

    time: datetime | None = None


class Sight(NamedTuple):
    """When something was seen, and the decision that knew it first."""

    time: datetime
    decision: Decision

    @property
    def known(self) -> datetime:
        """When a decision knew it; of a log that does not say that, when it was seen."""
        return self.time if self.decision.time is None else max(self.time, self.decision.time)


class _End(NamedTuple):
    """An end as its object says it, in whole seconds, and when it was seen."""

    named: datetime
    sight: Sight


@dataclass(slots=True)
class SeenObject:
    """What the versions of one object say."""

    manifest: Manifest
    first: Sight
    starts: set[datetime] = field(default_factory=set)
    evictions: set[datetime] = field(default_factory=set)
    gone: Sight | None = None
    _answers: dict[datetime, Sight] = field(default_factory=dict)
    """Start → when the Job controller was first seen to have noted it."""
    _stops: dict[datetime, Sight | None] = field(default_factory=dict)
    """Eviction after which the Job was seen with pods → when it was first seen without; None: not yet."""
    _end: _End | None = None
    _last_pods: Sight | None = None
    """When the last pods of what runs were gone."""

    def observe(self, body: Mapping[str, Any], sight: Sight, *, knows_pods: bool) -> None:
        """Take in one version. `knows_pods`: the log itself says when evicted workloads have no pods any more."""
        self.gone = None
        said = read_annotations(body["metadata"].get("annotations") or {})
        job = read_job(body) if self.manifest.kind == "Job" else None
        if said.admission is not None:
            started = said.admission.time.astimezone(UTC)
            self.starts.add(started)
            is_noted = job is not None and not job.spec.suspend and job.status.start_time is not None
            if is_noted and not knows_pods:
                self._answers.setdefault(started, sight)
        if said.eviction is not None:
            evicted = said.eviction.time.astimezone(UTC)
            self.evictions.add(evicted)
            if said.eviction.since is not None:
                self.starts.add(said.eviction.since.astimezone(UTC))
            if job is not None and job.spec.suspend and not knows_pods:
                self._note_stop(evicted, job, sight)
        if self._end is None and _has_ended(body, job):
            self._end = _End(_named_end(body.get("status") or {}, sight.time), sight)

    def note_start(self, sight: Sight) -> None:
        """Take in that a leader knew that its last start was noted."""
        if self.starts:
            self._answers.setdefault(max(self.starts), sight)

    def note_freed(self, sight: Sight) -> None:
        """Take in that a leader knew that the last pods of its last eviction were gone."""
        if self.evictions and self._stops.get(max(self.evictions)) is None:
            self._stops[max(self.evictions)] = sight

    def note_end_of_pods(self, sight: Sight) -> None:
        """Take in that a leader knew that the last pods of its run were gone."""
        self._last_pods = sight

    def _note_stop(self, evicted: datetime, job: Job, sight: Sight) -> None:
        if job.has_pods:
            self._stops.setdefault(evicted, None)
        elif evicted in self._stops and self._stops[evicted] is None:
            self._stops[evicted] = sight

    def came(self, created: datetime, begin: datetime) -> datetime:
        """Return when the object came, as late as all that is known allows: `created` is a whole second.

        It came before it was seen, and before it was started. What was there at `begin` came then, at the latest.
        """
        if self.first.time <= begin:
            return max(created, begin)
        return max(created, min(self.first.time, *self.starts, later(created, _BEFORE_NEXT_SECOND)))

    def decided(self, created: datetime, begin: datetime) -> datetime:
        """Return when a decision first knew of the object; where the log does not say that, when it came."""
        if self.first.decision.time is None or self.first.time <= begin:
            return self.came(created, begin)
        return min([self.first.known, *self.starts])

    @property
    def ended(self) -> datetime | None:
        """When it has ended: when a decision knew it, if that is said, or else when it says; None: it has not.

        It says whole seconds. What it used is free for others when the end of its pods is known, or its own.
        """
        if self._end is None:
            return None
        named, sight = self._end
        if self._last_pods is not None and max(self.starts, default=named) < self._last_pods.time < sight.time:
            return self._last_pods.known
        if sight.decision.time is not None and sight.time - named < _SEEN_WHILE_LED:
            return sight.known
        if not timedelta() <= sight.time - named < _SEEN_AT_ONCE:
            return named
        return min(sight.time, later(named, _BEFORE_NEXT_SECOND))

    def answers(self) -> tuple[timedelta | None, ...]:
        """Return of each start how long after it a decision knew that the controller had noted it; None: never seen."""
        return tuple(_after(each, self._answers.get(each)) for each in sorted(self.starts))

    def stops(self) -> tuple[timedelta | None, ...]:
        """Return of each eviction how long after it a decision knew that its pods had ended; None: never seen."""
        return tuple(_after(each, self._stops.get(each)) for each in sorted(self.evictions))


def _after(moment: datetime, sight: Sight | None) -> timedelta | None:
    return None if sight is None else max(timedelta(), sight.known - moment)


def _has_ended(body: Mapping[str, Any], job: Job | None) -> bool:
    """Return whether nothing of it counts any more: of a Job as the leader reads it, which counts pods."""
    if job is not None:
        return job.has_finished or (not job.spec.suspend and job.pods_left == 0 < job.wanted_pods)
    status = body.get("status") or {}
    return bool(_over(status)) or status.get("phase") in _PHASES


def _over(status: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [
        each for each in status.get("conditions") or () if each.get("type") in _OVER and each.get("status") == "True"
    ]


def _named_end(status: Mapping[str, Any], seen: datetime) -> datetime:
    said = [status.get("completionTime"), *(each.get("lastTransitionTime") for each in _over(status))]
    return min((datetime.fromisoformat(each).astimezone(UTC) for each in said if isinstance(each, str)), default=seen)
