"""What the reconciler counts: whose workload made room for whom, and how long things took."""

from datetime import timedelta

from prometheus_client import CollectorRegistry

from reconciler.report.metrics import OTHERS, PAIRS, ReconcilerMetrics
from shared.cluster.state.faults.register import Faults
from shared.quota.decide.decisions import Evict, EvictionRule, Requeue, Start, Tier
from shared.quota.model.workload import EvictionReason
from tests.builders import NOW, after, pending, running


def eviction(group: str) -> Evict:
    victim = running(group, 1, "victim", since=after(-45))
    return Evict(victim, EvictionReason.RECLAIMED, EvictionRule.RECLAIM, Requeue(NOW))


def test_eviction_metrics_have_giver_taker_and_run_time() -> None:
    registry = CollectorRegistry()
    metrics = ReconcilerMetrics(registry, Faults())
    metrics.evictions.evicted(eviction("b"), NOW, "a")
    metrics.evictions.evicted(eviction("b"), NOW, None)
    read = registry.get_sample_value
    assert read("quotree_evictions_for_total", {"giver": "b", "taker": "a"}) == 1
    assert read("quotree_evicted_run_seconds_bucket", {"group": "b", "le": "10.0"}) == 0
    assert read("quotree_evicted_run_seconds_bucket", {"group": "b", "le": "60.0"}) == 2
    assert read("quotree_evicted_run_seconds_sum", {"group": "b"}) == 90


def test_pods_that_kube_scheduler_stopped_are_counted_by_group() -> None:
    registry = CollectorRegistry()
    metrics = ReconcilerMetrics(registry, Faults())
    metrics.evictions.preempted_by_scheduler("b", 3)
    metrics.evictions.preempted_by_scheduler("b", 1)
    assert registry.get_sample_value("quotree_pods_preempted_by_scheduler_total", {"group": "b"}) == 4


def test_number_of_giver_and_taker_pairs_is_bounded() -> None:
    registry = CollectorRegistry()
    metrics = ReconcilerMetrics(registry, Faults())
    for number in range(PAIRS + 3):
        metrics.evictions.evicted(eviction("b"), NOW, f"taker-{number}")
    metrics.evictions.evicted(eviction("b"), NOW, "taker-0")
    read = registry.get_sample_value
    assert read("quotree_evictions_for_total", {"giver": OTHERS, "taker": OTHERS}) == 3
    assert read("quotree_evictions_for_total", {"giver": "b", "taker": "taker-0"}) == 2


def test_start_observes_wait_time_and_entitled_time() -> None:
    registry = CollectorRegistry()
    metrics = ReconcilerMetrics(registry, Faults())
    waited = pending("a", 1, "waited", queued=after(-100))
    metrics.starts.started(Start(waited, {}, Tier.ENTITLED), NOW, timedelta(seconds=4), 0.02)
    metrics.starts.started(Start(waited, {}, Tier.OPPORTUNISTIC), NOW, timedelta(), 0.02)
    read = registry.get_sample_value
    assert read("quotree_wait_seconds_sum", {"group": "a", "tier": "entitled"}) == 100
    assert read("quotree_wait_seconds_sum", {"group": "a", "tier": "opportunistic"}) == 100
    assert read("quotree_entitled_wait_seconds_count", {"group": "a"}) == 1
    assert read("quotree_entitled_wait_seconds_sum", {"group": "a"}) == 4
