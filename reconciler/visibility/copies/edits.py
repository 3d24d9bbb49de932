"""The edit in a WhatIf: QuotaGroups and ResourceFlavors as they would be, read and checked. Pure."""

from dataclasses import dataclass
from typing import Final

import msgspec

from shared.api.json.reading import Unreadable
from shared.cluster.state.observed.projections import GroupStatusRecord, project_group
from shared.quota.model.flavor import Flavor
from shared.quota.model.read.groups import read_flavor

MOST_OBJECTS: Final = 100


class BadEdit(ValueError):
    """An edit that cannot be read; the message says why."""


class _Kind(msgspec.Struct):
    kind: str = ""


class _Gone(msgspec.Struct):
    kind: str
    name: str


class _Spec(msgspec.Struct):
    apply: list[msgspec.Raw] = []
    delete: list[_Gone] = []


class _Body(msgspec.Struct):
    spec: _Spec


@dataclass(frozen=True, slots=True)
class EditedObjects:
    """QuotaGroups and ResourceFlavors as they would be stored, and the names of deleted ones."""

    groups: tuple[GroupStatusRecord, ...]
    flavors: tuple[Flavor, ...]
    without_groups: tuple[str, ...] = ()
    without_flavors: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """The number of changed objects."""
        return len(self.groups) + len(self.flavors) + len(self.without_groups) + len(self.without_flavors)


def read_edit(body: bytes) -> EditedObjects:
    """Read the edit of a WhatIf. Raises BadEdit."""
    try:
        spec = msgspec.json.decode(body, type=_Body).spec
        kinds = [msgspec.json.decode(each, type=_Kind).kind for each in spec.apply]
        found = EditedObjects(
            tuple(project_group(each) for each, kind in zip(spec.apply, kinds, strict=True) if kind == "QuotaGroup"),
            tuple(read_flavor(each) for each, kind in zip(spec.apply, kinds, strict=True) if kind == "ResourceFlavor"),
            tuple(each.name for each in spec.delete if each.kind == "QuotaGroup"),
            tuple(each.name for each in spec.delete if each.kind == "ResourceFlavor"),
        )
    except (msgspec.MsgspecError, Unreadable) as error:
        raise BadEdit(f"spec cannot be read: {error}") from error
    count = len(spec.apply) + len(spec.delete)
    if not 0 < count <= MOST_OBJECTS or found.count != count:
        raise BadEdit(f"spec must have 1 to {MOST_OBJECTS} objects of the kinds QuotaGroup and ResourceFlavor")
    return found
