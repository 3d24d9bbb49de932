"""Who comes first within a leaf and between leaves. docs/specification.md §6.7 and §6.9."""

import pytest

from shared.quota.model.flavor import Flavor
from tests.builders import after, claimed, evicting, pending, running
from tests.shared.quota.decide.plan_words import decide, starts, waits


def test_within_a_leaf_priority_comes_before_age() -> None:
    work = [
        pending("a", 1, "old", created=after(-9)),
        pending("a", 1, "new"),
        pending("a", 1, "urgent", priority=1),
    ]
    assert starts(decide("root 8\n  a 8", work)) == ["urgent entitled", "old entitled", "new entitled"]


QUEUE = [running("a", 2, "x"), pending("a", 8, "head", priority=1), pending("a", 2, "later")]


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        pytest.param("root 8\n  a 8\n  b 0", ["later entitled"], id="BestEffortFIFO: later ones pass"),
        pytest.param("root 8\n  a 8 strict\n  b 0", [], id="StrictFIFO: the head blocks"),
    ],
)
def test_waiting_head_blocks_its_leaf_only_in_a_strict_queue(groups: str, expected: object) -> None:
    work = [running("b", 2, "held", preemptible=False), *QUEUE]
    assert starts(decide(groups.replace("b 0", "b 2"), work)) == expected


def test_strict_head_that_could_never_fit_is_skipped() -> None:
    work = [pending("a", 9, "huge", priority=1), pending("a", 2, "later")]
    plan = decide("root 8\n  a 8 strict", work)
    assert (starts(plan), waits(plan)) == (["later entitled"], {"huge": "NeverFits"})


def test_a_strict_head_blocks_only_the_flavors_it_waits_for() -> None:
    groups = "a big:gpu 4 | small:gpu 4 strict"
    work = [
        running("a", 4, "x", "big", priority=2),
        pending("a", 4, "head", priority=1, only_flavor="big"),
        pending("a", 2, "blocked", only_flavor="big"),
        pending("a", 2, "passes"),
    ]
    plan = decide(groups, work, map(Flavor, ("big", "small")), capacity=(("big", "gpu", 4), ("small", "gpu", 4)))
    assert (starts(plan), waits(plan)) == (
        ["passes entitled small"],
        {"head": "WaitingForQuota", "blocked": "BehindHead"},
    )


def test_a_strict_head_that_waits_for_its_claim_blocks_those_behind_it() -> None:
    head = pending("a", 4, "head", priority=1)
    work = [head, claimed(evicting(running("b", 4, "victim")), head), pending("a", 1, "later"), running("b", 2, "b0")]
    plan = decide("root 8\n  a 8 strict\n  b 0", work)
    assert (starts(plan), waits(plan)["later"]) == ([], "BehindHead")


def test_workload_in_back_off_does_not_block_a_strict_leaf() -> None:
    work = [pending("a", 8, "head", priority=1, not_before=after(60)), pending("a", 2, "later")]
    plan = decide("root 8\n  a 8 strict", work)
    assert (starts(plan), plan.wake_at) == (["later entitled"], after(60))


def test_heads_within_effective_min_come_before_others() -> None:
    work = [
        running("a", 4, "a0"),
        pending("a", 2, "a1", created=after(-9)),
        pending("b", 2, "b1"),
    ]
    assert starts(decide("root 8\n  a 4\n  b 4", work)) == ["b1 entitled", "a1 entitled"]


def test_child_that_borrows_least_for_its_weight_comes_first() -> None:
    work = [
        running("a", 3, "a0"),
        running("b", 4, "b0"),
        pending("a", 1, "a1", created=after(-9)),
        pending("b", 1, "b1"),
    ]
    assert starts(decide("root 12\n  a 0 w1\n  b 0 w4", work)) == ["b1 entitled", "a1 entitled"]


def test_child_with_weight_0_comes_last() -> None:
    work = [pending("a", 1, "a1", created=after(-9)), pending("b", 1, "b1"), running("b", 5, "b0")]
    plan = decide("root 12\n  a 0 w0\n  b 0 w4", work)
    assert starts(plan) == ["b1 entitled", "a1 opportunistic"]


def test_tournament_runs_again_after_each_start() -> None:
    work = [pending(leaf, 1, f"{leaf}{number}") for leaf in "ab" for number in range(3)]
    assert starts(decide("root 12\n  a 0 w1\n  b 0 w1", work)) == [
        f"{leaf}{number} entitled" for number in range(3) for leaf in "ab"
    ]


def test_tournament_compares_from_the_top_of_the_tree() -> None:
    """b1 borrows nothing itself, but its parent borrows more than a does."""
    groups = "root 20\n  p/ 0 w1\n    b 0 w1\n    c 0 w1\n  a 0 w1"
    work = [
        running("c", 6, "c0"),
        running("a", 3, "a0"),
        pending("b", 1, "b1", created=after(-9)),
        pending("a", 1, "a1"),
    ]
    assert starts(decide(groups, work)) == ["a1 entitled", "b1 entitled"]


def test_ties_are_broken_by_age_then_name() -> None:
    work = [pending("b", 1, "b1", created=after(-9)), pending("a", 1, "a1"), pending("c", 1, "c1")]
    assert starts(decide("root 12\n  a 0 w1\n  b 0 w1\n  c 0 w1", work)) == [
        "b1 entitled",
        "a1 entitled",
        "c1 entitled",
    ]


def test_smaller_work_behind_a_strict_head_that_starts_follows_in_the_same_cycle() -> None:
    work = [pending("a", 4, "head", created=after(-9)), pending("a", 1, "small"), running("b", 3, "x")]
    assert starts(decide("root 8\n  p/ 0 w0\n    a 0 w0 strict\n  b 8", [*work, pending("b", 8, "b1")])) == [
        "head opportunistic",
        "small opportunistic",
    ]


def test_work_behind_a_strict_head_that_started_within_its_runtime_borrows_in_the_same_cycle() -> None:
    work = [pending("a", 4, "a0"), pending("a", 3, "a1"), pending("b", 7, "b0")]
    assert starts(decide("root 7\n  a 4..7 strict\n  b 3..7", work)) == ["a0 entitled", "a1 opportunistic"]


def test_work_behind_a_strict_head_with_a_claim_starts_in_another_flavor() -> None:
    flavors, capacity = (Flavor("x"), Flavor("y")), (("x", "gpu", 4), ("y", "gpu", 4))
    head = pending("a", 4, "head", created=after(-9))
    work = [
        evicting(running("b", 4, "leaves", "x"), head, flavor="x"),
        head,
        running("b", 2, "stays", "y"),
        pending("a", 1, "small", only_flavor="y"),
    ]
    groups = "p/ x:gpu 4 | y:gpu 0 w0\n  a x:gpu 4 | y:gpu 0 w0 strict\nb x:gpu 0 | y:gpu 4"
    assert starts(decide(groups, work, flavors, capacity=capacity)) == ["small opportunistic y"]
