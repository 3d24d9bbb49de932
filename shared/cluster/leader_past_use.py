"""The past use of groups as the leader tells it in the visibility API."""

from collections.abc import Iterable

import msgspec

from shared.quota.measure.inputs.world import PastUse
from shared.resources import FlavorResource


class _OfKey(msgspec.Struct, frozen=True):
    flavor: str
    resource: str
    amount: str


class _GroupStatus(msgspec.Struct, frozen=True, rename="camel"):
    served_by: str = ""
    past_use: list[_OfKey] = []


class _Named(msgspec.Struct, frozen=True):
    name: str


class _Group(msgspec.Struct, frozen=True):
    metadata: _Named
    status: _GroupStatus


def past_use_in(group_explanations: Iterable[msgspec.Raw]) -> PastUse | None:
    """Return the past use that a list of GroupExplanations shows; None where a replica made it that does not lead."""
    groups = [msgspec.json.decode(raw, type=_Group) for raw in group_explanations]
    if any(each.status.served_by != "Leader" for each in groups):
        return None
    return {
        each.metadata.name: {FlavorResource(of.flavor, of.resource): int(of.amount) for of in each.status.past_use}
        for each in groups
    }
