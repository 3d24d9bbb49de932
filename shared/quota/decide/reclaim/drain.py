"""Unconditional evictions: from draining groups, of failed starts, and at the end of a run time.

Neither grace nor notice applies, but to the last, which was told before. Non preemptible workloads are evicted too,
unless a spent budget is what drains the group, but none whose start is not acknowledged yet. See
docs/specification.md §4.10, §7.14 and §8.2.
"""

from collections.abc import Iterable

from shared.quota.decide.decisions import EvictionRule
from shared.quota.decide.state.eviction_plan import EvictionPlan, Victim
from shared.quota.decide.state.leaf_usage import running_workload
from shared.quota.decide.state.pods_ready import AdmissionBlock, blocks_until, deadlines
from shared.quota.decide.state.round_usage import RoundUsage
from shared.quota.decide.waits import Waits
from shared.quota.measure.snapshot import LeafSnapshot
from shared.quota.model.lifecycle import is_drained, stops_at
from shared.quota.model.workload import EvictionReason, Workload


def stop_and_give_up(
    usage: RoundUsage, evictions: EvictionPlan, block: AdmissionBlock, waits: Waits, leaves: Iterable[str]
) -> None:
    """Decide these evictions first, and note which unready workloads keep blocking others."""
    for leaf in map(usage.snapshot.leaves.__getitem__, sorted(leaves)):
        for workload, reason, rule in _going(usage, leaf, waits):
            if workload.is_answered and workload.id not in usage.leaf(leaf.group.name).running.evicted_now:
                leaf_usage, running = usage.leaf(leaf.group.name), running_workload(workload)
                group = leaf.stopped_by if rule is EvictionRule.STOP_POLICY else leaf_usage.name
                usage.evict(leaf_usage, running)
                evictions.forced.append(Victim(running, leaf_usage, reason, rule, group))
        for workload in leaf.unready:
            until = blocks_until(workload, leaf.startup, usage.snapshot.world.watched_since)
            if until is not None and until > usage.now:
                block.hold_others_back(usage.leaf(leaf.group.name), workload)
                waits.wake(until)


def _going(
    usage: RoundUsage, leaf: LeafSnapshot, waits: Waits
) -> Iterable[tuple[Workload, EvictionReason, EvictionRule]]:
    """Yield the workloads to evict from this leaf, and when the next one is due."""
    for workload in leaf.admitted:
        if is_drained(leaf.stop, preemptible=workload.preemptible):
            yield workload, EvictionReason.GROUP_STOPPED, EvictionRule.STOP_POLICY
    for workload, end in leaf.ending:
        if is_drained(leaf.stop, preemptible=workload.preemptible):
            continue
        at = stops_at(workload, end, usage.now)
        if at <= usage.now:
            yield workload, EvictionReason.OVER_TIME, EvictionRule.RUN_TIME
        else:
            waits.wake(at)
    for workload, until, rule in deadlines(leaf, usage.snapshot.world.watched_since):
        if is_drained(leaf.stop, preemptible=workload.preemptible):
            continue
        if until <= usage.now:
            yield workload, EvictionReason.PODS_READY_TIMEOUT, rule
        else:
            waits.wake(until)
