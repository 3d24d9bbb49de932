"""What a stop policy does to work that waits and work that runs. docs/specification.md §4.10."""

from dataclasses import replace

import pytest

from shared.quota.decide.decisions import Plan
from shared.quota.decide.plan import plan
from shared.quota.measure.snapshot import measure
from shared.quota.model.budgets.budget import Budget, BudgetKey, BudgetPeriod, SpentBudget, WhenSpent
from shared.quota.model.lifecycle import Inactive
from shared.quota.outlook.explain.pending_reasons import PendingReasons
from tests.builders import NOW, pending, running
from tests.shared.quota.decide.plan_words import decide, given, started_and_evicted, starts, waits

WORK = [running("a", 2, "x"), running("a", 1, "firm", preemptible=False), pending("a", 1, "new")]


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        pytest.param("root 8\n  p/ 4\n    a 4", (["new entitled"], []), id="None"),
        pytest.param("root 8\n  p/ 4 close\n    a 4", (["new entitled"], []), id="Close: what is there goes on"),
        pytest.param("root 8\n  p/ 4 hold\n    a 4", ([], []), id="Hold: nothing starts"),
        pytest.param("root 8\n  p/ 4 drain\n    a 4", ([], ["firm StopPolicy", "x StopPolicy"]), id="HoldAndDrain"),
        pytest.param(
            "root 8\n  p/ 4\n    a 4 drain", ([], ["firm StopPolicy", "x StopPolicy"]), id="of the leaf itself"
        ),
    ],
)
def test_stop_policy_applies_to_the_whole_subtree(groups: str, expected: tuple[list[str], list[str]]) -> None:
    decided = decide(groups, WORK)
    assert (starts(decided), sorted(started_and_evicted(decided)[1])) == expected


def spent(when: WhenSpent, at: int | None = 0) -> Plan:
    """What is decided when a budget of the group above the leaf is spent."""
    budget = Budget(BudgetKey("gpu", "", BudgetPeriod.TOTAL, "UTC"), 1000, when)
    world = given("root 8\n  p/ 2\n    a 1", WORK).with_spent({"p": (SpentBudget(budget, at, None),)})
    return plan(measure(world, NOW))


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        (WhenSpent.WARN, (["new entitled"], [])),
        (WhenSpent.NO_BORROW, ([], ["x Ceiling"])),
        (WhenSpent.NO_START, ([], [])),
        (WhenSpent.DRAIN, ([], ["x StopPolicy"])),
    ],
)
def test_spent_budget_takes_no_workload_that_is_not_preemptible(
    when: WhenSpent, expected: tuple[list[str], list[str]]
) -> None:
    decided = spent(when)
    assert (starts(decided), sorted(started_and_evicted(decided)[1])) == expected


def test_what_waits_for_a_budget_and_what_goes_for_it_says_so() -> None:
    drained = spent(WhenSpent.DRAIN)
    messages = [each.message for each in drained.evictions]
    assert messages == ["Job 'ns/x' is stopped and queued again: group 'p' has spent a budget with whenSpent Drain"]
    reasons = {each.workload.key: each.message for each in PendingReasons(drained)}
    text = (
        "group 'p' has spent its budget of 1 hours of gpu in all: it never begins again; a larger budget holds at once"
    )
    assert reasons["ns/new"] == f"Job 'ns/new' waits: {text}"
    [unknown] = PendingReasons(spent(WhenSpent.DRAIN, at=None))
    text = "how much group 'p' has used of its budget of 1 hours of gpu in all is read first; it takes a moment"
    assert unknown.message == f"Job 'ns/new' waits: {text}"


def test_pending_workload_names_the_group_that_stops_it() -> None:
    [waiting] = PendingReasons(decide("root 8\n  p/ 4 hold\n    a 4", WORK))
    assert (waiting.reason.value, waiting.binding, waiting.message) == (
        "GroupStopped",
        "p",
        "Job 'ns/new' waits: group 'p' has stopPolicy Hold",
    )


def test_inactive_group_starts_nothing_and_keeps_its_running_workloads() -> None:
    world = given("root 8\n  a 4\n  b 4", [running("a", 6, "x"), pending("a", 1, "a1"), pending("b", 2, "b1")])
    frozen = replace(world, inactive={"a": Inactive("Cycle", "group 'a' is its own ancestor")})
    decided = plan(measure(frozen, NOW))
    assert (started_and_evicted(decided), waits(decided)) == ((["b1 entitled"], []), {"a1": "GroupInactive"})


def test_workloads_of_an_inactive_group_are_not_evicted() -> None:
    world = given("root 8\n  a 4\n  b 4", [running("a", 8, "x"), pending("b", 2, "b1")])
    frozen = replace(world, inactive={"a": Inactive("Cycle", "group 'a' is its own ancestor")})
    assert started_and_evicted(plan(measure(frozen, NOW))) == ([], [])
