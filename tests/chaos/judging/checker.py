"""Finds violations in a history: workloads started twice, over-admitted, or stopped without cause or by others.

It replays every version and judges each start and each stop on the cluster as it was stored right before it. A decision
may lag behind the truth by `lag`, so a start is over-admitted only if no tree of that time allowed it, and a stop is
without cause only if no instant of that time gave one.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from shared.api.annotations import Annotations, EvictionAnnotation, read_annotations
from shared.api.core.job import Job
from shared.api.core.pod import Pod
from shared.api.names import ADMISSION, EVICTION, FALSE, GROUP_LABEL, HOLD_LABEL, PREEMPTIBLE_LABEL, TRUE
from shared.kinds.kind_object import KindObject
from shared.quota.model.settings import QuotaSettings
from tests.chaos.judging.causes import Causes, Surrounding
from tests.chaos.judging.history.history import Version
from tests.chaos.judging.history.records import Submitted
from tests.chaos.judging.replay import Replay, excess


@dataclass(frozen=True, slots=True)
class Flaw:
    """One violation."""

    rule: str
    object: str
    revision: int
    message: str

    def __str__(self) -> str:
        return f"{self.rule} {self.object} at revision {self.revision}: {self.message}"


@dataclass(slots=True)
class Findings:
    """Everything that was checked, and the violations found."""

    counts: Counter[str] = field(default_factory=Counter)
    flaws: list[Flaw] = field(default_factory=list)
    evictions: Counter[str] = field(default_factory=Counter)
    """By the work's key."""


@dataclass(frozen=True, slots=True)
class Expectations:
    """What the checker needs to know: who may start workloads, the capacity, and how late a decision may be."""

    reconciler: str
    around: Surrounding
    capacity: Mapping[str, int]
    """resource -> base units, of all nodes together."""
    lag: timedelta = timedelta(seconds=20)
    most_evictions: int = 25
    """A workload that was stopped more often than this never gets to run."""
    managed: bool = False
    """Whether the namespace is managed: then the webhook sees all Jobs, else those that name a group."""
    skew: timedelta = timedelta()
    """How far the reconcilers' clocks are apart."""
    settings: QuotaSettings = field(default_factory=QuotaSettings)
    ignored: frozenset[str] = frozenset()
    """Rules that are not judged, where owners change what they have submitted."""


def check(history: Iterable[Version], expected: Expectations) -> Findings:
    """Judge the whole history, oldest version first."""
    checker = _Checker(expected)
    for version in history:
        checker.judge(version)
    checker.judge_stops(None)
    for key, times in checker.findings.evictions.items():
        if times > expected.most_evictions:
            text = f"evicted {times} times, at most {expected.most_evictions} were expected"
            checker.findings.flaws.append(Flaw("EvictedForEver", key, 0, text))
    return checker.findings


