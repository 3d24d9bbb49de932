"""How many workloads wait for which reason: counted a little at a time, summed over subtrees."""

from reconciler.report.measures.wait_counts import WaitCounts
from shared.cluster.state.faults.register import Faults
from shared.quota.decide.plan import plan
from shared.quota.measure.snapshot import measure
from tests.builders import NOW, pending, running, world

TREE = """
    root 4
      p 4
        a 4
        b 0 hold
      c 0
"""
WORK = [
    running("a", 3, "runs"),
    pending("a", 2, "waits"),
    pending("a", 3, "waits-too"),
    pending("a", 9, "never"),
    pending("a", 1, "held", hold=True),
    pending("b", 1, "stopped"),
    pending("c", 2, "waits-elsewhere"),
]


def test_workloads_are_counted_by_reason_over_the_whole_subtree() -> None:
    counts, decided = WaitCounts(), plan(measure(world(TREE, WORK), NOW))
    counting = counts.count(decided, Faults())
    for _ in range(3):
        next(counting)
    was_complete = counts.is_complete
    assert sum(1 for _ in counting) == len(WORK) - 1 - 3  # once for each that waits
    tree = decided.end.snapshot.world.tree
    assert (was_complete, counts.is_complete) == (False, True)
    assert counts.below(tree, "a") == {"Held": 1, "NeverFits": 1, "WaitingForQuota": 2}
    assert counts.below(tree, "p") == {"GroupStopped": 1, "Held": 1, "NeverFits": 1, "WaitingForQuota": 2}
    assert counts.below(tree, "root") == {"GroupStopped": 1, "Held": 1, "NeverFits": 1, "WaitingForQuota": 3}


def test_leaf_that_is_gone_is_not_counted_any_more() -> None:
    counts = WaitCounts()
    for work in (WORK, []):
        decided = plan(measure(world(TREE, work), NOW))
        for _ in counts.count(decided, Faults()):
            pass
    assert counts.below(decided.end.snapshot.world.tree, "root") == {}
