"""Waits grow while it goes badly, and are short again when it went well."""

from random import Random

import pytest

from shared.kube.watch.backoff import Backoff


def waits(*lives: float) -> list[float]:
    backoff = Backoff(Random(1))
    return [backoff.delay_after(lived) for lived in lives]


def test_waits_double_up_to_half_a_minute_with_jitter() -> None:
    expected = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30, 30]
    found = waits(*[0.0] * 12)
    assert all(0.75 * middle <= wait <= 1.25 * middle for wait, middle in zip(found, expected, strict=True))
    assert len({round(wait / middle, 3) for wait, middle in zip(found, expected, strict=True)}) > 6


def test_thousand_failures_do_not_overflow() -> None:
    assert max(waits(*[0.0] * 1000)) <= 37.5


def test_healthy_minute_resets_the_back_off() -> None:
    assert waits(*[0.0] * 12, 60)[-1] <= 0.125


@pytest.mark.parametrize("lived", [1, 5, 30, 59])
def test_repeatedly_closed_connection_waits_at_most_an_eighth_of_its_life(lived: float) -> None:
    assert max(waits(*[lived] * 100)) <= lived / 8
