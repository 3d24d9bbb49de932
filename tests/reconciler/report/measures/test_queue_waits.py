"""How long the first of each queue waits, and why; and those that are set aside."""

from datetime import timedelta

from reconciler.report.measures.queue_waits import QueueWait, queue_waits
from shared.cluster.state.faults.register import Faults
from shared.quota.decide.decisions import WaitReason
from shared.quota.decide.plan import plan
from shared.quota.measure.snapshot import measure
from shared.quota.outlook.explain.pending_reasons import PendingReasons
from tests.builders import NOW, after, pending, running, world

SECOND = timedelta(seconds=1)


def test_each_leaf_shows_its_head_and_the_reasons_of_skipped_workloads() -> None:
    workloads = [
        running("a", 4, "full"),
        running("b", 4, "too"),
        pending("a", 1, "first", queued=after(-50)),
        pending("a", 1, "second", queued=after(-40)),
        pending("a", 1, "asked", queued=after(-90), hold=True),
        pending("a", 1, "asked-too", queued=after(-80), hold=True),
        pending("b", 1, "failed", queued=after(-20), not_before=after(60)),
    ]
    decided = plan(measure(world("root 8\n  a 4\n  b 4\n  idle 0", workloads), NOW))
    assert sorted(queue_waits(decided, after(10), Faults())) == [
        QueueWait("a", WaitReason.HELD, 100 * SECOND),
        QueueWait("a", WaitReason.WAITING_FOR_QUOTA, 60 * SECOND),
        QueueWait("b", WaitReason.BACKING_OFF, 30 * SECOND),
    ]


def test_workload_started_in_this_cycle_is_not_listed() -> None:
    decided = plan(measure(world("root 8\n  a 4", [pending("a", 1, "starts")]), NOW))
    assert list(queue_waits(decided, NOW, Faults())) == []


def test_reasons_that_differ_only_in_amounts_are_equal() -> None:
    text = "root 8\n  a 8 l0\n  b 4\n  c 4"
    workloads = [running("b", 4, "r"), *(pending(each, 4, f"w-{each}") for each in "abc"), pending("c", 40, "huge")]
    decided = plan(measure(world(text, workloads), NOW))
    exact = [(each.workload.id, each.reason, each.binding) for each in PendingReasons(decided)]
    assert exact
    cheap = [(each.workload.id, each.reason, each.binding) for each in PendingReasons.without_amounts(decided)]
    assert cheap == exact
