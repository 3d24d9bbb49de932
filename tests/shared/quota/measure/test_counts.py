"""How many workloads of a subtree wait, run and are ready, as they come, start and end."""

from shared.api.quotagroup import WorkloadCounts
from shared.quota.measure.counts import Counts
from shared.quota.measure.snapshot import measure
from tests.builders import NOW, pending, running, world


def test_counts_follow_each_leaf_that_changes() -> None:
    counts, waiting, started = Counts(), pending("a", 1, "x"), running("a", 1, "x")
    seen = world("root 8\n  p/ 8\n    a 4\n    b 4", [waiting, running("b", 1, "other")])
    assert counts.below(measure(seen, NOW), "p") == WorkloadCounts(pending=1, admitted=1, ready=1)
    seen = seen.with_changes([(waiting, started)])
    assert counts.below(measure(seen, NOW), "p") == WorkloadCounts(pending=0, admitted=2, ready=2)
    seen = seen.with_changes([(started, None)])
    assert counts.below(measure(seen, NOW), "p") == WorkloadCounts(pending=0, admitted=1, ready=1)
    assert counts.below(measure(seen, NOW), "a") == WorkloadCounts()
