"""What runs on nodes that take no more pods frees nothing for others: docs/specification.md §7.4."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from shared.quota.decide.plan import plan
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import measure
from shared.quota.model.node import ClusterNode
from shared.quota.model.settings import ReclaimMode
from shared.quota.model.workload import Workload
from shared.quota.outlook.advise.remedies import advise
from shared.quota.outlook.explain.explanation import explain
from shared.quota.outlook.simulate.step import advance
from shared.resources import Amount
from tests.builders import NOW, after, pending, running
from tests.shared.quota.decide.plan_words import evictions, given, starts, waits
from tests.trees import KEY


def on_closed(workload: Workload, amount: Amount) -> Workload:
    """The workload; so much of what it uses is on cordoned nodes."""
    assert workload.admission is not None
    return replace(workload, admission=replace(workload.admission, on_closed_nodes={KEY: amount}))


def cluster(groups: str, work: Iterable[Workload], open_gpus: Amount = 4, **fields: Any) -> World:
    """A world whose nodes take pods for so many GPUs; others are cordoned and count what runs on them."""
    found = given(groups, work, capacity=(), **fields)
    return replace(found, nodes=(ClusterNode("open", allocatable={"gpu": open_gpus}),), largest_nodes={})


def test_capacity_has_what_runs_on_cordoned_nodes_until_it_ends() -> None:
    held = on_closed(running("a", 3, "held"), 2)
    world = cluster("root\n  a 3", [held])
    assert world.on_closed_nodes == {KEY: 2}
    before = measure(world, NOW)
    ended = world.with_changes([(held, replace(held, admission=None))])
    assert ended.on_closed_nodes == {}
    assert (before.capacity[KEY], measure(ended, NOW, before).capacity[KEY], measure(ended, NOW).capacity[KEY]) == (
        6,
        4,
        4,
    )


OWES = "root\n  a 4 w1\n  b 4 w1"


def test_victim_is_one_whose_nodes_take_pods_although_another_is_less_important() -> None:
    work = [
        on_closed(running("b", 4, "cordoned", since=after(-1)), 4),
        running("b", 4, "open", since=after(-9)),
        pending("a", 4, "owed"),
    ]
    world = cluster(OWES, work)
    decided = plan(measure(world, NOW))
    assert evictions(decided) == ["open Reclaim for owed"]
    assert starts(plan(measure(advance(world, decided), NOW))) == ["owed entitled claim"]


def test_nobody_is_evicted_where_that_frees_nothing() -> None:
    owed = pending("a", 4, "owed")
    world = cluster(OWES, [on_closed(running("b", 6, "cordoned"), 6), owed], open_gpus=2)
    snapshot = measure(world, NOW)
    decided = plan(snapshot)
    assert (evictions(decided), starts(decided), waits(decided)) == ([], [], {"owed": "WaitingForQuota"})
    [flavor] = explain(snapshot, decided, owed).flavors
    assert [(each.workload.key, each.because) for each in flavor.holders] == [("ns/cordoned", "OnClosedNodes")]


def test_victim_that_frees_less_than_another_of_its_size_stays_where_that_one_alone_suffices() -> None:
    partly = on_closed(running("b", 2, "partly"), 1)
    work = [partly, running("b", 2, "important", priority=1), pending("a", 1, "owed")]
    decided = plan(measure(cluster("root\n  a 2 w1\n  b 0 w0", work, open_gpus=2), NOW))
    assert evictions(decided) == ["important Reclaim for owed"]


def test_workload_of_which_a_part_is_on_open_nodes_frees_that_part() -> None:
    half, owed = on_closed(running("b", 6, "half"), 4), pending("a", 2, "owed")
    assert evictions(plan(measure(cluster(OWES, [half, owed], open_gpus=2), NOW))) == ["half Reclaim for owed"]
    owed = pending("a", 3, "owed")
    assert evictions(plan(measure(cluster(OWES, [half, owed], open_gpus=2), NOW))) == []


def test_ceiling_gets_free_also_on_cordoned_nodes() -> None:
    low, high = on_closed(running("a", 4, "low"), 4), pending("a", 4, "high", priority=1)
    assert evictions(plan(measure(cluster("root\n  a 4..4", [low, high]), NOW))) == ["low Preemption for high"]


def test_no_swap_where_nothing_gets_free() -> None:
    work = [on_closed(running("a", 3, "low"), 3), pending("a", 3, "high", priority=5)]
    assert evictions(plan(measure(cluster("root\n  a 0 w1\n  b 9", work, open_gpus=2), NOW))) == []


@pytest.mark.parametrize(("held", "gone"), [(0, ["b2 Strict"]), (1, [])])
def test_strict_mode_recycles_nothing_that_frees_nothing(held: Amount, gone: list[str]) -> None:
    owing = [on_closed(running("b", 1, f"b{number}", since=after(number - 9)), held) for number in range(3)]
    work = [*owing, running("a", 1, "small"), pending("a", 3, "large")]
    world = cluster("root\n  a 0 w1\n  b 0 w1", work, open_gpus=4 - 3 * held, mode=ReclaimMode.STRICT)
    assert evictions(plan(measure(world, NOW))) == gone


def test_no_remedy_names_it() -> None:
    owed = pending("a", 4, "owed")
    work = [on_closed(running("b", 4, "cordoned"), 4), running("b", 4, "fixed", preemptible=False), owed]
    snapshot = measure(cluster(OWES, work), NOW)
    found = advise(snapshot, explain(snapshot, plan(snapshot), owed)).remedies
    named = {(each.do.value, each.workload) for each in found if each.workload}
    assert "ns/cordoned" not in {key for _, key in named}
    assert ("WaitFor", "ns/fixed") in named
