"""A workload of several pod sets: a flavor for each, judged with what the sets before it took, all or none."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from shared.api.core.placement import Placement
from shared.quota.decide.decisions import Plan
from shared.quota.decide.plan import plan
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import measure
from shared.quota.model.flavor import Flavor
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.workload import Flavors, PodSet, Workload
from shared.quota.outlook.explain.explanation import explain
from shared.quota.outlook.explain.pending_reasons import PendingReasons
from shared.quota.outlook.simulate.json_output import start_as_data
from shared.resources import Amount, FlavorResource, sum_amounts
from tests.builders import NOW, pending, running
from tests.prove.random_draw import Seeded
from tests.shared.quota.decide.plan_words import evictions, starts
from tests.shared.quota.judging.oracle import transgressions
from tests.trees import capacity_in, tree

ONE = (Flavor("x"), Flavor("y"), Flavor("z"))
THREE = "root x:gpu {} | y:gpu {} | z:gpu {}\n  a x:gpu {} | y:gpu {} | z:gpu {}"
X_AND_Y = "root x:gpu 4 | y:gpu 4\n  a x:gpu 4 | y:gpu 4"


def of(*sets: PodSet, name: str = "ray", group: str = "a", **fields: Any) -> Workload:
    return pending(group, sum_amounts(each.request for each in sets), name, pod_sets=sets, **fields)


def given(groups: str, *work: Workload, flavors: tuple[Flavor, ...] = ONE) -> World:
    found = tree(groups)
    return World.of(found, flavors, work, settings=QuotaSettings(capacity=capacity_in(found)))


def decide(groups: str, *work: Workload, flavors: tuple[Flavor, ...] = ONE) -> Plan:
    snapshot = measure(given(groups, *work, flavors=flavors), NOW)
    decided = plan(snapshot)
    assert transgressions(snapshot, decided) == []
    return decided


def assigned(decided: Plan) -> list[Flavors]:
    return [start.flavors for start in decided.starts]


def test_each_pod_set_takes_the_first_flavor_with_room() -> None:
    work = of(PodSet("one", {"gpu": 3}), PodSet("two", {"gpu": 2}), PodSet("three", {"gpu": 1}))
    found = decide(X_AND_Y, work, flavors=ONE[:2])
    assert assigned(found) == [{"one": {"gpu": "x"}, "two": {"gpu": "y"}, "three": {"gpu": "x"}}]


def test_earlier_pod_set_takes_another_flavor_to_leave_room_for_a_later_one() -> None:
    """`two` agrees only with x, so `one` cannot stay there."""
    flavors = (Flavor("x", {"model": "x"}), Flavor("y", {"model": "y"}))
    work = of(PodSet("one", {"gpu": 3}), PodSet("two", {"gpu": 3}, placement=Placement({"model": "x"})))
    assert assigned(decide(X_AND_Y, work, flavors=flavors)) == [{"one": {"gpu": "y"}, "two": {"gpu": "x"}}]


def test_all_pod_sets_start_together_or_none() -> None:
    work = of(PodSet("one", {"gpu": 3}), PodSet("two", {"gpu": 3}), PodSet("three", {"gpu": 3}))
    decided = decide(X_AND_Y, work, flavors=ONE[:2])
    why = PendingReasons(decided).why(work)
    assert (starts(decided), why.reason.value if why else "", why.message if why else "") == (
        [],
        "NeverFits",
        "Job 'ns/ray' waits: it could never fit (its pod sets together: 9 of x/gpu, the most it could get is 4)",
    )
    pair = of(PodSet("one", {"gpu": 3}), PodSet("two", {"gpu": 3}))
    full = decide(X_AND_Y, running("a", 2, "other", "y"), pair, flavors=ONE[:2])
    assert starts(full) == []


def test_pod_set_without_a_request_needs_no_flavor() -> None:
    work = of(PodSet("none", {}, pods=0), PodSet("one", {"gpu": 1}))
    assert assigned(decide("root x:gpu 4\n  a x:gpu 4", work, flavors=ONE[:1])) == [{"one": {"gpu": "x"}}]


def test_pending_workload_counts_its_largest_possible_use_of_each_key() -> None:
    groups = "root x:gpu 4 | y:gpu 3\n  a x:gpu 4 | y:gpu 3"
    work = of(PodSet("one", {"gpu": 3}), PodSet("two", {"gpu": 2}))
    numbers = measure(given(groups, work, flavors=ONE[:2]), NOW).numbers["a"]
    assert {key.flavor: each.request for key, each in numbers.items()} == {"x": 3, "y": 3}
    wide = measure(given("root x:gpu 9 | y:gpu 3\n  a x:gpu 9 | y:gpu 3", work, flavors=ONE[:2]), NOW).numbers["a"]
    assert {key.flavor: each.request for key, each in wide.items()} == {"x": 5, "y": 3}


def test_workload_of_pod_sets_is_reclaimed_whole_for_a_preemptor_of_pod_sets() -> None:
    groups = "root x:gpu 4 | y:gpu 4\n  a x:gpu 0 | y:gpu 0\n  b x:gpu 4 | y:gpu 4"
    victim = of(PodSet("one", {"gpu": 3}), PodSet("two", {"gpu": 3}), name="victim")
    victim = running("a", victim.request, "victim", pod_sets=victim.pod_sets)
    assert victim.admission is not None
    flavors = {"one": {"gpu": "x"}, "two": {"gpu": "y"}}
    victim = replace(victim, admission=replace(victim.admission, flavors=flavors))
    preemptor = of(PodSet("first", {"gpu": 4}), PodSet("second", {"gpu": 2}), name="lender", group="b")
    decided = decide(groups, victim, preemptor, flavors=ONE[:2])
    assert evictions(decided) == ["victim Reclaim for lender"]
    claim = decided.evictions[0].claim
    assert claim is not None
    assert claim.flavors == {"first": {"gpu": "x"}, "second": {"gpu": "y"}}
    leaving = replace(victim, eviction=None, admission=None)
    claimed = replace(leaving, claim=claim)
    after = decide(groups, claimed, preemptor, flavors=ONE[:2])
    assert [(start.workload.key, start.flavors, start.on_claim) for start in after.starts] == [
        ("ns/lender", claim.flavors, True)
    ]


def test_simulate_prints_pod_sets_where_there_are_several() -> None:
    work = of(PodSet("one", {"gpu": 1}), PodSet("two", {"gpu": 1}))
    [start] = decide("root x:gpu 4\n  a x:gpu 4", work, flavors=ONE[:1]).starts
    data = start_as_data(start)
    assert (data["podSets"], "flavors" in data) == ({"one": {"gpu": "x"}, "two": {"gpu": "x"}}, False)
    [single] = decide("root x:gpu 4\n  a x:gpu 4", pending("a", 1), flavors=ONE[:1]).starts
    assert start_as_data(single)["flavors"] == {"gpu": "x"}


def test_explanation_covers_each_pod_set_with_the_use_of_the_others() -> None:
    work = of(PodSet("one", {"gpu": 3}), PodSet("two", {"gpu": 3}))
    snapshot = measure(given(X_AND_Y, running("a", 2, "other", "x"), work, flavors=ONE[:2]), NOW)
    found = explain(snapshot, plan(snapshot), work)
    assert [(each.pod_set, each.flavor, each.binding.missing if each.binding else 0) for each in found.flavors] == [
        ("one", "x", 1),
        ("one", "y", 0),
        ("two", "x", 1),
        ("two", "y", 0),
    ]
    assert not found.entitled


@pytest.mark.parametrize("seed", range(60))
def test_first_combination_of_flavors_with_room_is_taken(seed: int) -> None:
    """Brute force over up to four sets and three flavors, set by set in their order."""
    dice = Seeded(f"pod sets {seed}")
    rooms = [dice.between(1, 9) for _ in ONE]
    mins = [dice.between(0, room) for room in rooms]
    work = of(*(PodSet(f"s{number}", {"gpu": dice.between(1, 5)}) for number in range(dice.between(1, 4))))
    decided = decide(THREE.format(*rooms, *mins), work, flavors=ONE)
    assert assigned(decided) == list(_first_with_room(work, dict(zip("xyz", rooms, strict=True))))


def _first_with_room(work: Workload, room: Mapping[str, Amount]) -> Iterator[Flavors]:
    for chosen in product("xyz", repeat=len(work.pod_sets)):
        used = Counter[str]()
        for each, flavor in zip(work.pod_sets, chosen, strict=True):
            used[flavor] += each.request["gpu"]
        if all(amount <= room[flavor] for flavor, amount in used.items()):
            yield {each.name: {"gpu": flavor} for each, flavor in zip(work.pod_sets, chosen, strict=True)}
            return


def test_keys_are_counted_once_for_several_pod_sets() -> None:
    work = of(PodSet("one", {"gpu": 3}), PodSet("two", {"gpu": 2}))
    decided = decide("root x:gpu 9\n  a x:gpu 9", work, flavors=ONE[:1])
    assert starts(decided) == ["ray entitled x"]
    again = measure(given("root x:gpu 4\n  a x:gpu 4", work, flavors=ONE[:1]), NOW)
    assert again.numbers["a"][FlavorResource("x", "gpu")].request == 0
