"""Says moments and ages: a moment to the second with its zone, an age as kubectl says it."""

from datetime import UTC, datetime, timedelta
from typing import Final

_STEPS: Final = (
    (timedelta(minutes=2), 1, "s", 0, ""),
    (timedelta(minutes=10), 60, "m", 1, "s"),
    (timedelta(hours=3), 60, "m", 0, ""),
    (timedelta(hours=8), 3600, "h", 60, "m"),
    (timedelta(hours=48), 3600, "h", 0, ""),
    (timedelta(days=8), 86400, "d", 3600, "h"),
    (timedelta.max, 86400, "d", 0, ""),
)
"""(maximum age, seconds of a unit, its letter, seconds of the smaller unit or 0, its letter)."""


def moment_text(written: str) -> str:
    """Return an RFC 3339 time in UTC and whole seconds, as 2026-01-31T12:00:00Z; what is no time, as it is."""
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        return written
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC)
    return f"{moment.replace(tzinfo=None).isoformat(timespec='seconds')}Z"


def age_text(age: timedelta) -> str:
    """Return an age formatted like kubectl: 45s, 3m20s, 25m, 5h12m, 30h, 4d2h, 12d."""
    seconds = max(0, int(age.total_seconds()))
    for limit, unit, letter, smaller, smaller_letter in _STEPS:
        if age < limit:
            text = f"{seconds // unit}{letter}"
            rest = seconds % unit // smaller if smaller else 0
            return f"{text}{rest}{smaller_letter}" if rest else text
    raise AssertionError("unreachable")
