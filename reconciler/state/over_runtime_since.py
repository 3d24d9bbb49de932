"""Since when groups have been over their runtime, read back from their statuses after a restart. Pure."""

from collections.abc import Iterable
from datetime import datetime

from reconciler.state.projections import GroupStatusRecord
from shared.api.reading import aware
from shared.quota.measure.inputs.world import OverSince
from shared.resources import FlavorResource


def over_since_of(records: Iterable[GroupStatusRecord]) -> OverSince:
    """(group, key) -> the time that its status gives; keys that are not over any more drop out with the next plan."""
    found: dict[tuple[str, FlavorResource], datetime] = {}
    for record in records:
        for quota in record.status.quotas:
            for resource, since in quota.over_since.items():
                found[record.group.name, FlavorResource(quota.flavor, resource)] = aware(since)
    return found
