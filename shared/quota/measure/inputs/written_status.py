"""What the statuses of QuotaGroups keep of the past: past use, and since when a group is over its runtime.

See docs/specification.md §3.8 and §7.1.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from shared.api.json.reading import aware
from shared.api.quotagroup import QuotaGroupStatus
from shared.quota.measure.inputs.past_use import UseHistory, decayed
from shared.quota.measure.inputs.world import OverSince
from shared.quota.model.tree import Amounts
from shared.resources import Amount, FlavorResource

MILLISECONDS: Final = 1000
"""Milliseconds in a second: past use is written in seconds and kept in milliseconds."""


@dataclass(frozen=True, slots=True)
class WrittenPastUse:
    """The past use of one group as its status shows it: base units times seconds, at `time`."""

    time: datetime | None = None
    amounts: Mapping[FlavorResource, Amount] = field(default_factory=dict)
    requesters: Mapping[str, Amounts] = field(default_factory=dict)
    """requester -> resource -> past use; only of a leaf whose order is by namespace or user."""


NO_PAST_USE: Final = WrittenPastUse()


def read_past_use(status: QuotaGroupStatus) -> WrittenPastUse:
    """Return what a status shows; an amount that is no whole number is left out."""
    if status.past_use_time is None:
        return NO_PAST_USE
    amounts = {
        FlavorResource(quota.flavor, resource): amount
        for quota in status.quotas
        for resource, amount in _whole(quota.past_use)
    }
    requesters = {each.name: dict(_whole(each.past_use)) for each in status.requesters}
    return WrittenPastUse(aware(status.past_use_time), amounts, requesters)


def _whole(texts: Mapping[str, str]) -> Iterator[tuple[str, Amount]]:
    for resource, text in texts.items():
        if text.isascii() and text.isdigit():
            yield resource, int(text)


def read_history(statuses: Iterable[tuple[str, QuotaGroupStatus]], half_life: timedelta, now: datetime) -> UseHistory:
    """Return the history that the groups' statuses show, decayed to `now`."""
    amounts: dict[str, dict[FlavorResource, Amount]] = {}
    requesters: dict[str, dict[str, Amounts]] = {}
    for name, status in statuses if half_life else ():
        written = read_past_use(status)
        if written.time is not None:
            elapsed = now - written.time
            amounts[name] = {
                key: decayed(amount * MILLISECONDS, elapsed, half_life) for key, amount in written.amounts.items()
            }
            if written.requesters:
                requesters[name] = {
                    requester: {
                        resource: decayed(amount * MILLISECONDS, elapsed, half_life) for resource, amount in own.items()
                    }
                    for requester, own in written.requesters.items()
                }
    return UseHistory.read(half_life, amounts, now, requesters)


def read_over_since(statuses: Iterable[tuple[str, QuotaGroupStatus]]) -> OverSince:
    """(group, key) -> the time that its status gives."""
    return {
        (name, FlavorResource(quota.flavor, resource)): aware(since)
        for name, status in statuses
        for quota in status.quotas
        for resource, since in quota.over_since.items()
    }
