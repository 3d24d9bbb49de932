"""Every remedy is true and minimal: the change is made in other words than the engine's, and the start is seen."""

from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import Any

import pytest

from shared.api.core.placement import Placement
from shared.quota.decide.plan import plan
from shared.quota.measure.accounts.periods import milliseconds
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import measure
from shared.quota.model.budgets.budget import Budget, BudgetKey, BudgetPeriod, SpentBudget, WhenSpent
from shared.quota.model.budgets.raised import BudgetUsed
from shared.quota.model.flavor import Flavor
from shared.quota.model.node import ClusterNode
from shared.quota.model.settings import CapacitySource, QuotaSettings, ReclaimSettings
from shared.quota.model.workload import PodSet
from shared.quota.outlook.advise import changes
from shared.quota.outlook.advise.json_output import remedy_as_data
from shared.quota.outlook.advise.remedies import advise
from shared.quota.outlook.explain.explanation import explain
from shared.quota.outlook.explain.pending_reasons import PendingReasons
from shared.resources import FlavorResource
from tests.builders import NOW, after, evicting, pending, running, world
from tests.prove.remedies import check
from tests.shared.quota.decide.plan_words import given
from tests.trees import KEY, capacity_in, tree

checked = cache(check)
"""Seed -> remedies of its world, and flaws in them: a second of CPU each, and two tests ask."""


@pytest.mark.parametrize("seed", [*range(24), 93, 98, 3188, 3189])
def test_remedies_are_sufficient_legal_minimal_and_complete(seed: int) -> None:
    assert checked(seed)[1] == []


def test_test_worlds_have_remedies() -> None:
    assert sum(checked(seed)[0] for seed in range(4)) > 10


HOUR = 3_600_000
NO_START, NO_BORROW = WhenSpent.NO_START, WhenSpent.NO_BORROW
ROOT_MAX = {"do": "RaiseMax", "group": "root", "flavor": "default", "resource": "gpu", "by": 1}


def remedies_of(of: World, name: str) -> list[dict[str, Any]]:
    snapshot = measure(of, NOW)
    decided = plan(snapshot)
    (found,) = [each.workload for each in PendingReasons(decided) if each.workload.key == f"ns/{name}"]
    return [remedy_as_data(each) for each in advise(snapshot, explain(snapshot, decided, found)).remedies]


def test_min_is_raised_together_with_ancestors_whose_sum_it_would_exceed() -> None:
    given = world("root 8\n  a 4\n    b 4\n  c", [running("c", 3), pending("b", 5, "new", preemptible=False)])
    found = remedies_of(given, "new")
    key = {"flavor": "default", "resource": "gpu"}
    parent = {"do": "RaiseMin", "group": "a", **key, "by": 1}
    assert [each for each in found if each["do"] == "RaiseMin"] == [
        {"do": "RaiseMin", "group": "b", **key, "by": 1, "and": [parent]}
    ]


def test_percent_is_raised_to_the_least_that_a_person_writes() -> None:
    given = world(
        "root 8\n  p 100%\n    a 40%..50%\n    b", [pending("a", 6, "large"), pending("a", 4, "own", preemptible=False)]
    )
    key = {"flavor": "default", "resource": "gpu"}
    raised = [each for each in remedies_of(given, "large") if each["do"] == "RaiseMax"]
    assert raised == [{"do": "RaiseMax", "group": "a", **key, "by": 2, "percent": "75%"}]
    promised = [each for each in remedies_of(given, "own") if each["do"] == "RaiseMin"]
    assert promised == [{"do": "RaiseMin", "group": "a", **key, "by": 1, "percent": "50%"}]


def test_held_workload_without_room_needs_both_remedies() -> None:
    given = world("root 4\n  a 4", [running("a", 4, "other"), pending("a", 1, "new", hold=True)])
    resume = {"do": "Resume", "workload": "ns/new"}
    assert remedies_of(given, "new")[0] == {
        "do": "AddCapacity", "flavor": "default", "resource": "gpu", "by": 1, "and": [resume, ROOT_MAX],
    }  # fmt: skip


