"""What a QuotaGroup's status keeps for the next leader: since when it is over its runtime, and its past use. Pure.

See docs/specification.md §3.8 and §7.1.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from shared.api.quotagroup import QuotaGroupStatus, RequesterStatus
from shared.cluster.state.faults.register import GROUP, Faults, Subject
from shared.cluster.state.observed.projections import GroupStatusRecord
from shared.quota.measure.inputs.past_use import UseHistory, decayed
from shared.quota.measure.inputs.requester_use import MAX_REQUESTERS, keep_largest
from shared.quota.measure.inputs.world import OverSince
from shared.quota.measure.inputs.written_status import (
    MILLISECONDS,
    WrittenPastUse,
    read_history,
    read_over_since,
)
from shared.quota.model.tree import Amounts
from shared.resources import Amount, FlavorResource

_SHORTEST: Final = timedelta(minutes=1)
_WRITES: Final = 12
"""How many times per half-life the past use of an active group is written, but at most once a minute."""


def with_past_use(status: QuotaGroupStatus, written: WrittenPastUse) -> QuotaGroupStatus:
    """`status` with the past use of the group; that of a flavor without numbers is not shown."""
    if written.time is None:
        return status
    quotas = [
        replace(
            quota,
            past_use={key.resource: str(each) for key, each in written.amounts.items() if key.flavor == quota.flavor},
        )
        for quota in status.quotas
    ]
    requesters = [
        RequesterStatus(name, {resource: str(amount) for resource, amount in own.items()})
        for name, own in written.requesters.items()
    ]
    return replace(status, quotas=quotas, requesters=requesters, past_use_time=written.time)


def past_use_to_write(group: str, history: UseHistory, shown: WrittenPastUse) -> WrittenPastUse:
    """The past use that the status of `group` should have: `shown` until enough time has passed, or while it only
    decays.
    """
    if history.as_of is None:
        return shown
    time = history.as_of.replace(microsecond=0)
    by_key = history.amounts.get(group, {})
    now = {key: amount // MILLISECONDS for key, amount in sorted(by_key.items()) if amount >= MILLISECONDS}
    requesters = _in_seconds(history.requesters.get(group, {}))
    if shown.time is None:
        return WrittenPastUse(time, now, requesters) if now else shown
    elapsed = time - shown.time
    if elapsed < max(_SHORTEST, history.half_life / _WRITES):
        return shown
    idle = {key: decayed(amount, elapsed, history.half_life) for key, amount in shown.amounts.items()}
    if bool(requesters) == bool(shown.requesters) and all(
        abs(now.get(key, 0) - idle.get(key, 0)) <= _rounding(idle.get(key, 0)) for key in now.keys() | idle.keys()
    ):
        return shown
    return WrittenPastUse(time, now, requesters)


def _in_seconds(use: Mapping[str, Amounts]) -> dict[str, Amounts]:
    """Return what requesters have used, by name: the largest, and the rest as one; whole seconds only."""
    found: dict[str, Amounts] = {}
    for name, own in sorted(keep_largest(use, MAX_REQUESTERS).items()):
        seconds = {
            resource: amount // MILLISECONDS for resource, amount in sorted(own.items()) if amount >= MILLISECONDS
        }
        if seconds:
            found[name] = seconds
    return found


def _rounding(amount: Amount) -> Amount:
    """Return the possible difference between an idle group's past use and the one derived from its status."""
    return 2 + amount // 1000


def history_of(records: Iterable[GroupStatusRecord], half_life: timedelta, now: datetime, faults: Faults) -> UseHistory:
    """Return the history in the statuses of the groups, decayed to `now`."""
    leaves: dict[str, Mapping[FlavorResource, Amount]] = {}
    requesters: dict[str, Mapping[str, Amounts]] = {}
    for record in records:
        with faults.about(Subject(GROUP, record.group.name, record.uid)):
            found = read_history([(record.group.name, record.status)], half_life, now)
            leaves.update(found.amounts)
            requesters.update(found.requesters)
    return UseHistory.read(half_life, leaves, now, requesters)


def over_since_of(records: Iterable[GroupStatusRecord], faults: Faults) -> OverSince:
    """(group, key) -> the time in its status; keys that are no longer over drop out with the next plan."""
    found: dict[tuple[str, FlavorResource], datetime] = {}
    for record in records:
        with faults.about(Subject(GROUP, record.group.name, record.uid)):
            found.update(read_over_since([(record.group.name, record.status)]))
    return found
