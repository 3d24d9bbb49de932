"""How long the head of each queue has waited and why, and the same for skipped workloads.

See docs/specification.md §9.4.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import Final, NamedTuple

from shared.cluster.state.faults.register import Faults, Subject
from shared.quota.decide.decisions import Plan, WaitReason
from shared.quota.outlook.explain.pending_reasons import PendingReasons

_ASIDE: Final = 64
"""How many of a leaf's skipped workloads are checked."""


class QueueWait(NamedTuple):
    """Workloads of this leaf wait for this reason; `waited`: the longest time among them."""

    leaf: str
    reason: WaitReason
    waited: timedelta


def queue_waits(plan: Plan, now: datetime, faults: Faults) -> Iterator[QueueWait]:
    """For each leaf, the reason of the head of its queue and the reasons of skipped workloads.

    One reason is computed for each leaf, and none for the rest of a long queue.
    """
    reasons = PendingReasons.without_amounts(plan)
    started = {start.workload.id for start in plan.starts}
    for name, leaf in plan.end.snapshot.leaves.items():
        first = next((each for each in leaf.pending if each.id not in started), None)
        found: dict[WaitReason, timedelta] = {}
        for workload in (*(() if first is None else (first,)), *islice(leaf.aside, _ASIDE)):
            with faults.about(Subject(workload.kind, workload.key, workload.uid, name)):
                waiting = reasons.why(workload)
                if waiting is not None:
                    waited = now - workload.queued
                    found[waiting.reason] = max(found.get(waiting.reason, waited), waited)
        yield from (QueueWait(name, reason, waited) for reason, waited in found.items())