def test_remedy_does_too_where_others_start_between_its_changes() -> None:
    """After the resumption the small one starts; 1 more, which the first one alone would need, is too little then."""
    work = [running("b", 2, "other"), pending("a", 3, "first", created=after(-9)), pending("a", 1, "small")]
    found = remedies_of(given("a 0 hold\nb 2", work, capacity=(("default", "gpu", 4),)), "first")
    assert [each for each in found if each["do"] == "AddCapacity"] == [
        {"do": "AddCapacity", **KEY_OF, "by": 2, "and": [{"do": "Resume", "group": "a"}]}
    ]


def test_workload_that_is_resumed_is_the_last_of_its_queue() -> None:
    """It is the older one; what it waited on hold does not count, so that 1 more goes to the other."""
    work = [running("a", 4, "runs"), pending("a", 1, "held", hold=True, created=after(-9))]
    found = remedies_of(world("root 4\n  a 4", [*work, pending("a", 1, "waits", created=after(-5))]), "held")
    assert {each["by"] for each in found if each["do"] == "AddCapacity"} == {2}


def test_no_eviction_is_a_remedy_where_the_evicted_one_takes_its_room_back() -> None:
    """`mine` is within the min of its group: it would evict `new` as soon as it is let go."""
    work = [running("b", 4, "other", since=after(-99)), running("a", 4, "mine"), pending("b", 2, "new")]
    found = remedies_of(world("root 8\n  a 4\n  b 4", work), "new")
    assert {each["workload"] for each in found if each["do"] == "WaitFor"} == {"ns/mine", "ns/other"}
    assert {each["workload"] for each in found if each["do"] == "Evict"} == {"ns/other"}


def test_stopped_group_gets_the_remedy_to_resume() -> None:
    given = world("root 4\n  a/ 4 hold\n    b 4", [pending("b", 1, "new")])
    assert remedies_of(given, "new") == [{"do": "Resume", "group": "a"}]


GPU_HOURS = BudgetKey("gpu", "", BudgetPeriod.MONTH, "UTC")
RAISED = {"do": "RaiseBudget", "resource": "gpu", "period": "Month", "timeZone": "UTC"}


