"""Victims as decisions: the claim, the place in the queue, and the sentence that each eviction carries."""

from shared.quota.decide.decisions import Evict, EvictionRule
from shared.quota.decide.reclaim.requeue import requeue
from shared.quota.decide.state.cycle_state import CycleState, Victim
from shared.quota.model.workload import Claim

_BECAUSE = {
    EvictionRule.RECLAIM: "group {leaf!r} is over its runtime of {key}, which {preemptor} is entitled to",
    EvictionRule.PREEMPTION: "{preemptor} of the same group has higher priority and is entitled to its room",
    EvictionRule.SWAP: "{preemptor} of the same group has higher priority and takes its place",
    EvictionRule.STRICT: "group {leaf!r} is over its runtime of {key}, and reclaim is Strict there",
    EvictionRule.CEILING: "group {group!r} uses more of {key} than its ceiling",
    EvictionRule.CAPACITY: "the cluster has less of {key} than is used",
    EvictionRule.STARTUP_TIMEOUT: "its pods were not ready in time",
    EvictionRule.RECOVERY_TIMEOUT: "its pods were not ready again in time",
    EvictionRule.STOP_POLICY: "group {group!r} is stopped and drained",
}


def decide_evictions(cycle: CycleState) -> tuple[Evict, ...]:
    """All evictions of the cycle: those without a preemptor first."""
    return tuple(_evict(cycle, victim) for victim in (*cycle.forced, *cycle.victims))


def _evict(cycle: CycleState, victim: Victim) -> Evict:
    age, startup = cycle.snapshot.world.settings.queue_age, victim.leaf_usage.leaf.startup
    return Evict(
        workload=victim.workload,
        reason=victim.reason,
        rule=victim.rule,
        requeue=requeue(victim.workload, victim.rule, startup, age, cycle.now),
        claim=_claim(cycle, victim),
        message=message_for(victim),
    )


def _claim(cycle: CycleState, victim: Victim) -> Claim | None:
    preemptor = victim.preemptor
    if preemptor is None:
        return None
    workload = preemptor.workload
    return Claim(workload.key, workload.uid, preemptor.flavors, cycle.now, swap=preemptor.swaps)


def message_for(victim: Victim) -> str:
    """One sentence for the owner of the work: what happens, and by which rule."""
    workload = victim.workload
    preemptor = f"{victim.preemptor.workload.kind} {victim.preemptor.workload.key!r}" if victim.preemptor else "nobody"
    because = _BECAUSE[victim.rule].format(
        leaf=victim.leaf_usage.name, group=victim.group, key=victim.key, preemptor=preemptor
    )
    return f"{workload.kind} {workload.key!r} is stopped and queued again: {because}"
