"""A shortage says how much is requested, left and allowed."""

from shared.quota.decide.state.leaf_usage import LeafUsage
from shared.quota.measure.snapshot import measure
from shared.quota.outlook.explain.shortage import beyond_min, beyond_runtime
from tests.builders import NOW, running, world
from tests.trees import KEY


def test_shortage_of_runtime_counts_what_the_leaf_uses() -> None:
    snapshot = measure(world("root 9\n a 4", [running("a", 3, "x")]), NOW)
    runtime = snapshot.numbers["a"][KEY].runtime

    found = beyond_runtime(LeafUsage(snapshot.leaves["a"], snapshot.numbers["a"]), ((KEY, runtime),))

    assert found is not None
    assert (found.missing, found.asked, found.available, found.limit) == (3, runtime, runtime - 3, runtime)


def test_shortage_of_effective_min_counts_what_is_not_preemptible() -> None:
    snapshot = measure(world("root 9\n a 4", [running("a", 3, "firm", preemptible=False), running("a", 2, "x")]), NOW)

    found = beyond_min(LeafUsage(snapshot.leaves["a"], snapshot.numbers["a"]), ((KEY, 5),))

    assert found is not None
    assert (found.missing, found.asked, found.available, found.limit) == (4, 5, 1, 4)
