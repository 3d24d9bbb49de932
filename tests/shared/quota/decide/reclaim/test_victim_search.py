"""Victims of one search are those that searching one by one would find. docs/specification.md §7.3 and §7.4."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from shared.quota.decide.decisions import Plan
from shared.quota.decide.plan import plan
from shared.quota.decide.reclaim.victim_search import EvictionDelays, VictimSearch
from shared.quota.decide.recycling_order import RunningWorkload
from shared.quota.decide.state.leaf_usage import LeafUsage
from shared.quota.decide.state.round_usage import RoundUsage
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import measure
from shared.quota.model.node import ClusterNode
from shared.quota.model.tree import ROOT
from shared.quota.model.workload import Workload
from shared.resources import Amount, FlavorResource
from tests.builders import NOW, after, pending, running
from tests.prove.random_draw import Seeded
from tests.shared.quota.decide.plan_words import given, name
from tests.trees import KEY

ALL = 100


def _borrowers(leaf: str, count: int, size: int = 1) -> list[Workload]:
    return [running(leaf, size, f"{leaf}{each}", since=after(each)) for each in range(count)]


def _searched(groups: str, work: list[Workload], amount: Amount) -> list[str]:
    waiting = [pending("a", 1, f"a{each}") for each in range(11)]
    usage = RoundUsage(measure(given(groups, [*work, *waiting]), after(99)), ())
    search = VictimSearch(usage, EvictionDelays({}, ignored=True))
    return [name(each.workload) for each in search.in_branches(ROOT, "a", KEY, amount)]


@pytest.mark.parametrize(
    ("groups", "work", "amount", "expected"),
    [
        pytest.param(
            "root 11\n  a 11\n  b 0\n  c 0",
            [*_borrowers("b", 7), *_borrowers("c", 4)],
            ALL,
            ["b6", "b5", "b4", "b3"],
            id="until the next comes first",
        ),
        pytest.param(
            "root 11\n  a 11\n  b 0 w2\n  c 0 w1",
            [*_borrowers("b", 9), *_borrowers("c", 2)],
            ALL,
            ["b8", "b7", "b6", "b5", "b4", "b3"],
            id="in proportion to weight",
        ),
        pytest.param(
            "root 11\n  a 11\n  b 0\n  c 0 w0",
            [*_borrowers("b", 8), *_borrowers("c", 3)],
            ALL,
            ["c2", "c1", "c0"],
            id="all of weight 0 first",
        ),
        pytest.param(
            "root 11\n  a 9\n  b 2\n  c 0",
            [*_borrowers("b", 7), *_borrowers("c", 2)],
            ALL,
            ["b6", "b5", "b4", "b3"],
            id="a leaf keeps its runtime",
        ),
        pytest.param(
            "root 11\n  a 11\n  p/ 0\n    b 0\n    d 0\n  c 0",
            [*_borrowers("b", 4), *_borrowers("d", 2), *_borrowers("c", 3)],
            ALL,
            ["b3", "b2", "b1"],
            id="at each level",
        ),
        pytest.param("root 6\n  a 6\n  b 0", _borrowers("b", 3, 2), 3, ["b2", "b1"], id="as many as use the amount"),
        pytest.param("root 6\n  a 6\n  b 0", [pending("b", 1, "waits")], ALL, [], id="nobody runs"),
    ],
)
def test_search_returns_as_many_of_a_leaf_as_go_before_all_others(
    groups: str, work: list[Workload], amount: Amount, expected: list[str]
) -> None:
    assert _searched(groups, work, amount) == expected


def test_while_root_is_short_no_more_is_searched_among_those_that_free_some_than_it_lacks() -> None:
    small = [each.holding_on_closed_nodes({KEY: 1}) if each.key == "ns/b2" else each for each in _borrowers("b", 3)]
    world = given("root 3\n  a 3\n  b 0", [*small, pending("a", 1, "large")])
    world = replace(world, nodes=(ClusterNode("open", allocatable={"gpu": 3}),), largest_nodes={})
    usage = RoundUsage(measure(world, after(99)), ())
    usage.reserve(usage.leaf("a"), ((KEY, 1),), pending("a", 1, "large"))
    search = VictimSearch(usage, EvictionDelays({}, ignored=True))
    short = usage.planned.excess(ROOT, KEY)
    assert [name(each.workload) for each in search.least_important(usage.leaf("b"), KEY, short + 1)] == ["b1"]


def _cluster(dice: Seeded) -> World:
    """A large workload is entitled to what many small ones have borrowed, below its own parent and elsewhere."""
    leaves = [f"{parent}{leaf}" for parent in "bcd" for leaf in range(dice.between(1, 3))]
    work = [
        running(
            leaf,
            dice.between(1, 3),
            f"{leaf}-{each}",
            since=after(-dice.between(1, 40)),
            priority=dice.one_of((0, 0, 1)),
            preemptible=not dice.chance(5),
        )
        for leaf in leaves
        for each in range(dice.between(0, 9))
    ]
    if dice.chance(30):
        work = [each.holding_on_closed_nodes({KEY: 1}) if dice.chance(30) else each for each in work]
    work += [running("own", 1, f"own-{each}", since=after(-each)) for each in range(dice.between(0, 3))]
    use = sum(each.request["gpu"] for each in work)
    large = dice.between(1, use)
    drawn = [f"root {use}"]
    for parent in "bcd":
        least = large + 3 if parent == "b" else 0
        drawn.append(f"  {parent}/ {least + dice.between(0, 6)} w{dice.between(0, 3)}")
        drawn.extend(f"    {each} {dice.between(0, 2)} w{dice.between(0, 3)}" for each in leaves if each[0] == parent)
        drawn.extend([f"    own {large + 3}"] if parent == "b" else [])
    exempt, notice = (timedelta(seconds=dice.one_of(each)) for each in ((0, 0, 10, 30), (0, 60)))
    waits = pending("own", large, "large", priority=dice.between(0, 1))
    made = given("\n".join(drawn), [*work, waits], exempt_after_start=exempt, notice=notice)
    return replace(made, nodes=(ClusterNode("open", allocatable={"gpu": use}),), largest_nodes={})


def _decided(world: World) -> tuple[list[str], Plan]:
    found = plan(measure(world, NOW))
    victims = [*(each.workload for each in found.evictions), *(each.workload for each in found.notices)]
    return [name(each) for each in victims], found


@pytest.mark.parametrize("seed", range(60))
def test_victims_that_are_found_together_are_those_found_one_by_one(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    world = _cluster(Seeded(f"victims/{seed}"))
    together, whole = _decided(world)
    found = VictimSearch.least_important

    def only_first(
        search: VictimSearch, leaf_usage: LeafUsage, key: FlavorResource, _amount: Amount = 1
    ) -> Sequence[RunningWorkload]:
        return found(search, leaf_usage, key)

    monkeypatch.setattr(VictimSearch, "least_important", only_first)
    one_by_one, again = _decided(world)
    assert together == one_by_one
    assert whole.wake_at == again.wake_at
