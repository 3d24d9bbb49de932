"""What the statuses of QuotaGroups keep of the past: past use, and since when a group is over its runtime.

See docs/specification.md §3.8 and §7.1.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from shared.api.quotagroup import QuotaGroupStatus
from shared.api.reading import aware
from shared.quota.measure.inputs.past_use import UseHistory, decayed
from shared.quota.measure.inputs.world import OverSince
from shared.resources import Amount, FlavorResource

MILLISECONDS: Final = 1000
"""In a second: past use is written in seconds."""


@dataclass(frozen=True, slots=True)
class WrittenPastUse:
    """The past use of one group as its status shows it: base units times seconds, at `time`."""

    time: datetime | None = None
    amounts: Mapping[FlavorResource, Amount] = field(default_factory=dict)


NO_PAST_USE: Final = WrittenPastUse()


def read_past_use(status: QuotaGroupStatus) -> WrittenPastUse:
    """Return what a status shows; an amount that is no whole number is left out."""
    if status.past_use_time is None:
        return NO_PAST_USE
    amounts = {
        FlavorResource(quota.flavor, resource): int(text)
        for quota in status.quotas
        for resource, text in quota.past_use.items()
        if text.isascii() and text.isdigit()
    }
    return WrittenPastUse(aware(status.past_use_time), amounts)


def read_history(statuses: Iterable[tuple[str, QuotaGroupStatus]], half_life: timedelta, now: datetime) -> UseHistory:
    """Return the history that the groups' statuses show, decayed to `now`."""
    amounts: dict[str, dict[FlavorResource, Amount]] = {}
    for name, status in statuses if half_life else ():
        written = read_past_use(status)
        if written.time is not None:
            elapsed = now - written.time
            amounts[name] = {
                key: decayed(amount * MILLISECONDS, elapsed, half_life) for key, amount in written.amounts.items()
            }
    return UseHistory.read(half_life, amounts, now)


def read_over_since(statuses: Iterable[tuple[str, QuotaGroupStatus]]) -> OverSince:
    """(group, key) -> the time that its status gives."""
    return {
        (name, FlavorResource(quota.flavor, resource)): aware(since)
        for name, status in statuses
        for quota in status.quotas
        for resource, since in quota.over_since.items()
    }
