"""Victims as decisions: the claim, the queue place, and the message of each eviction."""

from datetime import datetime
from typing import Final

from shared.api.durations import write_duration
from shared.quota.decide.decisions import Evict, EvictionRule
from shared.quota.decide.queue.requeue import requeue
from shared.quota.decide.state.eviction_plan import EvictionPlan, Victim
from shared.quota.measure.snapshot import LeafSnapshot
from shared.quota.model.lifecycle import RunTimeLimit, run_end
from shared.quota.model.settings import QueueAge
from shared.quota.model.tree import StopPolicy
from shared.quota.model.workload import Claim, Workload

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
_GONE = frozenset({"Pod", "PodGroup"})
"""Kinds of which nothing is left that could be resumed."""
_STOP_OF_BUDGET: Final = StopPolicy.HOLD_AND_DRAIN_PREEMPTIBLE
_SPENT: Final = "group {group!r} has spent a budget with whenSpent Drain"


def decide_evictions(evictions: EvictionPlan, age: QueueAge, now: datetime) -> tuple[Evict, ...]:
    """Return all evictions of the cycle: those without a preemptor first."""
    return tuple(_evict(victim, age, now) for victim in (*evictions.forced, *evictions.victims))


def _evict(victim: Victim, age: QueueAge, now: datetime) -> Evict:
    return Evict(
        workload=victim.workload,
        reason=victim.reason,
        rule=victim.rule,
        requeue=requeue(victim.workload, victim.rule, victim.leaf_usage.leaf.startup, age, now),
        claim=_claim(victim, now),
        message=message_for(victim),
    )


def _claim(victim: Victim, now: datetime) -> Claim | None:
    preemptor = victim.preemptor
    if preemptor is None:
        return None
    workload = preemptor.workload
    swap, group = preemptor.swaps, workload.group
    return Claim(workload.key, workload.uid, preemptor.flavors, now, swap=swap, preemptor_group=group)


def message_for(victim: Victim) -> str:
    """Return a message for the owner of the workload: what happens, and by which rule."""
    workload = victim.workload
    if victim.rule is EvictionRule.RUN_TIME:
        return end_message(workload, victim.leaf_usage.leaf)
    preemptor = victim.preemptor.workload.named_for(workload) if victim.preemptor else "nobody"
    is_spent = victim.rule is EvictionRule.STOP_POLICY and victim.leaf_usage.leaf.stop is _STOP_OF_BUDGET
    because = (_SPENT if is_spent else _BECAUSE[victim.rule]).format(
        leaf=victim.leaf_usage.name, group=victim.group, key=victim.key, preemptor=preemptor
    )
    return f"{workload.kind} {workload.key!r} is stopped and queued again: {because}"


def end_message(workload: Workload, leaf: LeafSnapshot) -> str:
    """Return a message for the owner of a workload whose run time is over."""
    end = run_end(workload, leaf.run_time, leaf.reclaim.notice)
    limit = "" if end is None else f": {limit_text(end.limit)}"
    again = "" if workload.kind in _GONE else "; it is queued again when its owner resumes it"
    return f"{workload.kind} {workload.key!r} is stopped for good{limit}{again}"


def limit_text(limit: RunTimeLimit) -> str:
    """Return who says how long the workload may run."""
    time = write_duration(limit.time)
    return f"group {limit.group!r} lets it run for {time}" if limit.group else f"it declares a run time of {time}"
