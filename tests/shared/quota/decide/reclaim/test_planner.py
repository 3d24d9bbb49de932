"""Room for an entitled preemptor: whose work goes, which, and never more than needed. docs/specification.md §7.2."""

from datetime import timedelta

import pytest

from shared.quota.model.flavor import Flavor
from shared.quota.model.workload import Claim, Workload
from shared.quota.outlook.simulate.run import run
from shared.resources import FlavorResource
from tests.builders import NOW, after, evicting, in_main, pending, running
from tests.shared.quota.decide.plan_words import decide, evictions, given, started_and_evicted, waits
from tests.trees import KEY

CPU = FlavorResource("default", "cpu")
TWO = "root 8\n  a 4\n  b 4"


def test_borrowing_workload_is_evicted_for_an_entitled_preemptor() -> None:
    plan = decide(TWO, [running("a", 4, "a0"), running("a", 4, "a1"), pending("b", 4, "b1")])
    [victim] = plan.evictions
    assert (started_and_evicted(plan), victim.claim) == (
        ([], ["a1 Reclaim for b1"]),
        Claim("ns/b1", "b1", in_main({"gpu": "default"}), NOW, preemptor_group="b"),
    )


def test_no_more_is_evicted_than_the_preemptor_needs() -> None:
    work = [running("a", 2, f"a{number}", since=after(number)) for number in range(4)]
    assert evictions(decide(TWO, [*work, pending("b", 2, "b1")])) == ["a3 Reclaim for b1"]


def test_nothing_is_evicted_unless_the_preemptor_then_fits() -> None:
    work = [running("a", 2, "a0"), running("a", 6, "firm", preemptible=False), pending("b", 4, "b1")]
    assert started_and_evicted(decide(TWO, work)) == ([], [])


def test_limits_on_the_path_are_checked_before_any_eviction() -> None:
    groups = "root 8\n  p/ 4..4\n    b 4\n    c 0\n  a 4"
    work = [running("c", 3, "c0", preemptible=False), running("a", 5, "a0"), pending("b", 4, "b1")]
    assert started_and_evicted(decide(groups, work)) == ([], [])


@pytest.mark.parametrize(
    ("running_work", "expected"),
    [
        pytest.param(
            [running("a", 2, "old", since=after(-9)), running("a", 2, "late", since=after(-1)), running("a", 4, "a0")],
            ["a0 Reclaim for b1"],
            id="latest started first",
        ),
        pytest.param(
            [
                running("a", 2, "low", since=after(-9)),
                running("a", 2, "high", priority=1),
                running("a", 4, "a0", priority=1),
            ],
            ["low Reclaim for b1"],
            id="lowest priority first",
        ),
        pytest.param(
            [
                running("a", 2, "low", preemptible=False),
                running("a", 2, "high", priority=1),
                running("a", 4, "a0", priority=2),
            ],
            ["high Reclaim for b1"],
            id="never what is not preemptible",
        ),
        pytest.param(
            [running("a", 4, "late", since=after(-5)), running("a", 4, "old", since=after(-99))],
            ["old Reclaim for b1"],
            id="never within its exemption after start",
        ),
    ],
)
def test_least_important_workload_of_a_leaf_is_evicted_first(running_work: list[Workload], expected: list[str]) -> None:
    minimum = timedelta(seconds=30) if running_work[0].key == "ns/late" else timedelta()
    plan = decide(TWO, [*running_work, pending("b", 2, "b1")], exempt_after_start=minimum)
    assert evictions(plan) == expected


def test_nearest_groups_are_reclaimed_first() -> None:
    """Volcano's order: job B, in the preemptor's parent queue, before job C, below root."""
    groups = "root 12\n  a/ 6\n    a1 3\n    a2 3\n  c 3"
    first = decide(groups, [running("a2", 6, "B"), running("c", 6, "C"), pending("a1", 3, "A")])
    further = decide(groups, [running("a2", 3, "B"), running("c", 9, "C"), pending("a1", 3, "A")])
    assert (evictions(first), evictions(further)) == (["B Reclaim for A"], ["C Reclaim for A"])


def test_leaf_over_runtime_in_a_subtree_within_its_runtime_is_reclaimed_only_for_its_siblings() -> None:
    """x is over its runtime, but its parent is not: it owes its sibling, not the preemptor."""
    groups = "root 12\n  p/ 6\n    x 2\n    y 4\n  q 3\n  b 3"
    work = [running("x", 6, "x0"), running("q", 6, "q0"), pending("b", 3, "b1"), pending("y", 4, "y1")]
    plan = decide(groups, work)
    assert evictions(plan) == ["q0 Reclaim for b1", "x0 Reclaim for y1"]


