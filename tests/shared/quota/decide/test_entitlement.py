"""Who is entitled, who borrows, and what counts as used when that is judged. docs/specification.md §6.3 and §6.4."""

from dataclasses import replace
from datetime import timedelta

import pytest

from shared.quota.model.flavor import Flavor
from shared.quota.model.tree import Preemption, WhenCanBorrow
from shared.quota.model.workload import Workload
from tests.builders import after, claimed, evicting, pending, running
from tests.shared.quota.decide.plan_words import decide, started_and_evicted, starts, waits
from tests.trees import tree

TWO = "root 8\n  a 4\n  b 4"


def test_workload_within_the_runtime_of_its_leaf_is_entitled_and_starts() -> None:
    assert starts(decide(TWO, [pending("a", 4, "a1"), pending("b", 4, "b1")])) == ["a1 entitled", "b1 entitled"]


def test_workload_beyond_runtime_borrows_room_without_entitled_demand() -> None:
    plan = decide(TWO, [running("a", 4, "a0"), running("b", 2, "b0"), pending("a", 2, "a1"), pending("b", 4, "b1")])
    assert starts(plan) == ["a1 opportunistic"]


def test_entitled_workloads_are_tried_before_borrowing_ones() -> None:
    work = [pending("a", 3, "a1", priority=9), pending("a", 3, "a2", priority=9), pending("b", 4, "b1")]
    assert starts(decide(TWO, work)) == ["a1 entitled", "b1 entitled"]


def test_workload_without_a_request_starts_at_once() -> None:
    assert starts(decide(TWO, [running("a", 8, "a0"), pending("a", {}, "a1")])) == ["a1 entitled"]


def test_lower_priority_use_of_the_leaf_does_not_reduce_entitlement() -> None:
    plan = decide(TWO, [running("a", 4, "low"), pending("b", 2, "b1"), pending("a", 2, "high", priority=1)])
    assert starts(plan) == ["b1 entitled", "high entitled"]


CONTENDED = "root 12\n  a 4 w0\n  b 4"
"""b waits for 8 more, which are not there, so that runtime(a) is 4 while 4 are free."""
OTHERS = [running("b", 4, "b0"), pending("b", 8, "b1")]
NEW = pending("a", 4, "new", priority=1)


@pytest.mark.parametrize(
    ("occupant", "tier"),
    [
        pytest.param(running("a", 4, "x"), "entitled", id="lower priority"),
        pytest.param(running("a", 4, "x", priority=1), "opportunistic", id="equal priority"),
        pytest.param(running("a", 4, "x", preemptible=False), "opportunistic", id="not preemptible"),
        pytest.param(evicting(running("a", 4, "x")), "opportunistic", id="being evicted"),
    ],
)
def test_use_that_cannot_be_preempted_reduces_entitlement(occupant: Workload, tier: str) -> None:
    assert starts(decide(CONTENDED, [occupant, *OTHERS, NEW])) == [f"new {tier}"]


def test_lower_priority_use_reduces_entitlement_where_preemption_is_never() -> None:
    found = tree(CONTENDED)
    never = found.with_group(replace(found["a"], preemption=Preemption.NEVER))
    assert starts(decide(never, [running("a", 4, "x"), *OTHERS, NEW])) == ["new opportunistic"]


def test_claim_counts_as_use_of_the_leaf_of_its_preemptor() -> None:
    preemptor = pending("a", 4, "preemptor")
    work = [
        preemptor,
        claimed(evicting(running("b", 4, "victim")), preemptor),
        pending("a", 4, "later"),
        running("b", 4, "b0"),
    ]
    assert started_and_evicted(decide(TWO, work)) == ([], [])


def test_room_of_pending_evictions_is_neither_free_nor_borrowed() -> None:
    victim = evicting(running("a", 4, "victim"))
    plan = decide(TWO, [victim, running("a", 2, "a0"), pending("a", 4, "a1"), pending("b", 4, "b1")])
    assert (started_and_evicted(plan), waits(plan)) == (
        ([], []),
        {"a1": "WaitingForQuota", "b1": "WaitingForEvictions"},
    )


def test_only_requested_keys_are_checked() -> None:
    found = tree("root default:cpu 8 default:memory 8\n  a default:cpu 8 default:memory 0..4")
    work = [running("a", {"memory": 6}, "m"), pending("a", {"cpu": 4}, "c")]
    assert starts(decide(found, work, capacity=(("default", "cpu", 8), ("default", "memory", 8)))) == ["c entitled"]


def test_full_root_delays_a_leaf_within_its_min_until_room_is_free() -> None:
    plan = decide(TWO, [running("a", 8, "a0", preemptible=False), pending("b", 4, "b1")])
    assert (started_and_evicted(plan), waits(plan)) == (([], []), {"b1": "WaitingForQuota"})


def test_delayed_room_is_reserved_from_borrowers() -> None:
    work = [running("a", 7, "a0"), pending("b", 4, "b1"), pending("a", 1, "a1")]
    plan = decide(TWO, work, grace_period=timedelta(minutes=5))
    assert (started_and_evicted(plan), waits(plan)) == (([], []), {"a1": "RoomKeptForOthers", "b1": "RoomDelayed"})


def test_preemptor_that_no_plan_can_serve_reserves_nothing() -> None:
    work = [running("a", 6, "a0", preemptible=False), pending("b", 4, "b1"), pending("a", 2, "a1")]
    assert starts(decide(TWO, work)) == ["a1 opportunistic"]


def test_entitled_work_that_finds_no_room_to_borrow_reclaims_its_own_one_after_another() -> None:
    """Both would rather borrow in x, which an older one takes; then both of those that borrow in y go."""
    flavors, capacity = (Flavor("x"), Flavor("y")), (("x", "gpu", 8), ("y", "gpu", 8))
    groups = tree("a x:gpu 0 w0 | y:gpu 8\nc x:gpu 0 w0\no y:gpu 0 w0")
    groups = groups.with_group(replace(groups["a"], when_can_borrow=WhenCanBorrow.BORROW))
    work = [
        running("o", 4, "owes1", "y"),
        running("o", 4, "owes2", "y"),
        pending("c", 8, "older", created=after(-9)),
        pending("a", 4, "a1"),
        pending("a", 4, "a2"),
    ]
    plan = decide(groups, work, flavors, capacity=capacity)
    assert started_and_evicted(plan) == (
        ["older opportunistic x"],
        ["owes2 Reclaim for a1", "owes1 Reclaim for a2"],
    )


def test_entitled_work_starts_in_its_own_room_when_another_takes_what_it_would_borrow() -> None:
    flavors, capacity = (Flavor("x"), Flavor("y")), (("x", "gpu", 8), ("y", "gpu", 8))
    groups = tree("p/ x:gpu 0 w0 | y:gpu 8\n  a x:gpu 0 w0 | y:gpu 8\ne x:gpu 8")
    groups = groups.with_group(replace(groups["a"], when_can_borrow=WhenCanBorrow.BORROW))
    work = [pending("a", 8, "a1", created=after(-9)), pending("e", 8, "e1")]
    plan = decide(groups, work, flavors, capacity=capacity)
    assert starts(plan) == ["e1 entitled x", "a1 entitled y"]
