"""When a window is open: the times of a schedule with a duration after each, in its time zone."""

from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim

from shared.quota.model.in_force.schedules import (
    BadSchedule,
    Span,
    check_schedule,
    first_span,
    read_zone,
    spans_after,
    spans_until,
    times_after,
)


def at(text: str) -> datetime:
    """The moment of such a text as 2026-03-29T02:00."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def spans(schedule: str, zone: str, hours: float, now: str, most: int) -> list[tuple[str, str]]:
    """Where such a window is open after that moment."""
    found = islice(spans_after(schedule, zone, timedelta(hours=hours), at(now)), most)
    return [(f"{each.start:%m-%dT%H:%M}", f"{each.end:%m-%dT%H:%M}") for each in found]


@pytest.mark.parametrize(
    ("schedule", "zone", "hours", "now", "expected"),
    [
        pytest.param(
            "0 20 * * 1-5",
            "UTC",
            10,
            "2026-01-01T21:00",
            [("01-01T20:00", "01-02T06:00"), ("01-02T20:00", "01-03T06:00")],
            id="open now, and the next",
        ),
        pytest.param(
            "0 20 * * 1-5", "UTC", 10, "2026-01-03T06:00", [("01-05T20:00", "01-06T06:00")], id="over the weekend"
        ),
        pytest.param(
            "0 22 * * *",
            "Europe/Berlin",
            8,
            "2026-03-27T12:00",
            [("03-27T21:00", "03-28T05:00"), ("03-28T21:00", "03-29T05:00"), ("03-29T20:00", "03-30T04:00")],
            id="clocks go forward: 22:00 is an hour earlier in UTC from the 29th on",
        ),
        pytest.param(
            "30 2 * * *",
            "Europe/Berlin",
            1,
            "2026-03-28T12:00",
            [("03-29T01:00", "03-29T02:00"), ("03-30T00:30", "03-30T01:30")],
            id="a time that does not exist is the first after the gap",
        ),
        pytest.param(
            "30 2 * * *",
            "Europe/Berlin",
            1,
            "2026-10-24T12:00",
            [("10-25T00:30", "10-25T01:30"), ("10-26T01:30", "10-26T02:30")],
            id="a time that comes twice is the first of the two",
        ),
        pytest.param(
            "30 2 * * *",
            "Europe/Berlin",
            1,
            "2026-10-25T01:30",
            [("10-26T01:30", "10-26T02:30")],
            id="and not again where it comes the second time",
        ),
        pytest.param(
            "0 * * * *",
            "Europe/Berlin",
            0.5,
            "2026-10-25T00:00",
            [("10-25T00:00", "10-25T00:30"), ("10-25T01:00", "10-25T01:30"), ("10-25T02:00", "10-25T02:30")],
            id="every hour is every hour, also where one comes twice",
        ),
        pytest.param("0 0 29 2 *", "UTC", 24, "2026-03-01T00:00", [("02-29T00:00", "03-01T00:00")], id="leap day"),
        pytest.param(
            "0 0 * * 6,0",
            "UTC",
            24,
            "2026-01-01T00:00",
            [("01-03T00:00", "01-05T00:00")],
            id="spans that touch are one",
        ),
        pytest.param(
            "0 12 * * *",
            "Pacific/Chatham",
            1,
            "2026-01-01T00:00",
            [("01-01T22:15", "01-01T23:15")],
            id="a zone of odd minutes",
        ),
    ],
)
def test_spans_follow_the_clocks_of_the_zone(
    schedule: str, zone: str, hours: float, now: str, expected: list[tuple[str, str]]
) -> None:
    assert spans(schedule, zone, hours, now, len(expected)) == expected


def test_the_next_leap_day_is_found_years_ahead() -> None:
    assert first_span("0 0 29 2 *", "UTC", timedelta(hours=1), at("2028-03-01T00:00")) == Span(
        at("2032-02-29T00:00"), at("2032-02-29T01:00")
    )


def test_spans_until_a_moment_begin_before_it() -> None:
    ten_hours, now = timedelta(hours=10), at("2026-01-01T21:00")
    found = {
        until: [each.start for each in spans_until("0 20 * * *", "UTC", ten_hours, now, at(until))]
        for until in ("2026-01-02T20:00", "2026-01-02T20:01")
    }
    assert found == {
        "2026-01-02T20:00": [at("2026-01-01T20:00")],
        "2026-01-02T20:01": [at("2026-01-01T20:00"), at("2026-01-02T20:00")],
    }


def test_a_schedule_that_never_happens_has_no_times() -> None:
    assert list(times_after("0 0 30 2 *", "UTC", at("2026-01-01T00:00"))) == []
    assert first_span("0 0 31 2,4 *", "UTC", timedelta(hours=1), at("2026-01-01T00:00")) is None


def test_a_window_that_is_open_for_months_has_borders_within_them() -> None:
    span = first_span("0 */6 * 1-6 *", "UTC", timedelta(hours=6), at("2026-03-01T00:00"))
    assert span is not None
    assert span.start <= at("2026-03-01T00:00") < span.end < at("2026-06-01T00:00")


def test_a_window_that_never_closes_is_never_open() -> None:
    """To compute all its times of a year before each moment would take the webhook longer than the API server waits."""
    assert first_span("0 */6 * * *", "UTC", timedelta(days=366), at("2026-01-01T00:00")) is None
    assert first_span("0 */6 * * *", "UTC", timedelta(hours=6), at("2026-01-01T00:00")) is None


SCHEDULES = (
    "0 20 * * *", "30 2 * * *", "0,30 0-3 * * 0", "0 0 1 * *", "0 0 29 2 *", "15 12 13 * 5",
    "0 0 LW * *", "0 0 * * MON#2", "0 0 * * 5L",
    "*/30 1-3 * 3,10 *", "0 * * 3,10,11 0", "0 */12 */10 * */2", "0 0 LW 2 */7",
)  # fmt: skip


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/New_York", "Pacific/Chatham", "Asia/Kolkata"])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_times_are_those_of_cronsim(schedule: str, zone: str) -> None:
    after = at("2026-10-25T00:15")
    found = CronSim(schedule, (after - timedelta(days=1)).astimezone(ZoneInfo(zone)))
    expected = dict.fromkeys(each for each in (each.astimezone(UTC) for each in islice(found, 300)) if each > after)
    assert list(islice(times_after(schedule, zone, after), len(expected))) == list(expected)


def test_a_time_that_does_not_exist_is_the_first_after_the_gap_also_at_midnight_and_every_hour() -> None:
    """cronsim loses an hour there until the next day, or begins a day at half past, for which no schedule asks."""
    assert next(times_after("0 */8 * * *", "America/Havana", at("2026-03-07T21:30"))) == at("2026-03-08T05:00")
    times = islice(times_after("0 * * * *", "Australia/Lord_Howe", at("2026-10-03T15:00")), 2)
    assert list(times) == [at("2026-10-03T15:30"), at("2026-10-03T16:00")]


@pytest.mark.parametrize("schedule", ["* * * * *", "*/5 * * * *", "0 * * * *"])
def test_a_window_that_opens_too_often_is_never_open(schedule: str) -> None:
    """To compute when it is would take the webhook longer than the API server waits, before it could refuse it."""
    assert first_span(schedule, "UTC", timedelta(hours=10), at("2026-01-01T00:00")) is None


@pytest.mark.parametrize(
    "schedule",
    [
        "",
        "* * * *",
        "* * * * * *",
        "60 * * * *",
        "x * * * *",
        "@daily",
        "0 0 30 2 *",
        "0 24 * * *",
        f"{'9' * 5000} * * * *",
    ],
)
def test_what_is_no_schedule_is_refused(schedule: str) -> None:
    with pytest.raises(BadSchedule):
        check_schedule(schedule)


@pytest.mark.parametrize(
    "name", ["Europe/Nowhere", "localtime", "../etc/passwd", "", "Europe", "Mars", "posix/UTC", "x" * 99]
)
def test_what_is_no_time_zone_is_none(name: str) -> None:
    assert read_zone(name) is None


@pytest.mark.parametrize("name", ["UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "CET"])
def test_zones_of_the_database_are_read(name: str) -> None:
    assert read_zone(name) is not None
