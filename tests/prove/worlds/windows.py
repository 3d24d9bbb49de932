"""Random windows in closed worlds; and when one is open by definition: every minute is tried."""

from datetime import datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from shared.quota.model.tree import Entry, StopPolicy, Window
from tests.prove.random_draw import Dice
from tests.shared.quota.reference.inputs import EPOCH

MINUTE = timedelta(minutes=1)
HORIZON = timedelta(hours=1)
"""Before and after EPOCH; no window of a world opens in the rest of its year."""
ZONES = {"UTC": timedelta(), "Asia/Kathmandu": timedelta(hours=5, minutes=45), "America/Caracas": timedelta(hours=-4)}
"""Zones whose clocks do not change, and how far they are ahead of UTC."""


def random_window(dice: Dice, quotas: tuple[Entry, ...], stop_policy: StopPolicy | None) -> Window:
    """One that opens once to three times on the days around EPOCH."""
    zone = dice.one_of(sorted(ZONES))
    first = EPOCH + MINUTE * dice.between(-2, 3) + ZONES[zone]
    minutes = dice.one_of(("{0}", "{0}", "{0},{1}", "{0}-{1}/2", "{0}-{1}"))
    minute = minutes.format(first.minute, min(59, first.minute + dice.between(1, 3)))
    schedule = f"{minute} {first.hour} {first.day} {first.month} *"
    return Window(schedule, timedelta(seconds=10 * dice.between(1, 30)), zone, quotas, stop_policy)


def _matches(text: str, number: int | None) -> bool:
    return text == "*" or any(number in _numbers(part) for part in text.split(","))


def _numbers(part: str) -> range:
    numbers, _, step = part.partition("/")
    first, _, last = numbers.partition("-")
    return range(int(first), int(last or first) + 1, int(step or 1))


@cache
def _times(schedule: str, zone: str) -> tuple[datetime, ...]:
    minutes = (EPOCH + MINUTE * each for each in range(-(HORIZON // MINUTE), HORIZON // MINUTE))
    return tuple(minute for minute in minutes if _is_time(schedule, minute.astimezone(ZoneInfo(zone))))


def _is_time(schedule: str, local: datetime) -> bool:
    fields = zip(schedule.split(), (local.minute, local.hour, local.day, local.month, None), strict=True)
    return all(_matches(text, number) for text, number in fields)


def opening_minutes(window: Window) -> tuple[datetime, ...]:
    """Every time of its schedule around EPOCH; by day of month, not of week."""
    return _times(window.schedule, window.zone)


def is_open(window: Window, moment: datetime) -> bool:
    """Whether a time of its schedule is at most its duration ago."""
    return any(minute <= moment < minute + window.duration for minute in opening_minutes(window))
