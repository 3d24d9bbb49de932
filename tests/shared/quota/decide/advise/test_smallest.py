"""The smallest number that has an effect, also where the effect comes and goes."""

from shared.quota.decide.advise.smallest import smallest


def test_small_number_is_found_below_a_gap_and_a_large_one_by_bisection() -> None:
    assert smallest(lambda number: number == 10 or number >= 64, 100) == 10
    assert smallest(lambda number: number >= 700, 1000) == 700
    assert smallest(lambda number: number > 1000, 1000) is None