def test_branch_furthest_over_for_its_weight_is_reclaimed_first() -> None:
    work = [running("a", 4, "a0"), running("c", 4, "c0"), pending("b", 2, "b1")]
    plan = decide("root 8\n  a 1 w1\n  b 4\n  c 1 w9", work)
    available = decide("root 8\n  a 1 w9\n  b 4\n  c 1 w0", work)
    assert (evictions(plan), evictions(available)) == (["a0 Reclaim for b1"], ["c0 Reclaim for b1"])


def test_leaf_is_exempt_until_over_runtime_for_the_grace_period() -> None:
    work = [running("a", 4, "a0"), running("a", 4, "a1"), pending("b", 4, "b1")]
    grace = timedelta(seconds=60)
    first = decide(TWO, work, grace_period=grace)
    assert (started_and_evicted(first), waits(first), first.over_since, first.wake_at) == (
        ([], []),
        {"b1": "RoomDelayed"},
        {("a", KEY): NOW},
        after(60),
    )
    later = decide(TWO, work, now=after(60), grace_period=grace, over_since=first.over_since)
    assert (evictions(later), later.over_since) == (["a1 Reclaim for b1"], {("a", KEY): NOW})


def test_grace_period_is_one_of_each_key() -> None:
    work = [
        running("a", {"cpu": 8}, "a-cpu"),
        running("a", 8, "a-gpu"),
        pending("b", {"cpu": 4, "gpu": 4}, "b1"),
    ]
    since = {("a", CPU): NOW, ("a", KEY): after(30)}
    groups = "root 8 default:cpu 8\n  a 4 default:cpu 4\n  b 4 default:cpu 4"
    plan = decide(groups, work, now=after(60), grace_period=timedelta(seconds=60), over_since=since)
    assert (evictions(plan), waits(plan), plan.wake_at) == ([], {"b1": "RoomDelayed"}, after(90))
    plan = decide(groups, work, now=after(90), grace_period=timedelta(seconds=60), over_since=since)
    assert sorted(evictions(plan)) == ["a-cpu Reclaim for b1", "a-gpu Reclaim for b1"]


def test_grace_period_restarts_after_the_leaf_was_within_its_runtime() -> None:
    between = decide(TWO, [running("a", 4, "a0")], now=after(30), over_since={("a", KEY): NOW})
    assert between.over_since == {}


def test_workload_within_exempt_after_start_is_kept_and_the_cycle_runs_at_its_end() -> None:
    work = [
        running("a", 4, "a0"),
        running("a", 4, "a1", since=after(-10)),
        pending("b", 4, "b1"),
        pending("a", 1, "a2"),
    ]
    plan = decide(TWO, work, exempt_after_start=timedelta(seconds=30))
    assert (started_and_evicted(plan), waits(plan)["b1"], plan.wake_at) == (([], []), "RoomDelayed", after(20))


def test_entitled_higher_priority_preempts_lower_in_its_own_group() -> None:
    work = [running("a", 4, "low"), running("b", 4, "b0"), pending("a", 4, "high", priority=1)]
    plan = decide(TWO, work)
    [victim] = plan.evictions
    assert (started_and_evicted(plan), victim.reason.value) == (([], ["low Preemption for high"]), "Preempted")


def test_equal_priority_is_not_preempted_in_the_place_of_lower_that_is_exempt() -> None:
    work = [
        running("a", 2, "lower", since=after(-1)),
        running("a", 2, "equal", priority=1, since=after(-999)),
        pending("a", 2, "waits", priority=1),
    ]
    plan = decide("root 4\n  a 4", work, exempt_after_start=timedelta(minutes=1))
    assert (started_and_evicted(plan), waits(plan)["waits"]) == (([], []), "RoomDelayed")


def test_grace_period_does_not_protect_victims_in_the_group_of_the_preemptor() -> None:
    work = [running("a", 4, "low"), running("b", 4, "b0"), pending("a", 4, "high", priority=1)]
    assert evictions(decide(TWO, work, grace_period=timedelta(hours=1))) == ["low Preemption for high"]


def test_priorities_of_different_groups_are_not_compared() -> None:
    work = [running("a", 8, "a0", priority=9), pending("b", 4, "b1", priority=-9)]
    assert evictions(decide(TWO, work)) == ["a0 Reclaim for b1"]


def test_victims_that_still_fit_are_filled_back_most_important_first() -> None:
    """The first victims are too small together; the large one that follows makes them unnecessary."""
    work = [
        running("a", 1, "small", since=after(-1)),
        running("a", 4, "large", since=after(-5)),
        running("a", 3, "stays", since=after(-9)),
    ]
    assert evictions(decide(TWO, [*work, pending("b", 4, "b1")])) == ["large Reclaim for b1"]


