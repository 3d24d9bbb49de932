"""A shortage says how much is requested, left and allowed."""

from shared.quota.decide.state.leaf_usage import LeafUsage
from shared.quota.measure.snapshot import measure
from shared.quota.outlook.explain.pending_reasons import PendingReasons
from shared.quota.outlook.explain.shortage import Shortage, beyond_min, beyond_runtime
from shared.resources import FlavorResource
from tests.builders import NOW, pending, running, world
from tests.shared.quota.decide.plan_words import decide
from tests.trees import KEY


def test_shortage_of_runtime_counts_what_the_leaf_uses() -> None:
    snapshot = measure(world("root 9\n a 4", [running("a", 3, "x")]), NOW)
    runtime = snapshot.numbers["a"][KEY].runtime

    found = beyond_runtime(LeafUsage(snapshot.leaves["a"], snapshot.numbers["a"]), ((KEY, runtime),))

    assert found is not None
    assert (found.missing, found.asked, found.available, found.limit) == (3, runtime, runtime - 3, runtime)


def test_key_of_which_there_is_exactly_enough_is_not_among_what_binds() -> None:
    snapshot = measure(world("root 9\n a 4"), NOW)
    quantities = ((KEY, snapshot.numbers["a"][KEY].runtime + 1), (FlavorResource("t4", "memory"), 0))
    found = beyond_runtime(LeafUsage(snapshot.leaves["a"], snapshot.numbers["a"]), quantities)
    assert found is not None
    assert (found.key, found.missing, found.others) == (KEY, 1, ())


def test_shortage_of_effective_min_counts_what_is_not_preemptible() -> None:
    snapshot = measure(world("root 9\n a 4", [running("a", 3, "firm", preemptible=False), running("a", 2, "x")]), NOW)

    found = beyond_min(LeafUsage(snapshot.leaves["a"], snapshot.numbers["a"]), ((KEY, 5),))

    assert found is not None
    assert (found.missing, found.asked, found.available, found.limit) == (4, 5, 1, 4)


def test_every_limit_that_binds_is_named_in_the_condition_to_start() -> None:
    """Root lacks 3 and `a` 1: when 3 of b end, `a` still has no room."""
    work = [running("a", 1, "own"), running("b", 8, "base", preemptible=False), pending("a", 4, "new")]
    groups = "root 10\n  a 4..4\n  b 6"
    [found] = PendingReasons(decide(groups, work))
    assert found.message == (
        "Job 'ns/new' waits: group 'root' lacks 3 of default/gpu (request 4, free 1); "
        "runs when used falls to 6 and group 'a' has 1 more free; has no turn: the mins leave 2, it requests 4"
    )
    work[1:2] = [running("b", 5, "base", preemptible=False)]
    [found] = PendingReasons(decide(groups, work))
    assert found.message == (
        "Job 'ns/new' waits: group 'a' lacks 1 of default/gpu (request 4, free 3); runs when used falls to 0"
    )


def test_another_key_that_binds_is_named_with_its_amount() -> None:
    found = Shortage(3, "root", KEY, 4, 1, 10, others=(Shortage(2048, "a", FlavorResource("t4", "memory"), 1, 0, 4),))
    assert found.sentence.endswith("runs when used falls to 6 and group 'a' has 2Ki more of t4/memory free")
