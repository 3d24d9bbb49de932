"""The selected objects in the forms that are sent: lists, pages, Tables, and watch events."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from reconciler.visibility.front.requests import ReadRequest
from reconciler.visibility.objects.kinds import API_VERSION, VisibleKind
from reconciler.visibility.objects.tables import table
from shared.json_data import Json

_PASSING: Final = ("asOf", "servedBy", "pastUse", "forecast")
"""Members that change all the time and cause no watch event."""
_encode: Final = msgspec.json.Encoder().encode

Key = tuple[str, str]
"""Namespace and name."""


Item = tuple[Json, bytes]
"""An object, and its digest."""


def item_of(found: Json) -> Item:
    """Return the object with its digest."""
    return found, digest_of(found)


def digest_of(item: Json) -> bytes:
    """Equal for equal objects, whichever replica saw them when, and however far past use has decayed."""
    told = {name: value for name, value in item["status"].items() if name not in _PASSING}
    return hashlib.blake2b(_encode([item["metadata"], told]), digest_size=8).digest()


@dataclass(slots=True, eq=False)
class Selected:
    """The objects in the order of a list, and the version of them all together: equal in replicas that see the same."""

    kind: VisibleKind
    items: list[Json]
    digests: dict[Key, bytes] = field(default_factory=dict)
    version: str = ""
    _bodies: dict[tuple[bool, str, int, int], bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, kind: VisibleKind, items: list[Json], digests: list[bytes]) -> "Selected":
        """Combine computed items."""
        whole = hashlib.blake2b(b"".join(sorted(digests)), digest_size=7).digest()
        keyed = {key_of(item): digest for item, digest in zip(items, digests, strict=True)}
        return cls(kind, items, keyed, str(int.from_bytes(whole, "big")))

    def body(self, request: ReadRequest) -> bytes:
        """Return the list as it is sent; the same bytes for all equal requests."""
        form = (request.as_table, request.include, request.start, request.limit)
        found = self._bodies.get(form)
        if found is None:
            found = self._bodies[form] = _encode(self._page(request))
        return found

    def one(self, request: ReadRequest) -> bytes | None:
        """Return the only object; None when there is none."""
        if not self.items:
            return None
        if request.as_table:
            return _encode(table(self.kind, self.items[:1], {}, request.include))
        return _encode(self.items[0])

    def _page(self, request: ReadRequest) -> Json:
        end = request.start + request.limit if request.limit else len(self.items)
        items, left = self.items[request.start : end], len(self.items) - end
        metadata: Json = {"resourceVersion": self.version}
        if left > 0:
            metadata |= {"continue": str(end), "remainingItemCount": left}
        if request.as_table:
            return table(self.kind, items, metadata, request.include)
        return {"kind": self.kind.list_kind, "apiVersion": API_VERSION, "metadata": metadata, "items": items}

    def events_since(self, before: Mapping[Key, bytes], gone: Mapping[Key, Json]) -> Iterator[tuple[str, Json]]:
        """(ADDED, MODIFIED or DELETED, object) for every difference; `gone`: the objects of `before`."""
        for item in self.items:
            key = key_of(item)
            if key not in before:
                yield "ADDED", self._versioned(item)
            elif before[key] != self.digests[key]:
                yield "MODIFIED", self._versioned(item)
        for key in before:
            if key not in self.digests and key in gone:
                yield "DELETED", self._versioned(gone[key])

    def _versioned(self, item: Json) -> Json:
        return item | {"metadata": item["metadata"] | {"resourceVersion": self.version}}


def key_of(item: Json) -> Key:
    """Namespace and name of an object."""
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]
