"""Waits grow while it goes badly, and are short again when it went well."""

from random import Random

import pytest

from shared.kube.watch.backoff import Backoff


def waits(*lives: float) -> list[float]:
    backoff = Backoff(Random(1))
    return [backoff.delay_after(lived) for lived in lives]


def test_waits_double_up_to_half_a_minute_give_or_take_a_quarter() -> None:
    expected = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30, 30]
    found = waits(*[0.0] * 12)
    assert all(0.75 * middle <= wait <= 1.25 * middle for wait, middle in zip(found, expected, strict=True))
    assert len({round(wait / middle, 3) for wait, middle in zip(found, expected, strict=True)}) > 6


def test_a_thousand_failures_do_not_overflow() -> None:
    assert max(waits(*[0.0] * 1000)) <= 37.5


def test_a_healthy_minute_starts_again() -> None:
    assert waits(*[0.0] * 12, 60)[-1] <= 0.125


@pytest.mark.parametrize("lived", [1, 5, 30, 59])
def test_a_connection_cut_again_and_again_waits_an_eighth_of_its_life_at_most(lived: float) -> None:
    assert max(waits(*[lived] * 100)) <= lived / 8
