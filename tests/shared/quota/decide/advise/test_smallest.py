"""The smallest number that has an effect, also where the effect comes and goes."""

import pytest

from shared.quota.decide.advise.smallest import smallest


def test_small_number_is_found_below_a_gap_and_a_large_one_by_bisection() -> None:
    assert smallest(lambda number: number == 10 or number >= 64, 100) == 10
    assert smallest(lambda number: number >= 700, 1000) == 700
    assert smallest(lambda number: number > 1000, 1000) is None
    assert smallest(lambda number: number == 10, 64) == 10


@pytest.mark.parametrize("least", [1, 65, 100, 101, 650, 699, 700, 1000])
def test_steps_of_a_unit_find_the_same(least: int) -> None:
    assert smallest(lambda number: number >= least, 1000, unit=100) == least
    assert smallest(lambda number: number >= least, 1000, hints=(700,), unit=100) == least


def test_hint_that_is_no_amount_is_not_tried() -> None:
    assert smallest(lambda number: number >= -1, 100, hints=(-1, 0, 101)) == 1
