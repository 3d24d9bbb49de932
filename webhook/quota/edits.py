"""One edit of a quota object, as a review describes it: of a QuotaGroup or of a ResourceFlavor. Pure.

A review proves nothing by itself. What it says of the stored object (`base`, `old`) counts only as far as what is read
from the API server confirms it; `edit_serializer` does that.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

import msgspec

from shared.api.json.reading import Unreadable
from shared.api.names import IN_USE
from shared.api.review import Review, ReviewOperation
from shared.quota.model.flavor import Flavor
from shared.quota.model.read.groups import read_flavor, read_group
from shared.quota.model.tree import BUILT_IN, Group

GROUP: Final = "QuotaGroup"
FLAVOR: Final = "ResourceFlavor"
Quota = TypeVar("Quota", Group, Flavor)
MAX_UID: Final = 64
MAX_VERSION: Final = 20
"""Digits of a resourceVersion: 64 bits."""


class ObjectVersion(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Identity and version of an object; `deletion_timestamp` is empty unless deletion was requested."""

    name: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str = ""
    finalizers: list[str] = []

    @property
    def is_kept(self) -> bool:
        """Whether its deletion waits until nothing uses it: the removal of the finalizer is judged in its place."""
        return IN_USE in self.finalizers

    @property
    def is_leaving(self) -> bool:
        """Whether it disappears without another review."""
        return bool(self.deletion_timestamp) and not self.is_kept


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
    old = read_group(review.old_object) if _has_old(review) else None
    stays = found.is_kept and found.name not in BUILT_IN
    new = _after(review, found, old if stays else None, read_group)
    base = found.resource_version if old else ""
    _check_names(found.name, old, new)
    return GroupEdit(edit_id, found.name or review.name, found.uid, base, old, new, review.dry_run)


def read_flavor_edit(review: Review, edit_id: str) -> FlavorEdit:
    """Return the edit of a flavor that a review describes. Raises Unreadable."""
    found = _read_version(review)
    old = read_flavor(review.old_object) if _has_old(review) else None
    new = _after(review, found, old if found.is_kept else None, read_flavor)
    base = found.resource_version if old else ""
    _check_names(found.name, old, new)
    return FlavorEdit(edit_id, found.name or review.name, found.uid, base, old, new, review.dry_run)


def _after(
    review: Review, stored: ObjectVersion, kept: Quota | None, read: Callable[[msgspec.Raw], Quota]
) -> Quota | None:
    """Return the object after the edit; None if it is gone.

    `kept`: what a deletion leaves. With the finalizer that is the object itself, as it was; the removal of the
    finalizer is then the deletion.
    """
    if review.operation is ReviewOperation.DELETE or not review.has_object:
        return kept
    if stored.deletion_timestamp and stored.is_kept and not _version_in(review.object).is_kept:
        return None
    return read(review.object)


def _has_old(review: Review) -> bool:
    return review.operation is not ReviewOperation.CREATE and review.has_old_object


def _read_version(review: Review) -> ObjectVersion:
    """Return the version of the stored object, or None."""
    found = _version_in(review.old_object if _has_old(review) else review.object)
    if len(found.uid) > MAX_UID:
        raise Unreadable(f"metadata.uid has {len(found.uid)} characters, at most {MAX_UID} are allowed")
    if _has_old(review) and not number(found.resource_version):
        raise Unreadable("metadata.resourceVersion of the stored object is not a number")
    return found


def _version_in(raw: msgspec.Raw) -> ObjectVersion:
    try:
        return read_version(raw)
    except msgspec.MsgspecError as error:
        raise Unreadable(str(error)) from error


def _check_names(name: str, old: Group | Flavor | None, new: Group | Flavor | None) -> None:
    if any(each is not None and each.name != name for each in (old, new)):
        raise Unreadable("metadata.name differs between the object and the stored object")
