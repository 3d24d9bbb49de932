"""When a window is open: the times of a cron schedule in a time zone, each with the window's duration after it.

A schedule has five fields as Debian's cron reads them. Where clocks go forward, a time that does not exist is the first
one after the gap; where they go back, a time that comes twice is the first of the two. A duration is time that passes,
not what clocks show: 8h after 22:00 is 5:00 in the night in which clocks go back, 7:00 in the one in which they go
forward. Spans that touch are one. See docs/specification.md §4.13.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from shared.api.durations import earlier, later

ZONE_PATTERN: Final = r"^[A-Z][-A-Za-z0-9_+]*(/[A-Za-z0-9][-A-Za-z0-9_+]*){0,2}$"
"""Names such as `localtime` mean another zone on another machine."""
_ZONE: Final = re.compile(ZONE_PATTERN, re.ASCII)
_FIELDS: Final = 5
_A_DAY: Final = timedelta(days=1)
_LONGEST_SPAN: Final = timedelta(days=400)
"""Of a schedule that keeps a window open without end, a span is cut after so long."""


class BadSchedule(ValueError):
    """This is no schedule; the message says why."""


class Span(NamedTuple):
    """From `start` until before `end`."""

    start: datetime
    end: datetime


def check_schedule(schedule: str) -> None:
    """Raise BadSchedule if `schedule` is none of cron's, with five fields."""
    if len(schedule.split()) != _FIELDS:
        raise BadSchedule("a schedule has five fields: minute, hour, day of month, month, day of week")
    try:
        CronSim(schedule, datetime(2000, 1, 1, tzinfo=UTC))
    except CronSimError as error:
        raise BadSchedule(str(error)) from error


@lru_cache(maxsize=256)
def read_zone(name: str) -> ZoneInfo | None:
    """Return the time zone of that name in the IANA database, or None."""
    if not _ZONE.fullmatch(name):
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        return None


def times_after(schedule: str, zone: str, after: datetime) -> Iterator[datetime]:
    """Yield the times of the schedule after that moment, in order, in UTC; none if schedule or zone cannot be read."""
    found_zone = read_zone(zone)
    if found_zone is None:
        return
    # A day earlier: where clocks go back, a start in the second of the two hours would yield times of the first.
    begin = earlier(after, _A_DAY).astimezone(found_zone)
    try:
        for found in CronSim(schedule, begin):
            moment = found.astimezone(UTC)
            if moment > after:
                yield moment
    except (CronSimError, OverflowError, ValueError):
        return


def spans_after(schedule: str, zone: str, duration: timedelta, now: datetime) -> Iterator[Span]:
    """Yield the spans in which such a window is open and that end after `now`, in order."""
    span: Span | None = None
    for start in times_after(schedule, zone, earlier(now, duration)):
        if span is not None and start <= span.end and span.end - span.start < _LONGEST_SPAN:
            span = Span(span.start, max(span.end, later(start, duration)))
            continue
        if span is not None and span.end > now:
            yield span
        span = Span(start, later(start, duration))
    if span is not None and span.end > now:
        yield span


@lru_cache(maxsize=1024)
def first_span(schedule: str, zone: str, duration: timedelta, now: datetime) -> Span | None:
    """Return the span that is open at `now`, else the next one; None if there is none. Groups share schedules."""
    return next(spans_after(schedule, zone, duration, now), None)
