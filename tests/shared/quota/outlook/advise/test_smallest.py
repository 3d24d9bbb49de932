"""The smallest number that has an effect, also where the effect comes and goes."""

from functools import partial

import pytest

from shared.quota.outlook.advise.smallest import amounts_written, rounded_up, smallest


def test_small_number_is_found_below_a_gap_and_a_large_one_by_bisection() -> None:
    assert smallest(lambda number: number == 10 or number >= 64, 100) == (10, True)
    assert smallest(lambda number: number >= 700, 1000) == (700, True)
    assert smallest(lambda number: number > 1000, 1000) is None
    assert smallest(lambda number: number == 10, 64) == (10, True)


def test_number_that_a_person_would_write_is_found_where_the_effect_comes_and_goes() -> None:
    assert smallest(lambda number: number in (19, 20) or number >= 68, 1000, hints=(68,)) == (19, True)
    assert smallest(lambda number: number == 2, 1000) == (2, True)
    cores = amounts_written("cpu", 500)
    in_cores = partial(smallest, largest=70_000, hints=(68_000,), written=cores)
    assert in_cores(lambda number: number in (2_000, 2_001, 68_000)) == (2_000, False)
    assert in_cores(lambda number: number in (2_000, 2_001) or number >= 68_000) == (2_000, False)
    assert in_cores(lambda number: 1_600 <= number <= 2_001 or number == 68_000) == (1_600, False)


def test_amounts_that_a_person_would_write_are_units_and_whole_ones() -> None:
    assert amounts_written("gpu", 2)[:4] == [2, 4, 6, 8]
    assert {70, 700, 1_000, 64_000} <= {*amounts_written("cpu", 70)}
    assert {7 << 20, 1 << 30, 64 << 30} <= {*amounts_written("memory", 7 << 20)}


@pytest.mark.parametrize("least", [1, 65, 100, 101, 650, 699, 700, 1000])
def test_steps_of_a_unit_find_the_same(least: int) -> None:
    assert smallest(lambda number: number >= least, 1000, unit=100) == (least, True)
    assert smallest(lambda number: number >= least, 1000, hints=(700,), unit=100) == (least, True)


def test_hint_that_is_no_amount_is_not_tried() -> None:
    assert smallest(lambda number: number >= -1, 100, hints=(-1, 0, 101)) == (1, True)


@pytest.mark.parametrize(
    ("resource", "amount", "expected"),
    [
        ("gpu", 1337, 1337),
        ("cpu", 79, 79),
        ("cpu", 1337, 1400),
        ("cpu", 7_950, 8_000),
        ("cpu", 12_345, 13_000),
        ("memory", (1 << 30) + 1, (1 << 30) + (1 << 20)),
        ("memory", 20 << 30, 20 << 30),
        ("memory", (20 << 30) + 1, 21 << 30),
    ],
)
def test_amount_is_rounded_up_to_what_a_person_would_write(resource: str, amount: int, expected: int) -> None:
    assert rounded_up(resource, amount) == expected
