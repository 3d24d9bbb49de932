"""Percents as text, and shares of a whole: exact, together no more and no less than their sum."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.percents import MOST, WHOLE, is_percent, percent_for, read_percent, share_out, write_percent
from shared.resources import QuantityError

SHARES = st.lists(st.integers(0, WHOLE), max_size=6)
AMOUNTS = st.one_of(st.integers(0, 40), st.integers(0, 2**63 - 1))


@pytest.mark.parametrize(
    ("text", "percent", "written"),
    [
        ("0%", 0, "0%"),
        ("40%", 40_000, "40%"),
        ("12.5%", 12_500, "12.5%"),
        ("33.333%", 33_333, "33.333%"),
        ("0.001%", 1, "0.001%"),
        ("007.10%", 7_100, "7.1%"),
        ("999.999%", MOST, "999.999%"),
    ],
)
def test_percent_is_read_and_written(text: str, percent: int, written: str) -> None:
    assert (read_percent(text), write_percent(percent)) == (percent, written)


@pytest.mark.parametrize(
    "text", ["%", "-1%", "+1%", "1 %", "1000%", ".5%", "5.%", "0.0001%", "1e1%", "1k%", "4\u0660%", "9" * 63 + "%"]
)
def test_what_is_no_percent_is_refused(text: str) -> None:
    assert is_percent(text)
    with pytest.raises(QuantityError):
        read_percent(text)


@pytest.mark.parametrize("value", [40, 4.5, "41", "4Gi", "9" * 70 + "%"])
def test_amount_is_no_percent(value: object) -> None:
    assert not is_percent(value)


@given(AMOUNTS, SHARES)
def test_shares_are_exact_but_for_one_unit_and_sum_to_the_whole_of_their_sum(whole: int, percents: list[int]) -> None:
    dealt = share_out(whole, percents)
    exact = [Fraction(whole * percent, WHOLE) for percent in percents]
    if sum(percents) <= WHOLE:
        assert sum(dealt) == int(sum(exact))
        assert all(abs(own - share) < 1 for own, share in zip(dealt, exact, strict=True))


@given(AMOUNTS, st.permutations(range(4)))
def test_all_is_dealt_of_100_percent_in_whatever_parts(whole: int, order: list[int]) -> None:
    percents = [33_334, 33_333, 20_000, 13_333]
    assert sum(share_out(whole, [percents[at] for at in order])) == whole


@given(st.integers(1, 1000), st.integers(0, 5000))
def test_percent_for_an_amount_comes_to_it_in_few_digits(whole: int, amount: int) -> None:
    percent = percent_for(whole, amount)
    if percent is None:
        assert amount * WHOLE > MOST * whole
    else:
        assert share_out(whole, [percent]) == [amount]


def test_percent_for_an_amount_is_a_whole_number_where_that_does() -> None:
    found = [percent_for(7, 3), percent_for(8, 5), percent_for(1000, 333), percent_for(0, 1)]
    assert found == [43_000, 63_000, 33_300, None]
