"""What a running workload's place rests on, and by which rule it could be lost: the next plan shows it."""

from datetime import timedelta

import pytest

from shared.quota.decide.decisions import EvictionRule
from shared.quota.decide.plan import plan
from shared.quota.measure.snapshot import measure
from shared.quota.model.settings import QuotaSettings, ReclaimSettings, StartupSettings
from shared.quota.model.workload import Workload
from shared.quota.outlook.advise.json_output import running_as_data
from shared.quota.outlook.explain.explanation import explain
from shared.quota.outlook.explain.running import Loss, RunningExplanation
from tests.builders import NOW, after, claimed, evicting, pending, running, world
from tests.trees import capacity_in, tree

TREE = "root 8\n  a 4\n  b 4"


def running_of(groups: str, workload: Workload, *others: Workload, exempt: float = 0) -> RunningExplanation:
    found = tree(groups)
    reclaim = ReclaimSettings(exempt_after_start=timedelta(seconds=exempt))
    settings = QuotaSettings(capacity=capacity_in(found), reclaim=reclaim)
    snapshot = measure(world(found, [workload, *others], settings=settings), after(1))
    explained = explain(snapshot, plan(snapshot), workload).running
    assert explained is not None
    return explained


def losses(found: RunningExplanation) -> dict[EvictionRule, str]:
    return {each.rule: each.because for each in found.losses}


def test_workload_within_runtime_is_evicted_only_for_higher_priority() -> None:
    found = running_of(TREE, running("a", 3, "one"))
    assert found.within_runtime
    assert losses(found) == {EvictionRule.RECLAIM: "WithinRuntime", EvictionRule.PREEMPTION: ""}


def test_data_of_each_loss_says_why_it_is_impossible() -> None:
    losses_as_data = running_as_data(running_of(TREE, running("a", 3, "one")))["losses"]
    assert [(each["rule"], each["because"]) for each in losses_as_data] == [
        ("Reclaim", "WithinRuntime"),
        ("Preemption", None),
    ]


def test_end_of_the_run_time_is_named() -> None:
    found = running_of(TREE.replace("a 4", "a 4 run60"), running("a", 3, "one"))
    assert found.losses[-1] == Loss(EvictionRule.RUN_TIME, "RunTimeLeft", after(60))


def test_workload_without_a_limit_has_no_end() -> None:
    assert EvictionRule.RUN_TIME not in losses(running_of(TREE.replace("b 4", "b 4 run60"), running("a", 3, "one")))


def test_borrowed_amount_is_named() -> None:
    found = running_of(TREE, running("a", 6, "one"), pending("b", 4, "owner"))
    (held,) = found.keys
    assert (held.amount, held.borrowed, held.group_used, held.group_runtime) == (6, 2, 6, 4)
    assert not found.within_runtime
    assert losses(found)[EvictionRule.RECLAIM] == ""


def test_workload_can_be_lost_for_one_of_its_resources_though_another_is_within_runtime() -> None:
    borrows = running("a", {"gpu": 6, "cpu": 3}, "one")
    found = running_of(
        "root 8 default:cpu 8\n  a 4 default:cpu 4\n  b 4 default:cpu 4", borrows, pending("b", 4, "owner")
    )
    assert [each.within_runtime for each in found.keys] == [True, False]
    assert losses(found)[EvictionRule.RECLAIM] == ""


@pytest.mark.parametrize(("amount", "entitled"), [(3, True), (6, False)], ids=["within its runtime", "borrows"])
def test_running_workload_is_entitled_within_its_runtime(amount: int, entitled: bool) -> None:
    workload = running("a", amount, "one")
    snapshot = measure(world(TREE, [workload, pending("b", 4, "owner")]), NOW)
    assert explain(snapshot, plan(snapshot), workload).entitled is entitled


def test_listed_risks_match_the_evictions_of_the_next_plan() -> None:
    one, owner = running("a", 6, "one"), pending("b", 4, "owner")
    assert losses(running_of(TREE, one, owner))[EvictionRule.RECLAIM] == ""
    decided = plan(measure(world(TREE, [one, owner]), after(1)))
    assert [(each.workload.key, each.rule) for each in decided.evictions] == [("ns/one", EvictionRule.RECLAIM)]
    higher = pending("a", 4, "higher", priority=1)
    decided = plan(measure(world(TREE, [running("a", 4, "low"), running("b", 4, "base"), higher]), after(1)))
    assert [(each.workload.key, each.rule) for each in decided.evictions] == [("ns/low", EvictionRule.PREEMPTION)]


def test_protection_is_listed_with_its_end() -> None:
    borrowed = (running("a", 6, "one"), pending("b", 4, "owner"))
    exempt = running_of(TREE, *borrowed, exempt=60)
    assert exempt.losses[0] == Loss(EvictionRule.RECLAIM, "ExemptAfterStart", NOW + timedelta(seconds=60))
    kept = running_of(TREE, running("a", 3, "one", preemptible=False))
    assert set(losses(kept).values()) == {"NotPreemptible"}


@pytest.mark.parametrize("wait", [True, False])
def test_unready_pods_are_listed_as_a_risk(wait: bool) -> None:
    found = tree(TREE)
    one = running("a", 3, "one", ready=False)
    startup = StartupSettings(wait_for_pods_ready=wait, timeout=timedelta(minutes=5))
    settings = QuotaSettings(capacity=capacity_in(found), startup=startup)
    snapshot = measure(world(found, [one], settings=settings), after(1))
    explained = explain(snapshot, plan(snapshot), one).running
    assert explained is not None
    started_and_evicted = [each for each in explained.losses if each.rule is EvictionRule.STARTUP_TIMEOUT]
    assert started_and_evicted == ([Loss(EvictionRule.STARTUP_TIMEOUT, "NotReadyYet", after(300))] if wait else [])


def test_drain_is_listed_as_a_risk() -> None:
    found = running_of("root 8\n  a 4 drain\n  b 4", running("a", 3, "one"))
    assert losses(found)[EvictionRule.STOP_POLICY] == ""
    assert running_of(TREE, running("gone", 3, "one")).keys == ()


def test_claim_of_its_group_leaves_less_of_the_runtime_to_a_running_workload() -> None:
    claims = pending("a", 2, "claims", priority=1)
    found = running_of(TREE, running("a", 4, "one"), claims, claimed(evicting(running("b", 4, "leaves")), claims))
    assert losses(found)[EvictionRule.RECLAIM] == ""


def test_use_that_is_being_evicted_leaves_the_runtime_to_a_running_workload() -> None:
    found = running_of(TREE, running("a", 4, "one"), evicting(running("a", 4, "leaves")))
    assert losses(found)[EvictionRule.RECLAIM] == "WithinRuntime"
