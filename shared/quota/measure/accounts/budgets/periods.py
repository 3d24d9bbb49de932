"""When the period of a budget begins and ends: at midnight in its time zone, over changes of daylight saving too.

Times are whole milliseconds since 1970. See docs/specification.md §2.11.
"""

from datetime import UTC, date, datetime, tzinfo
from typing import Final, NamedTuple

from shared.quota.measure.accounts.periods import milliseconds, moment_at
from shared.quota.model.budgets.budget import BudgetKey, BudgetPeriod
from shared.quota.model.in_force.schedules import read_zone

BEGINNING: Final = 0
END: Final = milliseconds(datetime(9999, 1, 1, tzinfo=UTC))
MONTHS: Final = {BudgetPeriod.MONTH: 1, BudgetPeriod.QUARTER: 3, BudgetPeriod.YEAR: 12}


class BudgetSpan(NamedTuple):
    """[since, until); from BEGINNING to END for a budget that never begins again."""

    since: int
    until: int


def span_of(key: BudgetKey, time: int) -> BudgetSpan:
    """Return the period of the budget that the moment is in."""
    zone = read_zone(key.zone) or UTC
    if key.period is BudgetPeriod.TOTAL:
        return BudgetSpan(BEGINNING, END)
    first, after = _days(key.period, moment_at(time).astimezone(zone).date())
    return BudgetSpan(_midnight(first, zone), _midnight(after, zone))


def _days(period: BudgetPeriod, day: date) -> tuple[date, date]:
    """Return the first day of the period that this day is in, and the first one after it."""
    if period is BudgetPeriod.DAY:
        return day, _day_after(day, 1)
    if period is BudgetPeriod.WEEK:
        monday = _day_after(day, -day.weekday())
        return monday, _day_after(monday, 7)
    months = MONTHS[period]
    first = date(day.year, (day.month - 1) // months * months + 1, 1)
    year, month = divmod(first.year * 12 + first.month - 1 + months, 12)
    return first, date(year, month + 1, 1)


def _day_after(day: date, number: int) -> date:
    return date.fromordinal(day.toordinal() + number)


def _midnight(day: date, zone: tzinfo) -> int:
    """Return when that day begins: where a change of daylight saving skips midnight, the moment of the change."""
    return milliseconds(datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC))
