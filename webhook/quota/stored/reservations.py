"""The coordination object: which edits were accepted and might not be stored yet, and how to recognise stored ones.

One ConfigMap that every replica reads consistently and writes by compare-and-swap. An accepted edit is tied to the
state it was judged on: a creation to the absence of its name, an update or deletion to the object's resourceVersion.
The API server stores it only on that very state, and sends another review otherwise; so the object shows whether the
edit was stored.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

import msgspec

from shared.kube.client import Client, ObjectMetadata
from shared.kube.errors import AlreadyExists, ApiError, Conflict, NotFound
from shared.kube.resources import CONFIG_MAPS
from shared.quota.model.tree import Entry, Group, Override, Window
from webhook.quota.edits import number

_KEY: Final = "reservations"
_FLOOR: Final = "floor"
MAX_RECORDED: Final = 768 * 1024
"""Bytes of reservations: a ConfigMap holds 1 MiB."""


class ReservedEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """The part of a quota entry that the rules about trees read, in base units."""

    flavor: str
    min: dict[str, int] = {}
    max: dict[str, int] = {}
    percents: dict[str, dict[str, int]] = {}
    """Of min and max, as in the model."""


class ReservedOverride(msgspec.Struct, frozen=True, omit_defaults=True):
    """The part of an override that these rules read."""

    start: datetime
    end: datetime
    quotas: list[ReservedEntry] = []


class ReservedWindow(msgspec.Struct, frozen=True, omit_defaults=True):
    """The part of a window that these rules read."""

    schedule: str
    duration: timedelta
    zone: str
    quotas: list[ReservedEntry] = []


class ReservedGroup(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The part of a group that the rules about trees read."""

    parent: str | None = None
    is_parent: bool = False
    quotas: list[ReservedEntry] = []
    overrides: list[ReservedOverride] = []
    windows: list[ReservedWindow] = []


class Reservation(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One accepted edit. `base`: the resourceVersion it was judged on, empty for a creation. `group` None: deletion."""

    id: str
    kind: str
    name: str
    uid: str
    at: datetime
    base: str = ""
    group: ReservedGroup | None = None

    def __str__(self) -> str:
        what = "deletion" if self.group is None else "creation" if not self.base else "change"
        return f"{what} of {self.kind} {self.name}"


class StoredVersion(msgspec.Struct, frozen=True):
    """The stored version of an object."""

    uid: str
    resource_version: str


def is_open(reservation: Reservation, stored: StoredVersion | None, revision: int) -> bool:
    """Return whether the edit might still be stored: the object has the version it was accepted on, or an older one.

    `stored` is what is known of the object, true up to `revision`.
    """
    if not reservation.base:
        return stored is None or stored.uid != reservation.uid
    seen = revision if stored is None else number(stored.resource_version)
    return seen <= number(reservation.base)


def reserve_group(group: Group) -> ReservedGroup:
    """Return the part of a group that its reservation keeps."""
    return ReservedGroup(
        group.parent,
        group.is_parent,
        _reserve(group.quotas),
        [ReservedOverride(each.start, each.end, _reserve(each.quotas)) for each in group.overrides],
        [ReservedWindow(each.schedule, each.duration, each.zone, _reserve(each.quotas)) for each in group.windows],
    )


def _reserve(entries: Iterable[Entry]) -> list[ReservedEntry]:
    return [ReservedEntry(each.flavor, dict(each.min), dict(each.max), _kept(each)) for each in entries]


def _reserved(entries: Iterable[ReservedEntry]) -> tuple[Entry, ...]:
    return tuple(Entry(each.flavor, each.min, each.max, percents=each.percents) for each in entries)


def _kept(entry: Entry) -> dict[str, dict[str, int]]:
    return {limit: dict(entry.percents[limit]) for limit in ("min", "max") if limit in entry.percents}


def reserved_group(reservation: Reservation) -> Group | None:
    """Return the group as it is once the edit is stored; None for a deletion."""
    if reservation.group is None:
        return None
    group = reservation.group
    return Group(
        reservation.name,
        group.parent,
        group.is_parent,
        _reserved(group.quotas),
        overrides=tuple(Override(each.start, each.end, _reserved(each.quotas)) for each in group.overrides),
        windows=tuple(
            Window(each.schedule, each.duration, each.zone, _reserved(each.quotas)) for each in group.windows
        ),
        uid=reservation.uid,
    )


class Reservations(msgspec.Struct, frozen=True):
    """The content of the coordination object, and the resourceVersion it was read at."""

    version: str
    reservations: tuple[Reservation, ...] = ()
    floor: int = 0
    """Everything that is no longer recorded here happened by this resourceVersion: an older view must not be used.

    A new object records nothing of the past: its floor is its own resourceVersion.
    """


class _ConfigMap(ObjectMetadata, frozen=True):
    data: dict[str, str] | None = None


_decode = msgspec.json.Decoder(tuple[Reservation, ...]).decode


def size_of(reservations: Iterable[Reservation]) -> int:
    """Return the number of bytes that they take in the ConfigMap."""
    return sum(len(msgspec.json.encode(each)) + 1 for each in reservations)


def read_reservations(raw: bytes | msgspec.Raw) -> Reservations:
    """Read the ConfigMap. Raises ApiError when Quotree did not write it in this form."""
    found = msgspec.json.decode(raw, type=_ConfigMap)
    try:
        reservations = _decode((found.data or {}).get(_KEY, "[]"))
    except msgspec.MsgspecError as error:
        message = f"ConfigMap {found.metadata.name} is not as Quotree wrote it ({error}); delete it, no edit is lost"
        raise ApiError(0, "BadReservations", message) from error
    version = found.metadata.resource_version
    return Reservations(version, reservations, number((found.data or {}).get(_FLOOR, version)))


class ReservationsObject:
    """Reads and writes the ConfigMap; the first reader creates it."""

    def __init__(self, client: Client, namespace: str, name: str) -> None:
        self._client = client
        self._name = name
        self._namespace = namespace

    async def read(self) -> Reservations:
        """Return the current state. Raises ApiError."""
        try:
            raw = await self._client.get(CONFIG_MAPS, self._name, self._namespace)
        except NotFound:
            return await self._create()
        return read_reservations(raw)

    async def _create(self) -> Reservations:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": self._name, "namespace": self._namespace}}
        try:
            made = await self._client.create(CONFIG_MAPS, body, self._namespace)
        except AlreadyExists:
            return await self.read()
        version = made.metadata.resource_version
        return Reservations(version, floor=number(version))

    async def write(self, recorded: Reservations, reservations: Iterable[Reservation], floor: int) -> Reservations:
        """Replace the reservations. Raises Conflict when another replica was first."""
        kept = tuple(reservations)
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": self._name, "namespace": self._namespace, "resourceVersion": recorded.version},
            "data": {_KEY: msgspec.json.encode(kept).decode(), _FLOOR: str(floor)},
        }
        try:
            written = await self._client.replace(CONFIG_MAPS, self._name, body, self._namespace)
        except NotFound as error:
            raise Conflict(
                404, error.reason, "the coordination object was deleted; read it again", request=error.request
            ) from error
        return Reservations(written.metadata.resource_version, kept, floor)
