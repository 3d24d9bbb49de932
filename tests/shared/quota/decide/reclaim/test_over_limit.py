"""Over a ceiling: always recycled. Over what the cluster has left: where pods have no place.

See docs/specification.md §7.9 and §7.10.
"""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from shared.quota.decide.decisions import Plan
from shared.quota.decide.plan import plan
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import measure
from shared.quota.model.flavor import Flavor
from shared.quota.model.lifecycle import Inactive
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Entry, Group, Tree
from shared.quota.model.workload import Workload
from tests.builders import NOW, after, evicting, pending, running
from tests.shared.quota.decide.plan_words import decide, evictions, given, started_and_evicted
from tests.trees import KEY

EIGHT = (("default", "gpu", 8),)


@pytest.mark.parametrize(
    ("groups", "present", "expected"),
    [
        pytest.param("root 8\n  a 2..4", [running("a", 4, "x")], [], id="at the ceiling"),
        pytest.param(
            "root 20\n  p/ 6..6\n    a 0 w1\n    b 0 w1\n    c 2 l0",
            [
                *(running("a", 2, name, priority=5, since=after(since)) for name, since in (("x", 0), ("y", 1))),
                *(running("b", 2, name, priority=priority) for name, priority in (("low", 0), ("high", 9))),
            ],
            ["y Ceiling"],
            id="a parent at its max without the first victim: nobody else is looked at",
        ),
        pytest.param(
            "root 8\n  a 2..4",
            [running("a", 3, "x"), running("a", 2, "y", since=after(1))],
            ["y Ceiling"],
            id="a leaf over its max",
        ),
        pytest.param(
            "root 8\n  a 2 b1",
            [running("a", 3, "x"), running("a", 2, "y", since=after(1))],
            ["y Ceiling"],
            id="a leaf over min and borrowingLimit",
        ),
        pytest.param(
            "root 9\n  p/ 4..4\n    a 1\n    b 3",
            [running("a", 3, "x"), running("b", 3, "y", since=after(1))],
            ["x Ceiling"],
            id="a parent over its max: the leaf furthest over its runtime",
        ),
        pytest.param(
            "root 4\n  a 2\n  b 2",
            [running("a", 3, "x"), running("b", 2, "y")],
            ["x Ceiling"],
            id="root over its max: the leaf furthest over its runtime",
        ),
        pytest.param(
            "root 4\n  a 4 l0\n  b 0",
            [running("b", 4, "x")],
            [],
            id="judged by used, not by what is kept for the idle",
        ),
        pytest.param(
            "root 4\n  a 4",
            [running("a", 3, "firm", preemptible=False), running("a", 3, "y")],
            ["y Ceiling"],
            id="never what is not preemptible",
        ),
        pytest.param(
            "root 4\n  a 4",
            [
                running("a", 1, "small", since=after(1)),
                running("a", 4, "large"),
                running("a", 3, "old", since=after(-9)),
            ],
            ["large Ceiling"],
            id="never one more than needed",
        ),
    ],
)
def test_use_above_a_ceiling_is_evicted(groups: str, present: list[Workload], expected: list[str]) -> None:
    assert evictions(decide(groups, present)) == expected


def test_use_by_system_is_no_excess_but_reduces_capacity() -> None:
    work = [running("system", 2, "daemon"), running("a", 3, "x"), running("a", 2, "y", since=after(1), ready=False)]
    more = running("a", 2, "z", since=after(2), ready=False)
    found = [
        evictions(decide("a 4\nsystem", each, now=after(2), capacity=EIGHT, loss_grace_period=timedelta()))
        for each in (work, [*work, evicting(more)], [*work, more])
    ]
    assert found == [[], [], ["z Capacity"]]


def test_eviction_above_a_ceiling_respects_the_grace_period() -> None:
    work = [running("a", 3, "x"), running("a", 2, "y", since=after(1))]
    grace = timedelta(seconds=60)
    first = decide("root 8\n  a 2..4", work, grace_period=grace)
    later = decide("root 8\n  a 2..4", work, now=after(60), grace_period=grace, over_since=first.over_since)
    assert (started_and_evicted(first), first.over_since, first.wake_at, evictions(later)) == (
        ([], []),
        {("a", KEY): after(0)},
        after(60),
        ["y Ceiling"],
    )


def test_evicted_workload_waits_for_room_below_the_ceiling() -> None:
    plan = decide(
        "root 8\n  a 2..4", [running("a", 3, "x"), running("a", 2, "y", since=after(1)), pending("a", 1, "z")]
    )
    assert started_and_evicted(plan) == ([], ["y Ceiling"])


def test_least_important_workload_is_evicted_in_any_order_of_keys() -> None:
    """For cpu alone `high` would go, then `big`; as `high` cures gpu too, `low` would be spared."""
    leaf = Group("a", quotas=(Entry("default", max={"cpu": 2, "gpu": 4}),))
    world = World.of(
        Tree.of([leaf]),
        [Flavor("default")],
        [
            running("a", {"cpu": 1, "gpu": 4}, "high", priority=100),
            running("a", {"cpu": 4}, "big", priority=200),
            running("a", {"gpu": 4}, "low", priority=1),
        ],
        settings=QuotaSettings(capacity=(("default", "cpu", 20), ("default", "gpu", 20))),
    )
    assert evictions(plan(measure(world, NOW))) == ["low Ceiling", "big Ceiling"]


