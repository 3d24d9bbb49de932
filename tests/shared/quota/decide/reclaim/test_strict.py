"""Strict mode: borrowing ends by itself, with or without a preemptor. docs/specification.md §7.8."""

from datetime import timedelta

import pytest

from shared.quota.model.settings import ReclaimMode
from shared.quota.model.workload import Workload
from tests.builders import after, pending, running
from tests.shared.quota.decide.plan_words import decide, evictions, started_and_evicted, starts

STRICT = ReclaimMode.STRICT
TWO = "root 12\n  a 4 w0\n  b 4"
B = [running("b", 4, "b0", preemptible=False), pending("b", 9, "b1")]
"""b waits for more than there is: runtime(b) is 8, runtime(a) 4, and room is free."""


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        pytest.param(3, ["new opportunistic"], id="below its runtime; may end above"),
        pytest.param(4, [], id="at its runtime"),
    ],
)
def test_strict_mode_borrows_only_in_a_leaf_below_its_runtime(used: int, expected: list[str]) -> None:
    assert starts(decide(TWO, [*B, running("a", used, "x"), pending("a", 3, "new")], mode=STRICT)) == expected


@pytest.mark.parametrize(
    ("present", "expected"),
    [
        pytest.param(
            [running("a", 4, "x"), running("a", 2, "y", since=after(1))], ["y Strict"], id="down to its runtime"
        ),
        pytest.param([running("a", 3, "x"), running("a", 3, "y")], [], id="not below it"),
        pytest.param(
            [running("a", 4, "x"), running("a", 1, "y"), running("a", 1, "z", priority=-1)],
            ["z Strict", "y Strict"],
            id="the least important first",
        ),
        pytest.param(
            [running("a", 4, "x"), running("a", 1, "y"), running("a", 3, "z", priority=-1)],
            ["z Strict", "y Strict"],
            id="again and again",
        ),
        pytest.param(
            [running("a", 4, "x", priority=1), running("a", 3, "big"), running("a", 1, "small", since=after(-9))],
            ["big Strict", "small Strict"],
            id="each only while it overshoots",
        ),
        pytest.param(
            [running("a", 1, "small", priority=1), running("a", 5, "big")],
            [],
            id="nobody goes in place of one who must not",
        ),
    ],
)
def test_strict_mode_evicts_from_a_leaf_over_its_runtime_without_a_preemptor(
    present: list[Workload], expected: list[str]
) -> None:
    assert evictions(decide(TWO, [*B, *present], mode=STRICT)) == expected


def test_on_demand_mode_keeps_borrowing_workloads_without_a_preemptor() -> None:
    assert started_and_evicted(decide(TWO, [*B, running("a", 4, "x"), running("a", 2, "y")])) == ([], [])


def test_exempt_after_start_of_the_least_important_stops_strict_reclaim() -> None:
    work = [*B, running("a", 4, "x", since=after(-99)), running("a", 1, "y", since=after(-99))]
    plan = decide(
        TWO, [*work, running("a", 1, "z", since=after(-5))], mode=STRICT, exempt_after_start=timedelta(seconds=30)
    )
    assert (evictions(plan), plan.wake_at) == ([], after(25))


def test_grace_period_applies_to_strict_reclaim() -> None:
    plan = decide(
        TWO, [*B, running("a", 4, "x"), running("a", 2, "y")], mode=STRICT, grace_period=timedelta(seconds=60)
    )
    assert (evictions(plan), plan.wake_at) == ([], after(60))


def test_victims_of_strict_mode_replace_those_of_a_preemptor() -> None:
    """What Strict mode takes anyway is filled back to nobody, but the preemptor's own victims are."""
    work = [running("a", 4, "x", since=after(-9)), running("a", 2, "y", since=after(-5)), running("a", 2, "z")]
    plan = decide("root 8\n  a 4 w0\n  b 4", [*work, pending("b", 4, "b1")], mode=STRICT)
    assert sorted(each.split()[0] for each in evictions(plan)) == ["y", "z"]
