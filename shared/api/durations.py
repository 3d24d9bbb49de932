"""Durations as Kubernetes and Go write them, such as 30s, 5m, 1h30m or 250ms.

Whole microseconds; no sign, no days. The same grammar is the pattern of the CRD's duration fields.
"""

import re
from datetime import timedelta
from typing import Final

DURATION_PATTERN: Final = r"^(0|([0-9]{1,9}(\.[0-9]{1,6})?(ms|s|m|h)){1,8})$"
_WHOLE: Final = re.compile(DURATION_PATTERN, re.ASCII)
_STEP: Final = re.compile(r"([0-9]+)(?:\.([0-9]+))?(ms|s|m|h)", re.ASCII)
_UNIT: Final = {"ms": 1_000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000}


def read_duration(text: str) -> timedelta | None:
    """Return the duration `text` means; None when it is not one, or longer than a timedelta can be."""
    if _WHOLE.fullmatch(text) is None:
        return None
    total = sum(int(f"{whole}{part}") * _UNIT[unit] // 10 ** len(part) for whole, part, unit in _STEP.findall(text))
    try:
        return timedelta(microseconds=total)
    except OverflowError:
        return None


def write_duration(duration: timedelta) -> str:
    """Return the shortest text that means `duration` in whole milliseconds: 1h30m, 250ms, 0s. Not for negative ones."""
    left = duration // timedelta(milliseconds=1)
    text = ""
    for unit, size in (("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)):
        count, left = divmod(left, size)
        text += f"{count}{unit}" if count else ""
    return text or "0s"