def lost(*work: Workload, groups: str = "a 4\nb 4", at: float = 600, over: float = 0, **fields: Any) -> Plan:
    """8 of capacity for all of this, so many seconds after NOW; over since so many."""
    since = {("root", KEY): after(over)}
    return decide(groups, work, now=after(at), capacity=EIGHT, over_since=since, **fields)


def unready_since(workload: Workload, seconds: float | None) -> Workload:
    assert workload.admission is not None
    since = None if seconds is None else after(seconds)
    admission = replace(workload.admission, ready=False, was_ready=True, unready_since=since)
    return replace(workload, admission=admission)


def test_lost_capacity_evicts_only_workloads_with_unplaced_pods() -> None:
    work = [
        running("a", 6, "runs", since=after(-9)),
        running("b", 4, "never ready", since=after(-9), ready=False),
        unready_since(running("a", 2, "lost a node", since=after(-9)), 0),
    ]
    assert evictions(lost(*work)) == ["never ready Capacity"]
    assert evictions(lost(*work, running("b", 4, "other", since=after(-8)))) == [
        "lost a node Capacity",
        "never ready Capacity",
    ]


def test_excess_over_a_ceiling_comes_before_lost_capacity() -> None:
    work = [running("a", 3, "first", ready=False), running("a", 3, "next"), running("a", 3, "last", since=after(1))]
    assert evictions(lost(*work, groups="a 4..7\nb 4")) == ["last Ceiling"]


def test_shortage_without_unplaced_pods_evicts_nothing() -> None:
    plan = lost(running("a", 6, "x"), running("b", 6, "y"))
    assert (started_and_evicted(plan), plan.wake_at) == (([], []), None)


def test_lost_capacity_evicts_the_least_important_and_no_more_than_needed() -> None:
    work = [running("a", 4, name, ready=False, priority=priority) for name, priority in (("x", 1), ("y", 0), ("z", 2))]
    assert evictions(lost(*work)) == ["y Capacity"]


@pytest.mark.parametrize(
    ("at", "over", "unready", "wakes"),
    [
        pytest.param(299, 0, -60, 300, id="the shortage is shorter than the grace"),
        pytest.param(300, 0, -60, None, id="both last for the grace"),
        pytest.param(599, 0, 300, 600, id="its pods lost their place later"),
        pytest.param(600, 0, 300, None, id="and have had none for the grace"),
        pytest.param(600, 0, None, 900, id="they have lost it just now"),
    ],
)
def test_lost_capacity_evicts_nothing_within_the_grace_period(
    at: float, over: float, unready: float | None, wakes: float | None
) -> None:
    work = unready_since(running("a", 9, "x", since=after(-99)), unready)
    plan = lost(work, at=at, over=over)
    if wakes is None:
        assert evictions(plan) == ["x Capacity"]
    else:
        assert (evictions(plan), plan.wake_at) == ([], after(wakes))


def test_workload_with_running_pods_is_evicted_only_for_an_entitled_preemptor() -> None:
    work = [running("a", 6, "x", since=after(-9)), running("a", 6, "y"), pending("b", 4, "owed")]
    assert evictions(lost(*work)) == ["y Reclaim for owed", "x Reclaim for owed"]


def test_use_above_the_max_of_root_is_evicted_even_with_running_pods() -> None:
    work = [running("a", 6, "x"), running("b", 4, "y", since=after(1))]
    assert evictions(decide("root 8\na 4\nb 4", work, capacity=(("default", "gpu", 20),))) == ["x Ceiling"]


def test_use_above_the_max_of_root_is_a_ceiling_also_for_a_group_with_the_same_limit() -> None:
    work = [running("a", 6, "x"), running("a", 4, "y", since=after(1), ready=False)]
    groups, capacity = "root 8\n  p/ ..8\n    a 4", (("default", "gpu", 20),)
    assert evictions(decide(groups, work, now=after(9), capacity=capacity, loss_grace_period=timedelta())) == [
        "y Ceiling"
    ]


def test_use_that_is_being_evicted_is_no_excess() -> None:
    plan = decide("root 8\n  a 4\n  b 4", [running("a", 8, "x"), evicting(running("b", 2, "leaves"))])
    assert (started_and_evicted(plan), plan.over_since) == (([], []), {("a", KEY): NOW})


def test_group_that_is_not_under_root_is_over_no_limit() -> None:
    """What runs there continues."""
    plan = decide("root 8\n  b 4\na 1..1 ^late", [running("a", 4, "x"), running("b", 4, "y")])
    assert (started_and_evicted(plan), plan.over_since) == (([], []), {})


def test_use_of_an_inactive_group_is_evicted_for_no_limit_above_it() -> None:
    """What runs there continues (docs/specification.md §4.12), and nobody goes for `system`, which has no leaf."""
    work = [running("a", 6, "x"), running("b", 4, "y"), running("system", 1, "daemon")]
    usual = given("root 8\n  a 4\n  b 4\n  system", work)
    inactive = {"a": Inactive("MinExceedsParent", "")}
    found = [evictions(plan(measure(each, NOW))) for each in (usual, replace(usual, inactive=inactive))]
    assert found == [["x Ceiling"], ["y Ceiling"]]


def test_victim_of_lost_capacity_that_is_not_needed_stays_also_beside_system() -> None:
    """z goes first and is too small; without y it may stay."""
    late = [running("a", 2, "y", since=after(1), ready=False), running("a", 1, "z", since=after(2), ready=False)]
    work = [running("system", 2, "daemon"), running("a", 5, "x"), *late]
    plan = decide("a 4\nsystem", work, now=after(2), capacity=EIGHT, loss_grace_period=timedelta())
    assert evictions(plan) == ["y Capacity"]
