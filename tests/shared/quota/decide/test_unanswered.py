"""A workload whose start the Job controller has not answered is not stopped; its room is kept for the preemptor."""

from datetime import timedelta
from typing import Any

import pytest

from shared.quota.model.settings import ReclaimMode
from shared.quota.model.workload import Workload
from tests.builders import after, evicting, pending, running, unanswered
from tests.shared.quota.decide.plan_words import decide, evictions, started_and_evicted, waits

TWO = "root 8\n  a 4\n  b 4"
PREEMPTOR = pending("b", 4, "b1")


def test_preemptor_waits_for_the_start_to_be_acknowledged_with_its_room_reserved() -> None:
    plan = decide(TWO, [running("a", 4, "a0", since=after(-9)), unanswered(running("a", 4, "a1")), PREEMPTOR])
    assert (started_and_evicted(plan), plan.notices, waits(plan), plan.wake_at) == (
        ([], []),
        (),
        {"b1": "RoomDelayed"},
        None,
    )


def test_no_other_workload_is_evicted_for_that_preemptor() -> None:
    work = [
        running("a", 2, "a0", since=after(-9)),
        running("a", 3, "a1", since=after(-1)),
        unanswered(running("a", 3, "a2")),
        PREEMPTOR,
    ]
    assert evictions(decide(TWO, work)) == []


def test_unacknowledged_start_does_not_make_its_leaf_a_source_of_victims() -> None:
    work = [running("a", 4, "old", since=after(-9)), running("a", 4, "new", priority=1), PREEMPTOR]
    assert evictions(decide(TWO, work)) == ["old Reclaim for b1"]
    assert evictions(decide(TWO, [work[0], unanswered(work[1]), PREEMPTOR])) == []


def test_leaf_over_runtime_without_that_start_is_reclaimed() -> None:
    work = [
        running("a", 4, "x", since=after(-9)),
        running("a", 2, "y", priority=1),
        unanswered(running("a", 1, "new", priority=1)),
        PREEMPTOR,
    ]
    assert evictions(decide(TWO, work)) == ["x Reclaim for b1"]


def test_what_is_being_evicted_does_not_make_a_leaf_owe_more() -> None:
    work = [
        running("a", 4, "x", since=after(-9)),
        evicting(running("a", 2, "leaves")),
        unanswered(running("a", 2, "new", priority=1)),
        pending("b", 4, "b1"),
    ]
    assert evictions(decide("root 8\n  a 4\n  b 4", work)) == []


def test_what_a_leaf_has_claimed_makes_it_owe_more() -> None:
    """Without `new`, which may fail, a uses no more than its 4; with what it claims it owes 3."""
    claims = pending("a", 3, "claims", priority=1)
    work = [
        running("a", 4, "x", since=after(-9)),
        unanswered(running("a", 1, "new", priority=1)),
        evicting(running("b", 3, "leaves"), claims),
        claims,
        pending("b", 2, "b1"),
    ]
    assert evictions(decide("root 9\n  a 4\n  b 5", work)) == ["x Reclaim for b1"]


def test_acknowledged_start_can_be_evicted() -> None:
    work = [running("a", 4, "a0", since=after(-9)), running("a", 4, "a1"), PREEMPTOR]
    assert evictions(decide(TWO, work)) == ["a1 Reclaim for b1"]


EVERY_RULE: dict[str, tuple[str, list[Workload], dict[str, Any]]] = {
    "over a ceiling": ("root 8\n  a 2..4", [running("a", 6, "x")], {}),
    "over capacity": ("root 4\n  a 4\n  b 4", [running("a", 6, "x")], {}),
    "strict": (
        "root 12\n  a 4 w0\n  b 8",
        [running("a", 4, "w"), running("a", 2, "x"), running("b", 6, "b0"), pending("b", 8, "b1")],
        {"mode": ReclaimMode.STRICT},
    ),
    "preemption": (TWO, [running("a", 8, "x"), pending("a", 4, "h", priority=1)], {}),
    "swap": ("root 8\n  a 0\n  b 4", [running("a", 8, "x"), pending("a", 4, "h", priority=1)], {}),
    "a drained group": ("root 8\n  a 4 drain", [running("a", 4, "x")], {}),
    "not ready in time": (
        "root 8\n  a 4",
        [running("a", 4, "x", ready=False, since=after(-99))],
        {"wait_for_pods_ready": True, "timeout": timedelta(seconds=9)},
    ),
}


@pytest.mark.parametrize(("groups", "work", "settings"), EVERY_RULE.values(), ids=list(EVERY_RULE))
def test_every_eviction_rule_waits_for_the_acknowledgement(
    groups: str, work: list[Workload], settings: dict[str, Any]
) -> None:
    early = [unanswered(each) if each.key == "ns/x" else each for each in work]
    assert [each.split()[0] for each in evictions(decide(groups, work, **settings))] == ["x"]
    assert evictions(decide(groups, early, **settings)) == []