def test_victims_of_all_preemptors_are_filled_back_together() -> None:
    work = [
        running("a", 1, "a0", since=after(-1)),
        running("a", 3, "a1", since=after(-5)),
        running("a", 4, "a2", since=after(-9)),
        pending("b", 1, "b1"),
        pending("b", 2, "b2"),
    ]
    assert evictions(decide(TWO, work)) == ["a1 Reclaim for b2"]


def test_victim_that_fills_its_runtime_exactly_is_filled_back_before_a_more_important_one_above_it() -> None:
    work = [
        running("x", 3, "x0", priority=9),
        running("x", 1, "x1", priority=0),
        running("x", 2, "x2", priority=1),
        running("b", 3, "b0", priority=9),
        running("b", 1, "b1", priority=7),
        pending("c", 3, "c1"),
    ]
    plan = decide("root 10\n  b 3\n  c 3\n  x 4", work)
    assert evictions(plan) == ["b1 Reclaim for c1", "x2 Reclaim for c1"]


def test_preemptor_served_by_pending_evictions_evicts_none() -> None:
    work = [running("a", 4, "a0"), evicting(running("a", 4, "a1")), pending("b", 4, "b1")]
    plan = decide(TWO, work)
    assert (started_and_evicted(plan), waits(plan)) == (([], []), {"b1": "WaitingForEvictions"})


def test_victim_carries_the_reason_of_its_eviction() -> None:
    [victim] = decide(TWO, [running("a", 4, "a0"), running("a", 4, "a1"), pending("b", 4, "b1")]).evictions
    assert victim.message == (
        "Job 'ns/a1' is stopped and queued again: group 'a' is over its runtime of default/gpu, "
        "which Job 'ns/b1' is entitled to"
    )


TWO_FLAVORS = tuple(Flavor(name) for name in ("x", "y"))


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        pytest.param([running("b", 4, "b1", "y")], ["b1 Reclaim for high"], id="what others borrow in a later flavor"),
        pytest.param(
            [running("b", 4, "b1", "y"), running("c", 4, "c1", "x")],
            ["c1 Reclaim for high"],
            id="what others borrow in the first flavor",
        ),
        pytest.param(
            [running("a", 4, "low2", "y", since=after(-9))],
            ["low Preemption for high"],
            id="the first flavor where its own group would be preempted in both",
        ),
        pytest.param(
            [running("b", 4, "b1", "y", preemptible=False)],
            ["low Preemption for high"],
            id="its own group where the others cannot be evicted",
        ),
    ],
)
def test_flavor_in_which_only_borrowed_work_of_others_goes_comes_first(
    others: list[Workload], expected: list[str]
) -> None:
    most = 4 * len(others)
    groups = f"a x:gpu {most} | y:gpu 4\nb x:gpu 0 | y:gpu 0\nc x:gpu 0 | y:gpu 0"
    capacity = (("x", "gpu", most), ("y", "gpu", 4))
    work = [running("a", 4, "low", "x"), *others, pending("a", 4, "high", priority=1)]
    assert started_and_evicted(decide(groups, work, TWO_FLAVORS, capacity=capacity)) == ([], expected)


def test_own_group_is_not_preempted_for_room_that_it_would_then_reclaim() -> None:
    groups = "a x:gpu 4 | y:gpu 4\nb x:gpu 0 | y:gpu 0"
    work = [running("a", 4, "low", "x"), running("b", 4, "b1", "y"), pending("a", 4, "high", priority=1)]
    capacity = (("x", "gpu", 4), ("y", "gpu", 4))
    found = run(given(groups, work, TWO_FLAVORS, capacity=capacity), NOW)
    assert [evictions(each) for each in found.plans] == [["b1 Reclaim for high"], []]
    assert sorted(each.key for each in found.world.workloads_of("a").admitted) == ["ns/high", "ns/low"]


def test_own_group_is_preempted_now_rather_than_others_later() -> None:
    groups = "a x:gpu 4 | y:gpu 4\nb x:gpu 0 | y:gpu 0"
    work = [
        running("a", 4, "low", "x", since=after(-9999)),
        running("b", 4, "b1", "y", since=after(-1)),
        pending("a", 4, "high", priority=1),
    ]
    capacity = (("x", "gpu", 4), ("y", "gpu", 4))
    found = decide(groups, work, TWO_FLAVORS, capacity=capacity, exempt_after_start=timedelta(hours=1))
    assert started_and_evicted(found) == ([], ["low Preemption for high"])
