"""When a window is open: the times of a cron schedule in a time zone, each with the window's duration after it.

A schedule has five fields as Debian's cron reads them. Where clocks go forward, a time that does not exist is the first
one after the gap; where they go back, a time that comes twice is the first of the two. A duration is time that passes,
not what clocks show: 8h after 22:00 is 5:00 in the night in which clocks go back, 7:00 in the one in which they go
forward. Spans that touch are one. See docs/specification.md §4.13.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from itertools import pairwise
from operator import attrgetter
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from shared.api.crds.timed import ZONE_PATTERN
from shared.api.durations import earlier, later

_ZONE: Final = re.compile(ZONE_PATTERN, re.ASCII)
_FIELDS: Final = 5
_A_DAY: Final = timedelta(days=1)
_A_MINUTE: Final = timedelta(minutes=1)
_LONGEST_CHAIN: Final = timedelta(days=31)
"""So long a part of spans that touch is taken for one; so a window that never closes has a next border, too."""
_CHUNK: Final = timedelta(days=32)
"""Spans are computed and kept for so long at a time."""
_YEARS: Final = timedelta(days=400)
_GIVE_UP_YEARS: Final = 50
_FIRST: Final = datetime(2000, 1, 1, tzinfo=UTC)
MOST_TIMES: Final = 1600
"""In 400 days: four a day."""


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
    except (CronSimError, ValueError) as error:
        # Python reads no number of more than 4,300 digits.
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
    """Yield the times of the schedule after that moment, in order, in UTC; none if schedule or zone cannot be read.

    cronsim only reads the schedule: it would go through all hours of all days, which takes many times as long.
    """
    found_zone, cron = read_zone(zone), _read_cron(schedule)
    if found_zone is None or cron is None:
        return
    try:
        # A day earlier: where clocks go back, a local date can come again.
        for day in _days_from(cron.fields, earlier(after, _A_DAY).astimezone(found_zone).date()):
            yield from (each for each in _times_of_day(cron, found_zone, day) if each > after)
    except (OverflowError, ValueError):
        return


class _Cron(NamedTuple):
    """A schedule: its fields, its times of a day as clocks show them, and whether it comes twice where clocks go back.

    So Debian's cron does it where minute or hour begin with `*`.
    """

    fields: CronSim
    clocks: tuple[timedelta, ...]
    comes_again: bool


@lru_cache(maxsize=1024)
def _read_cron(schedule: str) -> _Cron | None:
    try:
        fields = CronSim(schedule, _FIRST)
    except (CronSimError, ValueError):
        return None
    clocks = (timedelta(hours=hour, minutes=minute) for hour in fields.hours for minute in fields.minutes)
    return _Cron(fields, tuple(sorted(clocks)), any(each.startswith("*") for each in fields.parts[1:3]))


def _days_from(fields: CronSim, day: date) -> Iterator[date]:
    """Yield the days of the schedule from `day` on, until none has come for 50 years."""
    latest = day.year
    while day.year <= latest + _GIVE_UP_YEARS:
        if day.month not in fields.months:
            day = date(day.year + day.month // 12, day.month % 12 + 1, 1)
            continue
        if fields.match_day(day):
            latest = day.year
            yield day
        day += _A_DAY


def _times_of_day(cron: _Cron, zone: ZoneInfo, day: date) -> Iterable[datetime]:
    """Return the times of the schedule on one day, in order."""
    midnight = datetime.combine(day, time(), zone)
    begin, end = midnight.astimezone(UTC), later(midnight, _A_DAY).astimezone(UTC)
    if end - begin == _A_DAY:
        return [later(begin, each) for each in cron.clocks]
    found = {_first_from(later(midnight, clock)) for clock in cron.clocks}
    if cron.comes_again:
        twice = (later(midnight, clock) for clock in cron.clocks)
        found |= {each.replace(fold=1).astimezone(UTC) for each in twice if _exists(each)}
    return sorted(found)


def _first_from(local: datetime) -> datetime:
    """Return the moment at which clocks show that time first, or the first time after it that they show at all."""
    while not _exists(local):
        local = later(local, _A_MINUTE)
    return local.astimezone(UTC)


def _exists(local: datetime) -> bool:
    """Return whether clocks show that time, or jump over it."""
    return local.astimezone(UTC).astimezone(local.tzinfo).replace(tzinfo=None) == local.replace(tzinfo=None)


def spans_after(schedule: str, zone: str, duration: timedelta, now: datetime) -> Iterator[Span]:
    """Yield the spans in which such a window is open and that end after `now`, in order."""
    span: Span | None = None
    for start in times_after(schedule, zone, earlier(now, duration)):
        if span is not None and start <= span.end and span.end - span.start < _LONGEST_CHAIN:
            span = Span(span.start, max(span.end, later(start, duration)))
            continue
        if span is not None and span.end > now:
            yield span
        span = Span(start, later(start, duration))
    if span is not None and span.end > now:
        yield span


@lru_cache(maxsize=8192)
def _spans_in_chunk(schedule: str, zone: str, duration: timedelta, chunk: int) -> tuple[Span, ...]:
    """Return the spans that overlap so many chunks after the year 2000; if there is none, the first one after it."""
    begin, end = later(_FIRST, chunk * _CHUNK), later(_FIRST, (chunk + 1) * _CHUNK)
    found: list[Span] = []
    for span in spans_after(schedule, zone, duration, begin):
        if found and span.start >= end:
            break
        found.append(span)
    return tuple(found)


def first_span(schedule: str, zone: str, duration: timedelta, now: datetime) -> Span | None:
    """Return the span that is open at `now`, else the next one; None if there is none, or if it opens too often.

    An edit with a window that opens every minute is refused; until it is, its 46,000 spans a month are not computed.
    Nor are the times of a window that never closes, for a year before every moment.
    """
    found = survey(schedule, zone, duration)
    if found.opens_too_often or found.never_closes:
        return None
    chunk = (now - _FIRST) // _CHUNK
    for each in (chunk, chunk + 1):
        spans = _spans_in_chunk(schedule, zone, duration, each)
        at = bisect_right(spans, now, key=attrgetter("end"))
        if at < len(spans):
            return spans[at]
    return None


def spans_until(schedule: str, zone: str, duration: timedelta, now: datetime, until: datetime) -> Iterator[Span]:
    """Yield the spans that end after `now` and begin before `until`, in order; at least the first one, if any."""
    span = first_span(schedule, zone, duration, now)
    while span is not None:
        yield span
        after = first_span(schedule, zone, duration, span.end)
        if after is None or after.start >= until:
            return
        span = Span(max(after.start, span.end), after.end)


class Survey(NamedTuple):
    """What a window does in 400 days."""

    never_opens: bool
    never_closes: bool
    opens_too_often: bool


@lru_cache(maxsize=1024)
def survey(schedule: str, zone: str, duration: timedelta) -> Survey:
    """Return what such a window does in the 400 days after its first time in this century.

    No later time is looked at, but for the first one after them: it would take long where days are rare.
    """
    found = times_after(schedule, zone, _FIRST)
    first = next(found, None)
    if first is None:
        return Survey(never_opens=True, never_closes=False, opens_too_often=False)
    last = later(first, _YEARS)
    times = [first]
    while times[-1] < last and len(times) <= MOST_TIMES:
        times.append(next(found, datetime.max.replace(tzinfo=UTC)))
    often = times[-1] < last
    closes = often or any(after - before > duration for before, after in pairwise(times))
    return Survey(never_opens=False, never_closes=not closes, opens_too_often=often)
