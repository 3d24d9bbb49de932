"""A leaf whose jobs are larger than its share uses as much as others do over time, and nothing is evicted for that."""

from fractions import Fraction

import pytest

from tests.prove.large_jobs import CASES, LONGEST_RUN, Course, run


def _within(course: Course, used: dict[str, float]) -> dict[str, Fraction]:
    """Which groups have not used that much, within 5 %."""
    return {name: course.used[name] for name, due in used.items() if abs(course.used[name] - due) > due * 0.05}


@pytest.mark.parametrize(
    ("case", "used", "all_used"),
    [
        ("jobs of 1 and of 3, four GPUs", {"a": 1.87, "b": 1.87}, 3.6),
        ("weights three to one", {"a": 2.85, "b": 0.95}, 3.6),
        ("jobs of 1 and of 6, ten GPUs", {"a": 4.8, "b": 4.8}, 9.4),
        ("beside a min in use", {"m": 2, "a": 1.87, "b": 1.87}, 5.6),
        ("two levels", {"p": 3.92, "q": 3.92, "p1": 1.96, "p2": 1.96}, 7.6),
    ],
)
def test_use_follows_the_weights_also_for_jobs_larger_than_the_share(
    case: str, used: dict[str, float], all_used: float
) -> None:
    course = run(*CASES[case])
    assert _within(course, used) == {}
    assert course.all_used >= all_used
    assert course.taken_by_turns == 0


@pytest.mark.parametrize(
    ("case", "shares"),
    [
        ("short at two levels", {"p1": 1, "p2": 1, "q": 2}),
        ("short at two levels, two siblings", {"p1": 1, "p2": 1, "p3": 1, "q": 3}),
        ("short at three levels", {"r1": 1, "r2": 1, "p1": 2, "q": 4}),
    ],
)
def test_job_that_falls_short_at_several_levels_comes_near_its_share(case: str, shares: dict[str, int]) -> None:
    course = run(*CASES[case])
    assert {name for name, share in shares.items() if course.used[name] < share * 0.75} == set()
    assert course.taken_by_turns == 0


def test_room_for_a_turn_gathers_no_longer_than_what_runs_beside_it() -> None:
    course = run(*CASES["jobs of 1 and of 6, ten GPUs"])
    assert 0 < course.gathering <= LONGEST_RUN


def test_no_turn_is_at_the_cost_of_a_min() -> None:
    course = run(*CASES["a min leaves too little"])
    assert course.used == {"root": Fraction(4), "a": Fraction(4), "b": Fraction(0)}
    assert course.turns == 0


def test_new_process_goes_on_with_the_turns() -> None:
    case = CASES["jobs of 1 and of 3, four GPUs"]
    assert run(*case, cycles=120, restarts_at=61) == run(*case, cycles=120)
