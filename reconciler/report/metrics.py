"""Prometheus metrics of the reconciler: decisions, writes and durations; beside them, the numbers of the groups.

Group names and reasons are labels; names of Jobs never are.

See docs/specification.md §9.4.
"""

from datetime import datetime, timedelta
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from reconciler.report.group_metrics import GroupCollector
from reconciler.report.recording_metrics import RecordingMetrics
from shared.cluster.state.faults.register import Faults
from shared.quota.decide.decisions import Evict, Start, Tier
from shared.quota.model.workload import Workload

_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.06, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_WAITS: Final = (1, 10, 60, 300, 1800, 7200, 28800, 86400)
_ENTITLED: Final = (1, 5, 15, 60, 300, 900, 3600)
_RUNS: Final = (10, 60, 300, 1800, 7200, 43200)
PAIRS: Final = 2000
"""The maximum of giver and taker pairs with a series of their own."""
OTHERS: Final = "(others)"


class StartMetrics:
    """Starts, and how long workloads had waited for them."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._number = Counter("quotree_starts", "Workloads started.", ["group", "tier"], registry=registry)
        self._seconds = Histogram(
            "quotree_start_seconds",
            "From the decision to start a workload to its written start.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._waits = Histogram(
            "quotree_wait_seconds",
            "From the queueing of a workload to its start.",
            ("group", "tier"),
            buckets=_WAITS,
            registry=registry,
        )
        self._entitled_waits = Histogram(
            "quotree_entitled_wait_seconds",
            "For how long a workload that starts had been entitled.",
            ("group",),
            buckets=_ENTITLED,
            registry=registry,
        )

    def started(self, start: Start, at: datetime, entitled: timedelta, seconds: float) -> None:
        """Count a start decided at `at` of a workload that was `entitled` for that long; `seconds`: duration of its
        write.
        """
        group = start.workload.group
        self._number.labels(group, start.tier.value).inc()
        self._seconds.observe(seconds)
        self._waits.labels(group, start.tier.value).observe(max(0.0, (at - start.workload.queued).total_seconds()))
        if start.tier is Tier.ENTITLED or start.on_claim:
            self._entitled_waits.labels(group).observe(entitled.total_seconds())


class EvictionMetrics:
    """Evictions: of whom, why and for whom."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._number = Counter(
            "quotree_evictions", "Workloads evicted.", ["group", "reason", "rule"], registry=registry
        )
        self._for = Counter(
            "quotree_evictions_for",
            "Workloads of the giver evicted for one of the taker.",
            ["giver", "taker"],
            registry=registry,
        )
        self._runs = Histogram(
            "quotree_evicted_run_seconds",
            "How long evicted workloads had run.",
            ("group",),
            buckets=_RUNS,
            registry=registry,
        )
        self._by_scheduler = Counter(
            "quotree_pods_preempted_by_scheduler",
            "Pods of the group's workloads that kube-scheduler stopped for pods of a higher PriorityClass.",
            ("group",),
            registry=registry,
        )
        self._pairs: set[tuple[str, str]] = set()

    def evicted(self, evict: Evict, at: datetime, taker: str | None) -> None:
        """Count an eviction decided at `at`; `taker`: the group of the preemptor."""
        giver, admission = evict.workload.group, evict.workload.admission
        self._number.labels(giver, evict.reason.value, evict.rule.value).inc()
        if admission is not None:
            self._runs.labels(giver).observe(max(0.0, (at - admission.since).total_seconds()))
        if taker is not None:
            self._for.labels(*self._pair(giver, taker)).inc()

    def preempted_by_scheduler(self, group: str, pods: int) -> None:
        """Count pods that kube-scheduler has stopped."""
        self._by_scheduler.labels(group).inc(pods)

    def _pair(self, giver: str, taker: str) -> tuple[str, str]:
        if (giver, taker) not in self._pairs:
            if len(self._pairs) >= PAIRS:
                return (OTHERS, OTHERS)
            self._pairs.add((giver, taker))
        return (giver, taker)


class WriteMetrics:
    """Writes of decisions, and which of them are not seen yet."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._number = Counter("quotree_writes", "Decisions written.", ["what", "fate"], registry=registry)
        self._seconds = Histogram(
            "quotree_write_seconds",
            "From the beginning of a write to the API server's answer.",
            ("what",),
            buckets=_SECONDS,
            registry=registry,
        )
        self.assumptions = Gauge("quotree_assumptions", "Writes under way or not yet seen.", registry=registry)

    def wrote(self, what: str, fate: str, seconds: float) -> None:
        """Count a finished write and its duration."""
        name = what.removeprefix("quotree.dev/")
        self._number.labels(name, fate).inc()
        self._seconds.labels(name).observe(seconds)


class CycleMetrics:
    """Decision cycles, and how old the changes are that they look at."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._seconds = Histogram(
            "quotree_cycle_seconds", "How long a decision cycle took.", buckets=_SECONDS, registry=registry
        )
        self._since_change = Histogram(
            "quotree_decision_seconds",
            "From the first change that a cycle had to look at to the end of that cycle.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._idle = Counter(
            "quotree_cycles_idle", "Cycles in which nothing had changed and nothing was decided.", registry=registry
        )

    def cycled(self, took: timedelta, since_change: float) -> None:
        """Record the duration of a decision cycle, and the age of the oldest change that it included."""
        self._seconds.observe(took.total_seconds())
        self._since_change.observe(since_change)

    def cycled_idle(self) -> None:
        """Count a cycle that changed nothing."""
        self._idle.inc()


class ReconcilerMetrics:
    """All counters and histograms, and the groups' numbers as of the last snapshot."""

    def __init__(self, registry: CollectorRegistry, faults: Faults) -> None:
        self.groups = GroupCollector(faults)
        registry.register(self.groups)
        self.starts = StartMetrics(registry)
        self.evictions = EvictionMetrics(registry)
        self.writes = WriteMetrics(registry)
        self.cycles = CycleMetrics(registry)
        self.recording = RecordingMetrics(registry)

    def entitled_wait(self, workload: Workload, now: datetime) -> timedelta:
        """Return how long a workload that is started now has been entitled; called before the next cycle."""
        return self.groups.entitled.waited(workload, now)
