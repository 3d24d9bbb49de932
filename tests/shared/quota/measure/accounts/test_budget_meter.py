"""A meter says what is used at any moment, and when an amount is reached: compared with adding up piece by piece."""

from random import Random

import pytest

from shared.quota.measure.accounts.budgets.meter import BudgetMeter
from shared.quota.measure.accounts.budgets.periods import span_of
from shared.quota.measure.accounts.courses import Course, use_areas
from shared.quota.model.budgets.budget import BudgetKey, BudgetPeriod

DAY = 86_400_000
KEY = BudgetKey("gpu", "", BudgetPeriod.DAY, "UTC")
START = 20_000 * DAY


def meter() -> BudgetMeter:
    return BudgetMeter(KEY, span_of(KEY, START), START)


def test_an_amount_is_reached_to_the_millisecond() -> None:
    found = meter()
    found.observe(START + 100, 3)
    assert found.when_reached(1000, START + 100) == START + 100 + 334
    assert found.used_at(START + 100 + 333) == 999
    assert found.used_at(START + 100 + 334) == 1002


def test_an_amount_is_reached_when_use_ends_with_exactly_so_much() -> None:
    found = meter()
    for time, delta in ((0, 10), (100, -10), (300, 5)):
        found.observe(START + time, delta)
    assert found.when_reached(1000, START + 300) == START + 100


def test_what_is_added_up_until_the_end_of_a_period_is_in_the_next() -> None:
    found = meter()
    found.observe(START, 10)
    found.add_up(START + DAY)
    assert (found.span.since, found.counted_since, found.used) == (START + DAY, START + DAY, 0)


def test_less_use_comes_later_and_no_use_never() -> None:
    found = meter()
    found.observe(START, 4)
    found.observe(START + 50, -3)
    assert found.when_reached(1000, START + 50) == START + 50 + 800
    found.observe(START + 60, -1)
    assert found.when_reached(1000, START + 60) is None


def test_what_was_used_when_a_leader_began_is_reached_from_then_on() -> None:
    found = BudgetMeter(KEY, span_of(KEY, START), START + 50, used=1000)
    found.observe(START + 100, 3)
    assert found.when_reached(1000, START + 100) == START + 50
    assert found.when_reached(1003, START + 100) == START + 101


def test_an_end_that_is_seen_late_takes_back_what_was_not_used() -> None:
    found = meter()
    found.observe(START, 10)
    assert found.when_reached(1000, START + 100) == START + 100
    found.observe(START + 99, -10)
    assert found.when_reached(1000, START + 101) is None
    assert found.used_at(START + 101) == 990


def test_a_new_period_begins_with_nothing() -> None:
    found = meter()
    found.observe(START + DAY - 10, 5)
    assert found.used_at(START + DAY - 1) == 45
    assert found.when_reached(100, START + DAY - 1) is None  # not in this period
    assert found.used_at(START + DAY) == 0
    assert found.when_reached(100, START + DAY) == START + DAY + 20


def test_a_clock_that_goes_back_stays_in_the_later_period() -> None:
    found = meter()
    found.observe(START, 5)
    assert found.used_at(START + DAY + 10) == 50
    assert found.used_at(START + DAY - 10) == 0


@pytest.mark.parametrize("seed", range(60))
def test_meter_agrees_with_adding_up(seed: int) -> None:
    """Changes come late and in any order, sums are added up now and then, and days end."""
    dice = Random(seed)
    found, changes, level, now, until = meter(), list[tuple[int, int]](), 0, START, START
    amounts = [dice.randrange(1, 4 * DAY) for _ in range(3)]
    for _ in range(60):
        now += dice.randrange(1, DAY // 20)
        time, delta = now - dice.randrange(0, 5_000), dice.randint(-level, 6)
        level += delta
        changes.append((max(time, until), delta))
        found.observe(time, delta)
        if dice.random() < 0.2:
            until = max(until, now - 5_000)
            for amount in amounts:
                found.when_reached(amount, until)
            found.add_up(until)
        asked = now + dice.randrange(0, 3_000_000)
        since = span_of(KEY, asked).since
        if span_of(KEY, now).until > asked:
            course = Course.of(0, changes)
            assert found.used_at(asked) == use_areas(course, since, asked).used
        for amount in amounts:
            since, course = span_of(KEY, now).since, Course.of(0, changes)
            at = found.when_reached(amount, now)
            if at is None:
                assert use_areas(course, since, span_of(KEY, now).until - 1).used < amount
            else:
                assert use_areas(course, since, at).used >= amount
                assert at == since or use_areas(course, since, at - 1).used < amount
