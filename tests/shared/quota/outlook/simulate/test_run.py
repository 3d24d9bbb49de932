"""Cycles one after the other, what is printed of them, and the stories of the sources."""

from dataclasses import replace
from datetime import timedelta

from shared.quota.measure.inputs.world import World
from shared.quota.model.workload import Workload
from shared.quota.outlook.simulate import run as simulate
from tests.builders import NOW, after, claimed, evicting, pending, running
from tests.shared.quota.decide.plan_words import given, started_and_evicted

TWO = "root 8\n  a 4\n  b 4"


def used(world: World) -> dict[str, int]:
    numbers = simulate.run(world, NOW).snapshot.numbers
    return {group: sum(each.used for each in by_key.values()) for group, by_key in numbers.items() if by_key}


def test_run_until_stable_ends_with_the_first_cycle_that_changes_nothing() -> None:
    outcome = simulate.run(given(TWO, [running("a", 4, "a0"), running("a", 4, "a1"), pending("b", 4, "b1")]), NOW)
    assert ([started_and_evicted(each) for each in outcome.plans], outcome.settled) == (
        [([], ["a1 Reclaim for b1"]), (["b1 entitled claim"], [])],
        True,
    )


def test_simulated_evictions_are_counted_on_the_workload() -> None:
    world = given(TWO, [running("a", 4, "a0"), running("a", 4, "a1", evictions=2), pending("b", 4, "b1")])
    (victim,) = (each for each in simulate.run(world, NOW).world.workloads_of("a").by_id.values() if each.evictions)
    assert (victim.key, victim.evictions) == ("ns/a1", 3)


def test_fixed_number_of_cycles_lists_every_cycle() -> None:
    outcome = simulate.run(given(TWO, [pending("a", 4, "a0")]), NOW, cycles=3, step=timedelta(seconds=5))
    assert [started_and_evicted(each) for each in outcome.plans] == [(["a0 entitled"], []), ([], []), ([], [])]
    assert [each.now for each in outcome.plans] == [NOW, after(5), after(10)]


def test_run_until_stable_advances_to_the_next_moment() -> None:
    work = [running("a", 4, "a0"), running("a", 4, "a1"), pending("b", 4, "b1")]
    outcome = simulate.run(given(TWO, work, grace_period=timedelta(seconds=60)), NOW)
    assert [(each.now, *started_and_evicted(each)) for each in outcome.plans] == [
        (after(60), [], ["a1 Reclaim for b1"]),
        (after(60), ["b1 entitled claim"], []),
    ]


def test_run_that_never_becomes_stable_is_stopped() -> None:
    outcome = simulate.run(given(TWO, [pending("a", 4, "a0")]), NOW, limit=1)
    assert outcome.settled is False


def test_output_has_exactly_the_documented_fields() -> None:
    work = [running("a", 4, "a0"), running("a", 4, "a1"), pending("b", 4, "b1")]
    data = simulate.as_json(simulate.run(given(TWO, work), NOW))
    waiting = data["pending"]
    assert data["groups"]["b"]["default"]["gpu"] == {
        "min": 4,
        "effectiveMin": 4,
        "guarantee": 0,
        "ceiling": 8,
        "weight": 8,
        "request": 4,
        "used": 4,
        "nonPreemptible": 0,
        "charge": 4,
        "demand": 4,
        "runtime": 4,
        "borrowed": 0,
        "lendable": 0,
    }
    assert data["cycles"] == [
        {
            "admitted": [],
            "evicted": [
                {
                    "workload": "ns/a1",
                    "kind": "Job",
                    "group": "a",
                    "reason": "Reclaimed",
                    "for": "ns/b1",
                    "rule": "Reclaim",
                    "message": "Job 'ns/a1' is stopped and queued again: group 'a' is over its runtime of default/gpu, "
                    "which Job 'ns/b1' is entitled to",
                }
            ],
        },
        {
            "admitted": [
                {"workload": "ns/b1", "kind": "Job", "group": "b", "flavors": {"gpu": "default"}, "tier": "entitled"}
            ],
            "evicted": [],
        },
    ]
    assert waiting == [
        {
            "workload": "ns/a1",
            "kind": "Job",
            "group": "a",
            "reason": "WaitingForQuota",
            "binding": "root",
            "flavor": "default",
            "resource": "gpu",
            "missing": 4,
            "message": "Job 'ns/a1' waits: group 'root' lacks 4 of default/gpu (request 4, free 0); "
            "runs when used falls to 4",
        }
    ]


