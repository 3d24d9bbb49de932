"""Who holds what a workload waits for, and what of it is borrowed."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from shared.quota.decide.plan import plan
from shared.quota.measure.snapshot import measure
from shared.quota.model.rules import inactive_groups
from shared.quota.model.workload import Turn, Workload
from shared.quota.outlook.explain.explanation import explain
from tests.builders import NOW, after, evicting, in_main, pending, running, unanswered, world
from tests.shared.quota.decide.plan_words import given
from tests.trees import GPU, tree

LATER: dict[str, Any] = {"notice": timedelta(minutes=5)}
"""Nobody is evicted in the cycle that is explained."""


def test_what_is_borrowed_is_held_by_those_that_go_first() -> None:
    waits, leaves = pending("b", 6, "waits"), evicting(running("a", 3, "leaves", priority=1))
    fixed = running("a", 2, "fixed", preemptible=False)
    snapshot = measure(world("root 9\n  a 5\n  b 4", [leaves, running("a", 4, "stays"), fixed, waits]), NOW)
    [flavor] = explain(snapshot, plan(snapshot), waits).flavors
    held = {each.workload.key: (each.amount, each.borrowed) for each in flavor.holders}
    assert held == {"ns/stays": (4, 1), "ns/leaves": (3, 3), "ns/fixed": (2, 0)}


def test_grace_keeps_what_another_group_owes_and_not_what_has_lower_priority() -> None:
    waits = pending("b", 4, "waits", priority=1)
    work = [running("a", 6, "owes"), running("b", 2, "lower"), waits]
    snapshot = measure(given("root 8\n  a 2\n  b 6", work, grace_period=timedelta(seconds=60)), NOW)
    [flavor] = explain(snapshot, plan(snapshot), waits).flavors
    found = {each.workload.key: (each.because, each.until) for each in flavor.holders}
    assert found == {"ns/owes": ("GracePeriod", after(60)), "ns/lower": ("", None)}


def reasons(groups: str, work: list[Workload], waits: Workload, **fields: Any) -> dict[str, str]:
    """What keeps each workload that holds what `waits` lacks; empty for one that can be recycled."""
    inactive = inactive_groups(tree(groups), {"default"})
    snapshot = measure(replace(given(groups, [*work, waits], **fields), inactive=inactive), NOW)
    [flavor] = explain(snapshot, plan(snapshot), waits).flavors
    return {each.workload.key.removeprefix("ns/"): each.because for each in flavor.holders}


def test_group_that_is_over_keeps_what_the_group_above_it_is_entitled_to() -> None:
    work = [running("a", 3, "owes"), pending("b", 2, "next door"), running("right", 4, "full")]
    found = reasons("root 8\n  left/ 4\n    a 2\n    b 2\n  right 4", work, pending("right", 2, "waits"), **LATER)
    assert found["owes"] == "WithinRuntime"
    found = reasons("root 8\n  left/ 4\n    a 2\n    b 2\n  right 4", work[:2], pending("right", 6, "waits"), **LATER)
    assert found["owes"] == "WithinRuntime"


def test_what_a_turn_alone_puts_over_is_kept_by_grace_from_a_min_and_by_its_groups_from_the_turn() -> None:
    turn = replace(pending("b", 2, "large"), turn=Turn(in_main({GPU: "default"}), NOW))
    busy = [running("a", 1, "spared"), running("b", 2, "has"), running("o", 1, "own")]
    owed, groups = pending("m", 1, "owed"), "root 4\n  a 0 w1\n  b 0 w1\n  m 1 w1\n  o 1 w1"
    found = reasons(groups, [*busy, turn], owed, grace_period=timedelta(seconds=60))
    assert found == {"spared": "GracePeriod", "has": "WithinRuntime", "own": "WithinRuntime"}
    assert reasons(groups, [*busy, owed], turn)["spared"] == "WithinRuntime"


def test_start_that_is_not_confirmed_keeps_a_workload() -> None:
    owes = unanswered(running("a", 6, "owes"))
    assert reasons("root 8\n  a 2\n  b 6", [owes], pending("b", 4, "waits")) == {"owes": "NotAnswered"}


def test_nothing_is_reclaimed_from_a_group_that_is_inactive() -> None:
    lost = [running("gone", 6, "lost"), running("a", 1, "fits")]
    drawn = "root 8\n  gone h100:gpu 1 | 2\n  a 6"
    assert reasons(drawn, lost, pending("a", 4, "waits")) == {"lost": "Inactive", "fits": "NotLowerPriority"}