class _Checker:
    def __init__(self, expected: Expectations) -> None:
        self.findings = Findings()
        self._expected = expected
        self._replay = Replay(expected.lag * 1.5)
        self._causes = Causes(expected.around, expected.settings)
        self._starts = False
        self._stops: deque[tuple[Version, Submitted, EvictionAnnotation]] = deque()

    def judge(self, version: Version) -> None:
        self.findings.counts["versions"] += 1
        record = version.record
        if isinstance(record, Job | Pod) and self._replay.is_made(record):
            self._judge_child(version, record)
        elif isinstance(record, Job):
            self._judge_work(version, self._replay.jobs.get(version.uid), record)
        elif isinstance(record, KindObject):
            self._judge_work(version, self._replay.objects.get(version.uid), record)
        elif isinstance(record, Pod) and GROUP_LABEL in record.metadata.labels and record.owner_job is None:
            self._judge_work(version, self._replay.pods.get(version.uid), record)
        self.judge_stops(version.received)
        self._replay.observe(version)
        if self._starts and "OverAdmitted" not in self._expected.ignored:
            self._check_room(version)
        self._starts = False

    def _judge_child(self, version: Version, child: Job | Pod) -> None:
        """What an operator makes is part of the object that it was made for, and no workload of its own."""
        self.findings.counts["versions of what operators made"] += 1
        seen = isinstance(child, Pod) or self._expected.managed or GROUP_LABEL in child.metadata.labels
        if seen and not child.metadata.unit:
            self._flaw("CountedTwice", child, version, "does not name the object that it was made for")
        if {ADMISSION, EVICTION} & child.metadata.annotations.keys() or version.user == self._expected.reconciler:
            self._flaw("CountedTwice", child, version, f"was decided on by itself; written by {version.user}")

    def _judge_work(self, version: Version, before: Submitted | None, after: Submitted) -> None:
        if version.user == self._expected.reconciler:
            self._check_lead(version, after)
        if before is None:
            if _runs(after) and not version.gone and not self._replay.knows(version.uid):
                self._flaw("ResumedByOther", after, version, "was created running")
            return
        if _has_finished(before):
            return  # its controller does nothing for it any more, whatever its spec says
        if _runs(after) and not _runs(before):
            self._judge_start(version, before, after)
        elif _is_stopped(before, after):
            self._judge_stop(version, before, after)

    def _judge_start(self, version: Version, before: Submitted, after: Submitted) -> None:
        self.findings.counts["starts"] += 1
        if isinstance(after, KindObject):
            self.findings.counts[f"starts of a {after.kind.kind}"] += 1
        self._starts = True
        if self._is_someone_else(version, after):
            self._flaw("ResumedByOther", after, version, f"was started by {version.user}")
        if read_annotations(after.metadata.annotations).admission is None:
            self._flaw("BadAdmission", after, version, "was started without an admission that can be read")
        if isinstance(before, KindObject) and (left := self._previous_pods(version, before)):
            self._flaw("StartedTwice", after, version, f"was started with {len(left)} pods of its previous run")
        if isinstance(before, Job):
            left = self._previous_pods(version, before)
            if before.has_pods or left:
                text = f"was started with {len(left)} pods of its previous run (status: {before.status.active} active, "
                text += f"{before.status.terminating} terminating, start time {before.status.start_time})"
                self._flaw("StartedTwice", after, version, text)

    def _previous_pods(self, version: Version, before: Job | KindObject) -> set[str]:
        """The pods of a previous run that are left.

        If the log lacks the start, those of the new run come before the status that shows it.
        """
        return self._replay.pods_before(before) if version.by_status else self._replay.pods_of(before)

    def _check_room(self, version: Version) -> None:
        assert isinstance(version.record, Submitted)
        used = self._replay.used()
        found: list[str] = []
        # A closed node counts what pods on it use, at most all that it has.
        for tree, _ in self._replay.grounds(version.record.metadata.labels.get(GROUP_LABEL, "")):
            found = list(excess(tree, used, self._expected.capacity))
            if not found:
                return
        self._flaw("OverAdmitted", version.record, version, f"was started, then {'; '.join(found)}")

    def _judge_stop(self, version: Version, before: Submitted, after: Submitted) -> None:
        self.findings.counts["evictions"] += 1
        self.findings.evictions[after.metadata.key] += 1
        if self._is_someone_else(version, after):
            if _is_hold_by_owner(before, after):
                self.findings.counts["stops by owners"] += 1
                return
            self._flaw("StoppedByOther", after, version, f"was stopped by {version.user}")
            return
        previous, now = read_annotations(before.metadata.annotations), read_annotations(after.metadata.annotations)
        annotation = now.eviction
        if annotation is None or annotation == previous.eviction:
            self._flaw("BadEviction", after, version, "was stopped without an eviction annotation of its own")
            return
        for text in _inconsistencies(previous, now, annotation, self._expected.skew, is_pod=isinstance(after, Pod)):
            self._flaw("BadEviction", after, version, text)
        if after.metadata.labels.get(PREEMPTIBLE_LABEL) == FALSE and annotation.reason in ("Reclaimed", "Preempted"):
            self._flaw("EvictedWithoutCause", after, version, f"is not preemptible, yet {annotation.reason}")
        elif "EvictedWithoutCause" not in self._expected.ignored:
            self._stops.append((version, before, annotation))

    def judge_stops(self, now: datetime | None) -> None:
        """Judge the stops that are old enough: decisions made before them may have been written after them."""
        while self._stops and (now is None or self._stops[0][0].received + self._expected.lag / 2 < now):
            version, victim, annotation = self._stops.popleft()
            if why := self._causes.why_not(victim, annotation, self._replay.instants()):
                self._flaw("EvictedWithoutCause", victim, version, f"{annotation.reason} ({annotation.rule}): {why}")

    def _check_lead(self, version: Version, after: Submitted) -> None:
        self.findings.counts["reconciler's writes"] += 1
        if not self._replay.may_lead(version):
            self._flaw("TwoLeaders", after, version, f"was written while {self._replay.lease.holder!r} held the Lease")

    def _is_someone_else(self, version: Version, after: Submitted) -> bool:
        """Whether another user changed it. What a status write shows first was a write that the log lacks."""
        if version.by_status:
            self.findings.counts["writes that were not logged"] += 1
            return False
        return version.user != self._expected.reconciler and not after.metadata.is_deleting

    def _flaw(self, rule: str, work: Submitted, version: Version, message: str) -> None:
        if rule not in self._expected.ignored:
            self.findings.flaws.append(Flaw(rule, work.metadata.key, version.revision, message))


def _runs(work: Submitted) -> bool:
    if isinstance(work, KindObject):
        return not work.suspended
    return not work.spec.suspend if isinstance(work, Job) else not work.is_gated


def _has_finished(work: Submitted) -> bool:
    return work.finished if isinstance(work, KindObject) else isinstance(work, Job) and work.has_finished


def _is_stopped(before: Submitted, after: Submitted) -> bool:
    """Suspended; or, of a pod, given an eviction annotation."""
    if not isinstance(after, Pod):
        return _runs(before) and not _runs(after)
    previous, now = (
        read_annotations(before.metadata.annotations).eviction,
        read_annotations(after.metadata.annotations).eviction,
    )
    return now is not None and (previous is None or now.time != previous.time)


def _is_hold_by_owner(before: Submitted, after: Submitted) -> bool:
    """An owner who suspends an object holds it; an eviction annotation is written by the reconciler alone."""
    holds = after.metadata.labels.get(HOLD_LABEL) == TRUE
    return (
        holds
        and read_annotations(after.metadata.annotations).eviction
        == read_annotations(before.metadata.annotations).eviction
    )


def _inconsistencies(
    previous: Annotations, annotations: Annotations, annotation: EvictionAnnotation, skew: timedelta, *, is_pod: bool
) -> Iterator[str]:
    """Yield what the annotation says that other versions contradict."""
    if previous.admission is None:
        yield "was stopped without having been admitted"
    elif annotation.assigned != previous.admission.assigned:
        yield f"its eviction names {annotation.assigned}, it was admitted in {previous.admission.assigned}"
    elif annotation.since != previous.admission.time:
        yield f"its eviction says it ran since {annotation.since}, it was admitted at {previous.admission.time}"
    if not is_pod and annotations.admission is not None:
        yield "was stopped and kept its admission"
    if annotation.since is not None and annotation.time + skew < annotation.since:
        yield f"its eviction at {annotation.time} is before its start at {annotation.since}"
    if annotations.problems:
        yield "; ".join(annotations.problems)
