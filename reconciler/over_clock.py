"""Since when leaves have been over their runtime, read back from their statuses after a restart. Pure."""

from collections.abc import Iterable
from datetime import datetime

from reconciler.records import GroupRecord
from shared.quota.measure.world import OverSince
from shared.resources import FlavorResource


def over_since_of(records: Iterable[GroupRecord]) -> OverSince:
    """(leaf, key) -> the time of its OverRuntime condition, for every key that it covers; those not over drop out."""
    found: dict[tuple[str, FlavorResource], datetime] = {}
    for record in records:
        for condition in record.status.conditions:
            since = condition.last_transition_time
            if condition.type == "OverRuntime" and condition.status == "True" and since is not None:
                for entry in record.group.quotas:
                    for resource in entry.covered:
                        found[record.group.name, FlavorResource(entry.flavor, resource)] = since
    return found