def with_spent(of: World, used: int = 11, **budgets: tuple[int, WhenSpent]) -> World:
    """The world in which these groups have spent their budgets of so many hours; `used`: hours half an hour ago."""
    spent = {
        group: (SpentBudget(Budget(GPU_HOURS, hours * 1000, when), milliseconds(NOW), None),)
        for group, (hours, when) in budgets.items()
    }
    known = BudgetUsed(used * HOUR, milliseconds(NOW) - HOUR // 2)
    return replace(of.with_spent(spent), budgets_used={group: {GPU_HOURS: known} for group in spent})


@pytest.mark.parametrize("when", [WhenSpent.NO_START, WhenSpent.DRAIN])
def test_spent_budget_is_raised_to_what_lasts_an_hour(when: WhenSpent) -> None:
    """11 h and half an hour with 2 gpu are 12 h; an hour with 2 and 3 more gpu are 5 h: less is used than 18 h."""
    work = [running("a", 2, "firm", preemptible=False), pending("b", 3, "new")]
    found = with_spent(world("root 8\n  p/ 8\n    a 4\n    b 4", work), p=(10, when))
    assert remedies_of(found, "new") == [{**RAISED, "group": "p", "hours": "18", "whenSpent": when.value}]


def test_budgets_of_a_leaf_and_of_its_parent_are_raised_together() -> None:
    given = with_spent(world("root 8\n  p/ 8\n    b 4", [pending("b", 1, "new")]), p=(10, NO_START), b=(7, NO_START))
    of_b = {**RAISED, "group": "b", "hours": "13", "whenSpent": "NoStart"}
    assert remedies_of(given, "new") == [{**RAISED, "group": "p", "hours": "13", "whenSpent": "NoStart", "and": [of_b]}]


def test_budget_of_a_group_on_hold_is_raised_before_the_group_is_resumed() -> None:
    found = with_spent(world("root 8\n  p/ 8 hold\n    b 4", [pending("b", 1, "new")]), p=(10, NO_START))
    larger = {**RAISED, "group": "p", "hours": "13", "whenSpent": "NoStart"}
    assert remedies_of(found, "new") == [{"do": "Resume", "group": "p", "and": [larger]}]


def test_larger_budget_lets_a_group_borrow_again() -> None:
    found = with_spent(
        world("root 8\n  a 2\n  b 2", [running("a", 2, "own"), pending("a", 1, "new")]), a=(10, NO_BORROW)
    )
    larger = {**RAISED, "group": "a", "hours": "16", "whenSpent": "NoBorrow"}
    assert larger in remedies_of(found, "new")


def test_no_budget_is_raised_while_it_is_not_known_what_is_used() -> None:
    given = with_spent(world("root 8\n  b 4", [pending("b", 1, "new")]), b=(10, NO_START))
    assert remedies_of(replace(given, budgets_used={}), "new") == []


def test_workload_that_starts_anyway_gets_no_remedy() -> None:
    given = world("root 4\n  a 4\n  b", [running("b", 4, "other"), pending("a", 1, "new")])
    assert remedies_of(given, "new") == []


def test_workload_that_waits_for_a_time_gets_remedies_that_start_it_now() -> None:
    groups = "root 4\n  a 4\n  b"
    reclaim = ReclaimSettings(exempt_after_start=timedelta(minutes=10))
    settings = QuotaSettings(capacity=capacity_in(tree(groups)), reclaim=reclaim)
    given = world(groups, [running("b", 4, "other"), pending("a", 1, "new")], settings=settings)
    assert {each["do"] for each in remedies_of(given, "new")} == {"AddCapacity", "Evict", "WaitFor"}


def test_non_preemptible_workload_needs_more_min() -> None:
    given = world("root 8\n  a 2\n  b 4", [pending("a", 3, "new", preemptible=False)])
    found = remedies_of(given, "new")
    assert {"do": "RaiseMin", "group": "a", "flavor": "default", "resource": "gpu", "by": 1} in found
    assert {"do": "AllowPreemption", "workload": "ns/new"} in found
    assert {each["do"] for each in found} == {"RaiseMin", "ShrinkRequest", "AllowPreemption"}


def test_amounts_too_large_to_scan_are_found_exactly() -> None:
    size = 1 << 30
    given = world(f"root {4 * size}\n  a {4 * size}", [running("a", 3 * size, "other"), pending("a", size + 77, "new")])
    found = remedies_of(given, "new")
    assert {"do": "ShrinkRequest", "resource": "gpu", "by": 77, "workload": "ns/new"} in found
    assert {each["by"] for each in found if each["do"] == "AddCapacity"} == {77}


def test_remedy_adds_a_node_like_the_largest_one_or_capacity() -> None:
    groups = tree("root\n  a a100:gpu 9 | nvme:disk 9")
    nodes = [
        ClusterNode("more-gpu", {"gpu": "a100"}, {"gpu": 4, "disk": 1}),
        ClusterNode("more-disk", {"gpu": "a100"}, {"gpu": 2, "disk": 9}),
        ClusterNode("nvme", {"disk": "nvme"}, {"disk": 9}),
    ]
    flavors = [Flavor("a100", node_labels={"gpu": "a100"}), Flavor("nvme", node_labels={"disk": "nvme"})]
    first = running("a", {"gpu": 6, "disk": 1}, "first", flavors={"gpu": "a100", "disk": "nvme"})
    waits = pending("a", {"gpu": 3, "disk": 1}, "new")
    found = remedies_of(World.of(groups, flavors, [first, waits], nodes), "new")

    assert {"do": "AddNode", "flavor": "a100", "by": 1, "like": "more-gpu"} in found
    assert {"do": "AddCapacity", "flavor": "a100", "resource": "gpu", "by": 3} in found


def test_remedy_adds_as_many_nodes_as_it_takes_if_they_join_one_by_one() -> None:
    """Two would do at once. Of nodes that join one by one, another takes the first, and none is left for it."""
    groups = tree("root\n  a 12..99\n  b 4..99")
    nodes = [ClusterNode("one", {}, {"gpu": 4})]
    first = running("a", {"gpu": 4}, "first")
    waits = pending("a", {"gpu": 8}, "new", pods=2, queued=after(-2))
    other = pending("b", {"gpu": 4}, "other", queued=after(-1))
    given = World.of(groups, [Flavor("default")], [first, waits, other], nodes)
    assert {"do": "AddNode", "flavor": "default", "by": 3, "like": "one"} in remedies_of(given, "new")


def test_capacity_is_no_remedy_where_it_is_the_sum_of_mins() -> None:
    groups = tree("root\n  a 4\n  b 0..2")
    settings = QuotaSettings(capacity_source=CapacitySource.GROUPS)
    work = [running("a", 4, "first"), pending("a", 1, "new")]
    found = {each["do"] for each in remedies_of(World.of(groups, [Flavor("default")], work, settings=settings), "new")}

    assert "RaiseMin" in found
    assert "AddCapacity" not in found


def test_remedy_covers_the_shortage_of_the_strict_head() -> None:
    """The head lacks disk; the other one, which waits behind it, requests none."""
    groups = tree("root 9 default:disk 2\n  a 9 default:disk 0 strict\n  b default:disk 1")
    holder = running("b", {"disk": 1}, "other")
    head, behind = pending("a", {"gpu": 1, "disk": 2}, "head", priority=1), pending("a", 1, "new")
    found = remedies_of(world(groups, [holder, head, behind]), "new")
    assert [each for each in found if each["do"] == "AddCapacity"] == [
        {
            "do": "AddCapacity",
            "flavor": "default",
            "resource": "disk",
            "by": 1,
            "and": [ROOT_MAX | {"resource": "disk"}],
        }
    ]


def test_workload_with_room_from_pending_evictions_gets_no_remedy() -> None:
    given = world("root 4\n  a 4\n  b", [evicting(running("b", 4, "other")), pending("a", 1, "new")])
    assert remedies_of(given, "new") == []


def test_workload_with_a_missing_group_gets_no_remedy() -> None:
    lost = pending("gone", 1, "lost")
    given = world("root 4\n  a 4", [lost])
    snapshot = measure(given, NOW)
    assert advise(snapshot, explain(snapshot, plan(snapshot), lost)).remedies == ()


def test_remedy_adds_all_resources_of_one_flavor_that_are_short() -> None:
    work = [running("a", {"gpu": 4, "cpu": 4}, "other"), pending("a", {"gpu": 2, "cpu": 3}, "new")]
    found = given("a 4 default:cpu 4", work, capacity=(("default", "gpu", 4), ("default", "cpu", 4)))
    gpu = {"do": "AddCapacity", "flavor": "default", "resource": "gpu", "by": 2}
    assert [each for each in remedies_of(found, "new") if each["do"] == "AddCapacity"] == [
        {"do": "AddCapacity", "flavor": "default", "resource": "cpu", "by": 3, "and": [gpu]}
    ]


def test_remedy_adds_one_resource_once_where_it_alone_is_short() -> None:
    work = [running("a", {"gpu": 4, "cpu": 4}, "other"), pending("a", {"gpu": 2, "cpu": 3}, "new")]
    found = given("a 4 default:cpu 8", work, capacity=(("default", "gpu", 4), ("default", "cpu", 8)))
    assert [each for each in remedies_of(found, "new") if each["do"] == "AddCapacity"] == [
        {"do": "AddCapacity", **KEY_OF, "by": 2}
    ]


def test_remedy_is_found_where_more_is_promised_than_requested() -> None:
    found = remedies_of(world("root 10\n  a 0 w0\n  p/ 10\n    b 10 keep", [pending("a", 5, "new")]), "new")
    assert {each["by"] for each in found if each["do"] == "AddCapacity"} == {5}


def test_pending_workload_is_waited_for_and_not_evicted() -> None:
    """The head wants more than there is; the one behind it in a strict queue would fit."""
    work = [running("b", 4, "other"), pending("a", 5, "head", created=after(-9)), pending("a", 1, "new")]
    found = remedies_of(world("root 8\n  a 4 strict\n  b 4", work), "new")
    assert {"do": "WaitFor", "group": "a", "workload": "ns/head"} in found
    assert "ns/head" not in {each["workload"] for each in found if each["do"] == "Evict"}


KEY_OF = {"flavor": "default", "resource": "gpu"}


def test_mins_are_raised_from_the_highest_ancestor_down() -> None:
    given = world(
        "root 9\n  p 4\n    a 4\n      b 4\n  c", [running("c", 3), pending("b", 5, "new", preemptible=False)]
    )
    (found,) = [each for each in remedies_of(given, "new") if each["do"] == "RaiseMin"]
    assert [found["group"], *(each["group"] for each in found["and"])] == ["b", "p", "a"]


def test_workload_that_could_never_fit_gets_each_limit_that_is_too_low() -> None:
    found = remedies_of(world("root 4\n  p/ 4..4\n    a 4..4", [pending("a", 5, "new")]), "new")
    raised = [{"do": "RaiseMax", "group": group, **KEY_OF, "by": 1} for group in ("root", "p", "a")]
    assert found[0] == {"do": "AddCapacity", **KEY_OF, "by": 1, "and": raised}


@pytest.mark.parametrize(
    ("groups", "raised"),
    [
        pytest.param("a 2..4\nb 4", ["a"], id="max of the leaf"),
        pytest.param("p/ 4..4\n  a 2..4\nb 4", ["p", "a"], id="ancestor first"),
    ],
)
def test_max_is_raised_together_with_capacity_where_both_bind(groups: str, raised: list[str]) -> None:
    work = [running("a", 4, "own"), running("b", 4, "other"), pending("a", 2, "new")]
    found = remedies_of(given(groups, work, capacity=(("default", "gpu", 8),)), "new")
    maxes = [{"do": "RaiseMax", "group": group, **KEY_OF, "by": 2} for group in raised]
    assert found[0] == {"do": "AddCapacity", **KEY_OF, "by": 2, "and": maxes}
    assert not {"RaiseMin", "RaiseMax"} & {each["do"] for each in found}


def test_max_and_capacity_are_enough_though_a_later_one_starts_between_the_two_changes() -> None:
    """With the max alone `small` takes the idle gpu."""
    work = [
        running("a", 4, "own"),
        running("b", 3, "other"),
        pending("a", 2, "new"),
        pending("a", 1, "small", created=after(1)),
    ]
    found = remedies_of(given("a 2..4\nb 4", work, capacity=(("default", "gpu", 8),)), "new")
    assert found[0] == {
        "do": "AddCapacity",
        **KEY_OF,
        "by": 2,
        "and": [{"do": "RaiseMax", "group": "a", **KEY_OF, "by": 3}],
    }


def test_maxes_and_capacity_of_several_resources_are_raised_by_what_each_lacks() -> None:
    work = [
        running("a", {"gpu": 4, "cpu": 4}, "own"),
        running("b", 4, "other"),
        pending("a", {"gpu": 3, "cpu": 1}, "new"),
    ]
    capacity = (("default", "gpu", 8), ("default", "cpu", 99))
    found = remedies_of(given("a 4 default:cpu 2..4\nb 4 default:cpu 2", work, capacity=capacity), "new")
    cpu = {"do": "RaiseMax", "group": "a", "flavor": "default", "resource": "cpu", "by": 1}
    assert found[0] == {"do": "AddCapacity", **KEY_OF, "by": 3, "and": [cpu]}


def test_capacity_of_two_flavors_is_added_together_where_each_pod_set_lacks_its_own() -> None:
    flavors = [Flavor(name, {"model": name}) for name in ("a100", "t4")]
    sets = tuple(PodSet(each.name, {"gpu": 3}, placement=Placement(each.node_labels)) for each in flavors)
    capacity = tuple((each.name, "gpu", 2) for each in flavors)
    new = pending("a", 6, "new", pod_sets=sets)
    found = remedies_of(given("a a100:gpu 2..4 | t4:gpu 2..4", [new], flavors, capacity=capacity), "new")
    first, second = ({"do": "AddCapacity", "flavor": each.name, "resource": "gpu", "by": 1} for each in flavors)
    assert found == [{**first, "and": [second]}]


def test_maxes_of_two_levels_are_raised_together_where_the_cluster_has_enough() -> None:
    work = [running("a", 4, "own"), pending("a", 3, "new")]
    found = remedies_of(given("p/ 4..4\n  a 2..4\nb 2", work, capacity=(("default", "gpu", 12),)), "new")
    parent = {"do": "RaiseMax", "group": "p", **KEY_OF, "by": 3}
    assert found[0] == {"do": "RaiseMax", "group": "a", **KEY_OF, "by": 3, "and": [parent]}


def test_max_and_capacity_are_enough_for_those_before_it_too() -> None:
    """The one before it takes what the larger max allows before there is more capacity."""
    work = [running("a", 4, "own"), running("b", 4, "other"), pending("a", 2, "new", created=after(-5))]
    work.append(pending("a", 1, "older", created=after(-9)))
    found = remedies_of(given("a 2..4\nb 4", work, capacity=(("default", "gpu", 8),)), "new")
    larger = {"do": "RaiseMax", "group": "a", **KEY_OF, "by": 3}
    assert found[0] == {"do": "AddCapacity", **KEY_OF, "by": 3, "and": [larger]}


def test_mins_are_raised_together_with_capacity_for_what_is_not_preemptible() -> None:
    waits = pending("a", 9, "new", preemptible=False)
    found = remedies_of(given("p/ 4\n  a 4\nb", [waits], capacity=(("default", "gpu", 8),)), "new")
    mins = [{"do": "RaiseMin", "group": group, **KEY_OF, "by": 5} for group in ("p", "a")]
    assert found[0] == {"do": "AddCapacity", **KEY_OF, "by": 1, "and": mins}


def test_max_in_percent_is_raised_together_with_that_of_its_child() -> None:
    work = [running("a", 4, "own"), pending("a", 3, "new")]
    found = remedies_of(given("p/ 40%..40%\n  a 2..4\nb 2", work, capacity=(("default", "gpu", 10),)), "new")
    parent = {"do": "RaiseMax", "group": "p", **KEY_OF, "by": 3, "percent": "70%"}
    assert found[0] == {"do": "RaiseMax", "group": "a", **KEY_OF, "by": 3, "and": [parent]}


def test_no_limit_is_raised_above_the_size_of_the_cluster() -> None:
    groups = "a 4..8\nb 4..8"
    found = remedies_of(given(groups, [pending("a", 9, "new")], capacity=(("default", "gpu", 8),)), "new")
    assert "RaiseMax" not in {each["do"] for each in found}
    assert [each["by"] for each in found if each["do"] == "AddCapacity"] == [1]


def test_group_that_keeps_room_while_idle_can_lend_more() -> None:
    work = [running("b", 4, "other"), pending("b", 4, "new")]
    found = remedies_of(world("root 8\n  a 4 l1\n  b 4", work), "new")
    assert {"do": "RaiseLendingLimit", "group": "a", **KEY_OF, "by": 3} in found


def test_higher_priority_is_the_least_that_does() -> None:
    work = [running("a", 4, "low", priority=3), running("a", 4, "high", priority=5), pending("a", 2, "new")]
    found = remedies_of(world("root 8\n  a 8", work), "new")
    assert {"do": "RaisePriority", "workload": "ns/new", "priority": 4} in found


def test_amounts_of_bytes_are_what_a_person_would_write() -> None:
    size, groups = 1 << 30, tree("root\n  a default:memory 99")
    work = [running("a", {"memory": 8 * size}, "other"), pending("a", {"memory": 2 * size + 7}, "new")]
    capacity = (("default", "memory", 9 * size),)
    of = World.of(groups, [Flavor("default")], work, settings=QuotaSettings(capacity=capacity))
    (found,) = [each["by"] for each in remedies_of(of, "new") if each["do"] == "AddCapacity"]
    assert found == size + (1 << 20)


def test_amount_is_rounded_up_to_all_that_can_be_taken_away() -> None:
    work = [running("a", {"cpu": 19_344}, "other", preemptible=False), pending("a", {"cpu": 13_001}, "new")]
    of = given("a default:cpu 20000", work, capacity=(("default", "cpu", 20_000),))
    (found,) = [each["by"] for each in remedies_of(of, "new") if each["do"] == "ShrinkRequest"]
    assert found == 13_000


def test_fewer_pods_of_one_set_leave_the_others_as_they_are() -> None:
    sets = (PodSet("driver", {"cpu": 2000, "gpu": 1}, 1), PodSet("workers", {"gpu": 6}, 3))
    job = pending("a", {"cpu": 2000, "gpu": 7}, "job", pod_sets=sets)
    found = changes.current(changes.with_fewer_pods(world("root 8\n  a 8", [job]), 1, job, "workers"), job)
    assert found is not None
    assert (found.request, [each.pods for each in found.pod_sets]) == ({"cpu": 2000, "gpu": 5}, [1, 2])


def test_no_limit_is_raised_of_what_no_entry_covers() -> None:
    found = world("root 8\n  a 8")
    assert changes.with_lending_limit(found, "a", FlavorResource("default", "cpu"), 1) is None
    assert changes.with_lending_limit(found, "a", FlavorResource("x", "gpu"), 1) is None
    assert changes.with_lending_limit(found, "a", KEY, 1) is not None
