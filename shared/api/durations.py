"""Durations as Kubernetes and Go write them, such as 30s, 5m, 1h30m or 250ms; and the moment that is so much later.

Whole microseconds; no sign, no days. The same grammar is the pattern of the CRD's duration fields. A duration is at
most 100 years, and a sum of moment and duration stops at the last moment that can be written: whatever an object says,
no such sum raises. See docs/specification.md §11.2.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

DURATION_PATTERN: Final = r"^(0|([0-9]{1,9}(\.[0-9]{1,6})?(ms|s|m|h)){1,8})$"
_WHOLE: Final = re.compile(DURATION_PATTERN, re.ASCII)
_STEP: Final = re.compile(r"([0-9]+)(?:\.([0-9]+))?(ms|s|m|h)", re.ASCII)
_UNIT: Final = {"ms": 1_000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000}


LONGEST: Final = timedelta(hours=876_000)
"""100 years."""
LONGEST_TEXT: Final = "876000h"
SHORTEST_RUN_TIME: Final = timedelta(seconds=1)
"""The least that a run-time limit can be."""
_FIRST: Final = datetime.min.replace(tzinfo=UTC)
_LAST: Final = datetime.max.replace(tzinfo=UTC)


def is_duration(text: str) -> bool:
    """Return whether `text` is written as a duration, of whatever length."""
    return _WHOLE.fullmatch(text) is not None


def read_duration(text: str) -> timedelta | None:
    """Return the duration `text` means; None when it is not one, or longer than LONGEST."""
    found = read_stored_duration(text)
    return None if found is None or found > LONGEST else found


def read_stored_duration(text: str) -> timedelta | None:
    """Return the same, but one microsecond more than LONGEST for all that is longer.

    So a caller can tell it from what is no duration, and take LONGEST in its place.
    """
    if not is_duration(text):
        return None
    total = sum(int(f"{whole}{part}") * _UNIT[unit] // 10 ** len(part) for whole, part, unit in _STEP.findall(text))
    return timedelta(microseconds=min(total, LONGEST // timedelta(microseconds=1) + 1))


def later(moment: datetime, duration: timedelta) -> datetime:
    """Return the moment that is `duration` later, or the last one that can be written. `duration` is not negative."""
    return moment + duration if duration <= _LAST - moment else _LAST


def earlier(moment: datetime, duration: timedelta) -> datetime:
    """Return the moment that is `duration` earlier, or the first one that can be written; likewise."""
    return moment - duration if duration <= moment - _FIRST else _FIRST


def write_duration(duration: timedelta) -> str:
    """Return the shortest text that means `duration` in whole milliseconds: 1h30m, 250ms, 0s. Not for negative ones."""
    left = duration // timedelta(milliseconds=1)
    text = ""
    for unit, size in (("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)):
        count, left = divmod(left, size)
        text += f"{count}{unit}" if count else ""
    return text or "0s"
