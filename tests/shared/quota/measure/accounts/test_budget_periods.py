"""Periods of budgets: midnight in a zone, over both changes of daylight saving, the end of a month and a leap day."""

from datetime import datetime, timedelta
from random import Random
from zoneinfo import ZoneInfo

import pytest

from shared.quota.measure.accounts.budgets.periods import BEGINNING, END, BudgetSpan, span_of
from shared.quota.measure.accounts.periods import milliseconds
from shared.quota.model.budgets.budget import BudgetKey, BudgetPeriod

HOUR = 3_600_000


def at(text: str, zone: str) -> int:
    return milliseconds(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)))


def span(period: BudgetPeriod, zone: str, text: str) -> BudgetSpan:
    return span_of(BudgetKey("cpu", "", period, zone), at(text, zone))


@pytest.mark.parametrize(
    ("period", "zone", "now", "since", "until"),
    [
        pytest.param("Day", "UTC", "2026-11-30T23:59:59.999", "2026-11-30", "2026-12-01", id="last day of a month"),
        pytest.param("Day", "UTC", "2028-02-29T12:00", "2028-02-29", "2028-03-01", id="leap day"),
        pytest.param("Week", "UTC", "2026-12-31T12:00", "2026-12-28", "2027-01-04", id="week over a year's end"),
        pytest.param("Week", "UTC", "2026-11-23T00:00", "2026-11-23", "2026-11-30", id="a week begins on Monday"),
        pytest.param("Month", "Europe/Berlin", "2026-10-25T12:00", "2026-10-01", "2026-11-01", id="clocks go back"),
        pytest.param("Quarter", "UTC", "2026-12-31T23:59", "2026-10-01", "2027-01-01", id="last quarter"),
        pytest.param("Quarter", "Asia/Tokyo", "2026-01-01T00:00", "2026-01-01", "2026-04-01", id="first quarter"),
        pytest.param("Year", "America/New_York", "2026-06-01T00:00", "2026-01-01", "2027-01-01", id="year"),
    ],
)
def test_a_period_begins_and_ends_at_midnight(period: str, zone: str, now: str, since: str, until: str) -> None:
    assert span(BudgetPeriod(period), zone, now) == BudgetSpan(at(since, zone), at(until, zone))


@pytest.mark.parametrize(
    ("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-10-26", 24)], ids=["forward", "back", "other"]
)
def test_a_day_has_the_hours_that_it_has(day: str, hours: int) -> None:
    found = span(BudgetPeriod.DAY, "Europe/Berlin", f"{day}T12:00")
    assert found.until - found.since == hours * HOUR


def test_a_day_without_midnight_begins_when_the_clocks_change() -> None:
    """In Santiago clocks went from 23:59:59 to 01:00:00 on 2026-09-06."""
    found = span(BudgetPeriod.DAY, "America/Santiago", "2026-09-06T12:00")
    assert found.until - found.since == 23 * HOUR
    assert span_of(BudgetKey("cpu", "", BudgetPeriod.DAY, "America/Santiago"), found.since - 1).until == found.since


def test_a_total_never_begins_again() -> None:
    assert span(BudgetPeriod.TOTAL, "UTC", "2026-06-01T00:00") == BudgetSpan(BEGINNING, END)


@pytest.mark.parametrize("seed", range(20))
def test_periods_follow_each_other_without_a_gap(seed: int) -> None:
    dice = Random(seed)
    zone = dice.choice(["UTC", "Europe/Berlin", "America/Santiago", "Australia/Lord_Howe", "Africa/Cairo", "Asia/Gaza"])
    key = BudgetKey("cpu", "", dice.choice(list(BudgetPeriod)[:-1]), zone)
    moment = milliseconds(datetime(2026, 1, 1, tzinfo=ZoneInfo(zone)) + timedelta(hours=dice.randrange(0, 40_000)))
    found = span_of(key, moment)
    assert found.since <= moment < found.until
    assert span_of(key, found.since) == span_of(key, found.until - 1) == found
    assert span_of(key, found.until).since == found.until
