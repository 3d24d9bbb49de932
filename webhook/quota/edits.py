"""One edit of a quota object, as a review describes it: of a QuotaGroup or of a ResourceFlavor. Pure.

A review proves nothing by itself. What it says of the stored object (`base`, `old`) counts only as far as what is read
from the API server confirms it; `edit_serializer` does that.
"""

from dataclasses import dataclass
from typing import Final

import msgspec

from shared.api.reading import Unreadable
from shared.api.review import Review, ReviewOperation
from shared.quota.model.flavor import Flavor
from shared.quota.model.read.groups import read_flavor, read_group
from shared.quota.model.tree import Group

GROUP: Final = "QuotaGroup"
FLAVOR: Final = "ResourceFlavor"
MAX_UID: Final = 64
MAX_VERSION: Final = 20
"""Digits of a resourceVersion: 64 bits."""


class ObjectVersion(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Identity and version of an object; `deletion_timestamp` is empty unless deletion was requested."""

    name: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str = ""


class _Versioned(msgspec.Struct, gc=False):
    metadata: ObjectVersion


_decode = msgspec.json.Decoder(_Versioned).decode


def read_version(raw: bytes | msgspec.Raw) -> ObjectVersion:
    """Name, uid and version of any object. Raises MsgspecError for anything else."""
    return _decode(raw).metadata


def number(resource_version: str) -> int:
    """Return a resourceVersion as a number, to compare versions; Kubernetes allows this within one kind."""
    is_number = resource_version.isascii() and resource_version.isdigit() and len(resource_version) <= MAX_VERSION
    return int(resource_version) if is_number else 0


@dataclass(frozen=True, slots=True)
class _Edit:
    """`id`: chosen by this process. `base`: the resourceVersion the edit starts from, empty for a creation."""

    id: str
    name: str
    uid: str
    base: str


@dataclass(frozen=True, slots=True)
class GroupEdit(_Edit):
    """One edit of a group. `old` None: creation; `new` None: deletion."""

    old: Group | None
    new: Group | None
    dry_run: bool = False

    @property
    def kind(self) -> str:
        """The kind of the edited object."""
        return GROUP

    @property
    def is_ordered(self) -> bool:
        """Whether the edit is serialised: it changes the parent of a group or what it is promised."""
        old, new = self.old, self.new
        if old is None or new is None:
            return True
        return _promised(old) != _promised(new)


def _promised(group: Group) -> tuple[object, ...]:
    return group.parent, group.is_parent, group.quotas, group.overrides, group.windows


@dataclass(frozen=True, slots=True)
class FlavorEdit(_Edit):
    """One edit of a flavor. `old` None: creation; `new` None: deletion."""

    old: Flavor | None
    new: Flavor | None
    dry_run: bool = False

    @property
    def kind(self) -> str:
        """The kind of the edited object."""
        return FLAVOR

    @property
    def is_ordered(self) -> bool:
        """Whether the edit is serialised with edits of groups: one of them might start to use the flavor."""
        return self.new is None


QuotaEdit = GroupEdit | FlavorEdit


def read_group_edit(review: Review, edit_id: str) -> GroupEdit:
    """Return the edit of a group that a review describes. Raises Unreadable."""
    found = _read_version(review)
    new = read_group(review.object) if _has_new(review) else None
    old = read_group(review.old_object) if _has_old(review) else None
    base = found.resource_version if old else ""
    _check_names(found.name, old, new)
    return GroupEdit(edit_id, found.name or review.name, found.uid, base, old, new, review.dry_run)


def read_flavor_edit(review: Review, edit_id: str) -> FlavorEdit:
    """Return the edit of a flavor that a review describes. Raises Unreadable."""
    found = _read_version(review)
    new = read_flavor(review.object) if _has_new(review) else None
    old = read_flavor(review.old_object) if _has_old(review) else None
    base = found.resource_version if old else ""
    _check_names(found.name, old, new)
    return FlavorEdit(edit_id, found.name or review.name, found.uid, base, old, new, review.dry_run)


def _has_new(review: Review) -> bool:
    return review.operation is not ReviewOperation.DELETE and review.has_object


def _has_old(review: Review) -> bool:
    return review.operation is not ReviewOperation.CREATE and review.has_old_object


def _read_version(review: Review) -> ObjectVersion:
    """Return the version of the stored object, or None."""
    try:
        found = read_version(review.old_object if _has_old(review) else review.object)
    except msgspec.MsgspecError as error:
        raise Unreadable(str(error)) from error
    if len(found.uid) > MAX_UID:
        raise Unreadable(f"metadata.uid has {len(found.uid)} characters, at most {MAX_UID} are allowed")
    if _has_old(review) and not number(found.resource_version):
        raise Unreadable("metadata.resourceVersion of the stored object is not a number")
    return found


def _check_names(name: str, old: Group | Flavor | None, new: Group | Flavor | None) -> None:
    if any(each is not None and each.name != name for each in (old, new)):
        raise Unreadable("metadata.name differs between the object and the stored object")
