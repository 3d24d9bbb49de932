"""Periods: calendar months in a zone, over changes of daylight saving too."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from shared.quota.measure.accounts.periods import milliseconds, moment_at, parts_by_period, period_of

BERLIN = ZoneInfo("Europe/Berlin")
HOUR = 3_600_000


def at(text: str) -> int:
    return milliseconds(datetime.fromisoformat(text))


def test_a_moment_is_read_back() -> None:
    assert moment_at(at("2026-03-29T01:00:00.123+00:00")) == datetime(2026, 3, 29, 1, 0, 0, 123000, tzinfo=UTC)


def test_a_month_ends_at_midnight_of_its_zone() -> None:
    end = at("2026-02-01T00:00:00+01:00")
    assert [*parts_by_period(end - 5, end + 7, BERLIN)] == [("2026-01", end - 5, end), ("2026-02", end, end + 7)]
    assert period_of(end, UTC) == "2026-01"


def test_months_with_a_change_of_daylight_saving_are_an_hour_shorter_or_longer() -> None:
    since, until = at("2026-03-01T00:00:00+01:00"), at("2026-11-01T00:00:00+01:00")
    hours = {name: (end - begin) // HOUR for name, begin, end in parts_by_period(since, until, BERLIN)}
    assert hours["2026-03"] == 31 * 24 - 1
    assert hours["2026-10"] == 31 * 24 + 1
    assert hours["2026-04"] == 30 * 24
    assert sum(hours.values()) == (until - since) // HOUR


def test_a_year_ends() -> None:
    since = at("2026-12-31T23:59:59+00:00")
    assert [each[0] for each in parts_by_period(since, since + 2_000, UTC)] == ["2026-12", "2027-01"]
