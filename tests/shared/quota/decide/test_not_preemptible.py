"""Work that is not preemptible never exceeds its leaf's effectiveMin, claims included. docs/specification.md §6.5."""

from typing import Any

import pytest

from shared.quota.model.workload import Workload
from tests.builders import claimed, evicting, pending, running
from tests.shared.quota.decide.plan_words import decide, started_and_evicted, starts, waits

TWO = "root 8\n  a 4\n  b 4"


def non_preemptible(group: str, amount: int, name: str, **fields: Any) -> Workload:
    return pending(group, amount, name, preemptible=False, **fields)


@pytest.mark.parametrize(
    ("present", "expected"),
    [
        pytest.param([], ["new entitled"], id="alone"),
        pytest.param([running("a", 1, "x", preemptible=False)], ["new entitled"], id="up to effectiveMin"),
        pytest.param([running("a", 2, "x", preemptible=False)], [], id="one above"),
        pytest.param([evicting(running("a", 2, "x", preemptible=False))], [], id="one above, being evicted"),
        pytest.param([running("a", 4, "x")], ["new entitled"], id="preemptible work of the leaf does not count"),
    ],
)
def test_non_preemptible_workload_starts_only_within_effective_min(present: list[Workload], expected: object) -> None:
    assert starts(decide(TWO, [*present, non_preemptible("a", 3, "new", priority=1)])) == expected


def test_non_preemptible_workload_never_borrows() -> None:
    plan = decide(TWO, [non_preemptible("a", 3, "n1"), non_preemptible("a", 3, "n2")])
    assert (starts(plan), waits(plan)) == (["n1 entitled"], {"n2": "BeyondMin"})


def test_claim_of_a_non_preemptible_workload_counts() -> None:
    preemptor = non_preemptible("a", 2, "preemptor")
    victim = claimed(evicting(running("b", 4, "victim")), preemptor)
    plan = decide(TWO, [preemptor, victim, running("b", 3, "b0"), non_preemptible("a", 3, "n2")])
    assert (started_and_evicted(plan), waits(plan)) == (
        ([], []),
        {"preemptor": "WaitingForEvictions", "n2": "BeyondMin"},
    )


def test_non_preemptible_workload_above_effective_min_never_fits() -> None:
    assert waits(decide(TWO, [non_preemptible("a", 5, "big")])) == {"big": "NeverFits"}


def test_effective_min_shrinks_with_the_capacity() -> None:
    plan = decide(
        "root 8\n  a 8\n  b 8",
        [non_preemptible("a", 4, "n1"), non_preemptible("a", 1, "n2"), non_preemptible("b", 4, "n3")],
    )
    assert starts(plan) == ["n1 entitled", "n3 entitled"]


def test_non_preemptible_workload_is_never_a_victim() -> None:
    plan = decide(TWO, [running("a", 8, "x", preemptible=False), pending("b", 4, "b1")])
    assert started_and_evicted(plan) == ([], [])
