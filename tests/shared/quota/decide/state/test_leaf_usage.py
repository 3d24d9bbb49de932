"""What a leaf's usage distinguishes: workloads that this cycle has started, and those that ran before."""

import pytest

from shared.quota.decide.state.leaf_usage import LeafUsage
from shared.quota.measure.snapshot import measure
from tests.builders import NOW, pending, running, world
from tests.trees import KEY


def test_workloads_that_this_cycle_has_started_are_not_among_those_that_ran_before() -> None:
    before, now = running("a", 1, "before"), running("a", 1, "now")
    fixed = running("a", 1, "fixed", preemptible=False)
    snapshot = measure(world("root 9\n a 4", [before, now, fixed]), NOW)
    usage = LeafUsage(snapshot.leaves["a"], snapshot.numbers["a"], started={now.id, fixed.id})
    assert [each.workload.key for each in usage.running.started_now] == ["ns/now"]
    assert [each.workload.key for each in usage.running.order(NOW).running] == ["ns/before"]


def test_least_important_of_those_that_use_a_key_is_one_of_them_also_if_started_now() -> None:
    cpu, gpu = running("a", {"cpu": 1}, "cpu"), running("a", 1, "gpu")
    snapshot = measure(world("root 9\n a 4", [cpu, gpu]), NOW)
    usage = LeafUsage(snapshot.leaves["a"], snapshot.numbers["a"], started={cpu.id, gpu.id})
    found = usage.running.least_important(KEY, NOW)
    assert found is not None
    assert found.workload.key == "ns/gpu"


def test_leaf_with_claims_up_to_its_runtime_is_not_below_it() -> None:
    snapshot = measure(world("root 4\n a 4", [running("a", 3)]), NOW)
    usage = LeafUsage(snapshot.leaves["a"], snapshot.numbers["a"])
    runtime = snapshot.numbers["a"][KEY].runtime
    usage.claimed[KEY] = runtime - 4
    assert usage.is_below_runtime(((KEY, 1),))
    usage.claimed[KEY] = runtime - 3
    assert not usage.is_below_runtime(((KEY, 1),))


@pytest.mark.parametrize("preemptible", [True, False])
def test_reservation_that_is_released_leaves_what_was_before(*, preemptible: bool) -> None:
    snapshot = measure(world("root 9\n a 4", [running("a", 2, "x", preemptible=False)]), NOW)
    usage, waiting = LeafUsage(snapshot.leaves["a"], snapshot.numbers["a"]), pending("a", 1, preemptible=preemptible)
    usage.reserve(((KEY, 1),), waiting)
    assert (usage.claimed[KEY], usage.non_preemptible[KEY]) == (1, 2 if preemptible else 3)
    usage.release(((KEY, 1),), waiting)
    assert (usage.claimed[KEY], usage.non_preemptible[KEY]) == (0, 2)
