"""Periods of accounts: calendar months in one time zone. Times are whole milliseconds since 1970.

See docs/specification.md §9.7.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from shared.api.durations import later

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


def milliseconds(moment: datetime) -> int:
    """Return the moment in whole milliseconds, rounded down."""
    return (moment - _EPOCH) // _MILLISECOND


def moment_at(time: int) -> datetime:
    """Return that moment, in UTC."""
    return later(_EPOCH, timedelta(milliseconds=time))


def period_of(time: int, zone: tzinfo) -> str:
    """Return the name of the month that the moment is in, such as 2026-10."""
    return moment_at(time).astimezone(zone).strftime("%Y-%m")


def parts_by_period(since: int, until: int, zone: tzinfo) -> Iterator[tuple[str, int, int]]:
    """Yield (month, from, to) for each part of the time that is in one month, the earliest first."""
    while since < until:
        end = min(_next_month(since, zone), until)
        yield period_of(since, zone), since, end
        since = end


def _next_month(time: int, zone: tzinfo) -> int:
    """Return when the next month begins: at midnight of its first day, as clocks of the zone show it."""
    local = moment_at(time).astimezone(zone)
    year, month = divmod(local.year * 12 + local.month, 12)
    return milliseconds(datetime(year, month + 1, 1, tzinfo=zone).astimezone(UTC))