def test_workload_evicted_in_the_last_cycle_still_counts() -> None:
    work = [running("a", 4, "a0"), running("a", 4, "a1"), pending("b", 4, "b1")]
    outcome = simulate.run(given(TWO, work), NOW, cycles=1)
    assert (outcome.snapshot.numbers["a"], outcome.settled) != ({}, True)
    assert sum(each.used for each in outcome.snapshot.numbers["a"].values()) == 8


def test_victim_that_starts_beside_its_preemptor_runs_without_the_claim() -> None:
    preemptor = pending("b", 4, "b1")
    outcome = simulate.run(given(TWO, [claimed(pending("a", 4, "a1"), preemptor), preemptor]), NOW, cycles=1)
    [victim] = outcome.world.workload_sets["a"].by_id.values()
    assert (victim.admission is not None, victim.claim) == (True, None)


def test_two_decisions_about_one_workload_in_a_cycle_are_both_applied() -> None:
    """a1 carries an old claim that ends, and is evicted again for b1."""
    stale = claimed(running("a", 4, "a1", since=after(1)), pending("b", 1, "deleted"))
    work: list[Workload] = [running("a", 4, "a0"), stale, pending("b", 4, "b1")]
    outcome = simulate.run(given(TWO, work), NOW, cycles=1)
    [victim] = outcome.world.workload_sets["a"].evicting
    assert (victim.key, victim.claim and victim.claim.preemptor) == ("ns/a1", "ns/b1")


def test_kep_79_story_1_production_borrows_from_research_but_not_the_other_way_round() -> None:
    """Research must not borrow, and neither must its queue; production's queue can."""
    groups = "root 20\n  research/ 10 b0\n    r 10\n  production/ 10\n    p 10"
    work = [pending("r", 5, f"r{number}") for number in range(4)] + [
        pending("p", 5, f"p{number}") for number in range(4)
    ]
    idle_research = [each for each in work if each.group == "p"]
    idle_production = [each for each in work if each.group == "r"]
    assert [used(given(groups, each)) for each in (work, idle_research, idle_production)] == [
        {"root": 20, "research": 10, "r": 10, "production": 10, "p": 10},
        {"root": 20, "research": 0, "r": 0, "production": 20, "p": 20},
        {"root": 10, "research": 10, "r": 10, "production": 0, "p": 0},
    ]


def test_kep_79_story_2_a_special_queue_borrows_from_organisations_that_do_not_borrow() -> None:
    groups = "root 16\n  org1/ 8 b0\n    o1 8\n  org2/ 8 b0\n    o2 8\n  special 0"
    special = [pending("special", 4, f"s{number}", priority=-1) for number in range(3)]
    first = simulate.run(given(groups, [pending("o1", 8, "own"), *special]), NOW)
    back = simulate.run(first.world.with_changes([(None, pending("o2", 8, "back"))]), after(60))
    assert [started_and_evicted(each) for each in (*first.plans, *back.plans)] == [
        (["own entitled", "s0 entitled", "s1 entitled"], []),
        ([], ["s1 Reclaim for back", "s0 Reclaim for back"]),
        (["back entitled claim"], []),
    ]


def test_order_of_the_input_does_not_change_the_run() -> None:
    work = [pending(leaf, size, f"{leaf}{size}") for leaf in "ab" for size in (1, 2, 3, 4)]
    runs = [simulate.as_json(simulate.run(given(TWO, each), NOW)) for each in (work, list(reversed(work)))]
    assert runs[0] == runs[1]


def test_starting_preemptor_removes_its_claims_from_the_victims() -> None:
    work = [running("a", 4, "a0"), running("a", 4, "a1"), pending("b", 4, "b1")]
    outcome = simulate.run(given(TWO, work), NOW)
    assert {each.key: each.claim for each in outcome.world.workload_sets["a"].by_id.values()} == {
        "ns/a0": None,
        "ns/a1": None,
    }


def test_run_is_not_stable_while_evicted_workloads_end() -> None:
    work = [evicting(running("a", 4, "a0")), running("a", 4, "a1"), pending("b", 4, "b1")]
    outcome = simulate.run(given(TWO, work), NOW)
    assert [started_and_evicted(each) for each in outcome.plans] == [(["b1 entitled"], [])]


def test_eviction_can_take_longer_than_a_cycle() -> None:
    work = [running("a", 4, "a0"), running("a", 4, "a1"), pending("b", 4, "b1")]
    decided = simulate.run(given(TWO, work), NOW, cycles=1)
    [victim] = decided.world.workload_sets["a"].evicting
    still = simulate.end_evictions(decided.world, but=[victim.id])
    assert simulate.run(still, after(1), cycles=1).last.is_idle
    assert replace(victim, admission=None) in simulate.end_evictions(still).workload_sets["a"].by_id.values()
