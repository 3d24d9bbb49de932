"""Prometheus metrics of the reconciler: every number of every group, decisions, writes and durations.

Group names and reasons are labels; names of Jobs never are.

See docs/specification.md §9.4.
"""

from collections.abc import Iterator
from datetime import timedelta

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from shared.quota.decide.decisions import Evict, Start
from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.tree import Tree

_NUMBERS = {
    "min": "Reserved for the group, as written.",
    "effective_min": "min, scaled down where the siblings' mins exceed what their parent can provide.",
    "guarantee": "Kept for the group even while idle.",
    "ceiling": "Never more than this.",
    "weight": "Share of what is left over.",
    "request": "Used, plus pending workloads that count.",
    "used": "Requests of admitted workloads, until their pods have ended.",
    "non_preemptible": "The part of used that cannot be preempted.",
    "charge": "What the group costs its parent.",
    "demand": "request, at least the guarantee, at most the ceiling.",
    "runtime": "What the group may use now.",
    "borrowed": "Used above min.",
    "lendable": "The part of min that others may use now.",
}
_KEYS = ("group", "path", "flavor", "resource")
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.06, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class ReconcilerMetrics:
    """All counters and histograms, and the groups' numbers as of the last snapshot."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.groups = GroupNumbersCollector()
        registry.register(self.groups)
        self._starts = Counter("quotree_starts", "Workloads started.", ["group", "tier"], registry=registry)
        self._evictions = Counter(
            "quotree_evictions", "Workloads evicted.", ["group", "reason", "rule"], registry=registry
        )
        self._writes = Counter("quotree_writes", "Decisions written.", ["what", "fate"], registry=registry)
        self._cycles = Histogram(
            "quotree_cycle_seconds", "How long a decision cycle took.", buckets=_SECONDS, registry=registry
        )
        self._start_seconds = Histogram(
            "quotree_start_seconds",
            "From the decision to start work to its written start.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._idle_cycles = Counter(
            "quotree_cycles_idle", "Cycles in which nothing had changed and nothing was decided.", registry=registry
        )
        self.assumptions = Gauge("quotree_assumptions", "Writes under way or not yet seen.", registry=registry)

    def started(self, start: Start, seconds: float) -> None:
        """Count a start; `seconds` is how long its write took."""
        self._starts.labels(start.workload.group, start.tier.value).inc()
        self._start_seconds.observe(seconds)

    def evicted(self, evict: Evict) -> None:
        """Count an eviction."""
        self._evictions.labels(evict.workload.group, evict.reason.value, evict.rule.value).inc()

    def wrote(self, what: str, fate: str) -> None:
        """Count a finished write."""
        self._writes.labels(what.removeprefix("quotree.dev/"), fate).inc()

    def cycled(self, took: timedelta) -> None:
        """Record the duration of a decision cycle."""
        self._cycles.observe(took.total_seconds())

    def cycled_idle(self) -> None:
        """Count a cycle that changed nothing."""
        self._idle_cycles.inc()


class GroupNumbersCollector(Collector):
    """The numbers of the arithmetic, read from the last snapshot at each scrape."""

    def __init__(self) -> None:
        self.snapshot: Snapshot | None = None

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """One family per number, and the pending, admitted and evicting workloads of each leaf."""
        if self.snapshot is None:
            return
        yield from _numbers(self.snapshot)
        yield from _counts(self.snapshot)
        inactive = GaugeMetricFamily("quotree_group_inactive", "Nothing new starts here.", labels=["group", "reason"])
        for name, why in self.snapshot.inactive.items():
            inactive.add_metric([name, why.reason], 1)
        yield inactive


def _numbers(snapshot: Snapshot) -> Iterator[GaugeMetricFamily]:
    for name, words in _NUMBERS.items():
        family = GaugeMetricFamily(f"quotree_group_{name}", f"{words} In base units.", labels=_KEYS)
        for group, numbers in snapshot.numbers.items():
            path = path_of(snapshot.world.tree, group)
            for key, number in numbers.items():
                family.add_metric([group, path, key.flavor, key.resource], getattr(number, name))
        yield family


def _counts(snapshot: Snapshot) -> Iterator[GaugeMetricFamily]:
    family = GaugeMetricFamily("quotree_group_workloads", "Workloads by state.", labels=["group", "path", "state"])
    for group, leaf in snapshot.leaves.items():
        path = path_of(snapshot.world.tree, group)
        family.add_metric([group, path, "pending"], len(leaf.pending) + len(leaf.aside))
        family.add_metric([group, path, "admitted"], len(leaf.admitted))
        family.add_metric([group, path, "evicting"], len(leaf.evicting))
    yield family


def path_of(tree: Tree, group: str) -> str:
    """The group's names from root down, such as root/research/vision."""
    return "/".join(reversed(tree.path(group))) or group
