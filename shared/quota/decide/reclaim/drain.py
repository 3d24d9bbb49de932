"""Workloads that are evicted whatever the quota says: in draining groups, and start-ups given up.

Neither grace nor notice, and not preemptible work as well; but nobody whose start is not answered yet.

See docs/specification.md §4.10 and §8.2.
"""

from shared.quota.decide.decisions import EvictionRule
from shared.quota.decide.state.cycle_state import CycleState, Victim
from shared.quota.decide.state.leaf_usage import running_workload
from shared.quota.decide.state.pods_ready import hold_others_back, overdue
from shared.quota.measure.snapshot import LeafSnapshot
from shared.quota.model.tree import StopPolicy
from shared.quota.model.workload import EvictionReason, Workload


def stop_and_give_up(cycle: CycleState) -> None:
    """Decide these evictions first, and note which work that is not ready yet goes on holding others back."""
    for leaf in map(cycle.snapshot.leaves.__getitem__, sorted(cycle.cache.urgent)):
        if leaf.stop is StopPolicy.HOLD_AND_DRAIN:
            for workload in leaf.admitted:
                _evict(cycle, leaf, workload, EvictionReason.GROUP_STOPPED, EvictionRule.STOP_POLICY)
        elif leaf.unready:
            for workload, rule in overdue(leaf, cycle):
                _evict(cycle, leaf, workload, EvictionReason.PODS_READY_TIMEOUT, rule)
        for workload in leaf.unready:
            hold_others_back(cycle, cycle.leaf_usage(leaf.group.name), workload)


def _evict(
    cycle: CycleState, leaf: LeafSnapshot, workload: Workload, reason: EvictionReason, rule: EvictionRule
) -> None:
    if not workload.is_answered:
        return
    leaf_usage = cycle.leaf_usage(leaf.group.name)
    victim = Victim(
        running_workload(workload),
        leaf_usage,
        reason,
        rule,
        leaf.stopped_by if rule is EvictionRule.STOP_POLICY else leaf_usage.name,
    )
    cycle.vacate(victim)
    cycle.forced.append(victim)
