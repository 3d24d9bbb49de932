"""The records of a watch, and the change that each event makes.

Objects are projected to records at once, so that only the fields used stay in memory. Keyed by uid: an object deleted
and created again under its name is another one. Knows nothing of the network.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

import msgspec

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Changed(msgspec.Struct, Generic[R_co], frozen=True, gc=False):
    """A record before and after: (None, x) appeared, (x, y) changed, (x, None) is gone."""

    before: R_co | None
    after: R_co | None


class Undecodable(msgspec.Struct, frozen=True, gc=False):
    """An object that could not be projected. Its previous record, if any, is kept."""

    namespace: str
    name: str
    uid: str
    reason: str


Change = Changed[R] | Undecodable
Project = Callable[[bytes], R | None]
"""An object's JSON -> its record; None: filtered out."""
Sink = Callable[[Sequence[Change[R]]], None]
Tap = Callable[[bytes, bool], None]
"""Is told each object as it came, and whether it is gone; empty: of a new list, whose objects it is not told."""


def transitions(changes: Sequence[Change[R]]) -> Iterator[tuple[R | None, R | None]]:
    """(before, after) of each change; objects that could not be read are skipped: their previous record stays."""
    for change in changes:
        if isinstance(change, Changed):
            yield change.before, change.after


class _CachedMetadata(msgspec.Struct, rename="camel", gc=False):
    uid: str = ""
    name: str = ""
    namespace: str = ""
    resource_version: str = ""


class _Identified(msgspec.Struct, gc=False):
    metadata: _CachedMetadata


_identify = msgspec.json.Decoder(_Identified).decode


def _name_in(record: object) -> tuple[str, str]:
    """Return namespace and name as far as the record says them."""
    named = getattr(record, "metadata", record)
    return getattr(named, "namespace", ""), getattr(named, "name", "")


class State(Generic[R]):
    """Records by uid, and the objects that could not be projected."""

    __slots__ = ("records", "undecodable")

    def __init__(self) -> None:
        self.records: dict[str, R] = {}
        self.undecodable: dict[str, Undecodable] = {}


class Cache(State[R]):
    """The state last reported to the sink, and the changes that lead to the next."""

    __slots__ = ("_project", "tap")

    def __init__(self, project: Project[R]) -> None:
        super().__init__()
        self.tap: Tap | None = None
        self._project = project

    def gather(self, state: State[R], raw: bytes) -> None:
        """Add an object to a state that will replace this one."""
        meta = _identify(raw).metadata
        record, known = self._record(meta, raw), self.records.get(meta.uid)
        if isinstance(record, Undecodable):
            state.undecodable[meta.uid] = record
            if known is not None:
                state.records[meta.uid] = known
        elif record is not None:
            # The known one if it is equal: another list of all objects takes no memory for each once more.
            state.records[meta.uid] = known if known is not None and known == record else record

    def replace(self, state: State[R]) -> list[Change[R]]:
        """Adopt `state`. Returns the difference, removed objects first, so that what they used is free."""
        if self.tap is not None:
            self.tap(b"", False)
        changes: list[Change[R]] = [
            Changed(record, None) for uid, record in self.records.items() if uid not in state.records
        ]
        for uid, record in state.records.items():
            before = self.records.get(uid)
            if before is not record:
                changes.append(Changed(before, record))
        changes += [problem for uid, problem in state.undecodable.items() if self.undecodable.get(uid) != problem]
        self.records, self.undecodable = state.records, state.undecodable
        return changes

    def put(self, raw: bytes) -> tuple[str, Change[R] | None]:
        """Store an object. Returns its resourceVersion and the change; None when no kept field has changed."""
        if self.tap is not None:
            self.tap(raw, False)
        meta = _identify(raw).metadata
        record = self._record(meta, raw)
        if isinstance(record, Undecodable):
            known = self.undecodable.get(meta.uid)
            self.undecodable[meta.uid] = record
            return meta.resource_version, record if record != known else None
        if self.undecodable:
            self.undecodable.pop(meta.uid, None)
        return meta.resource_version, self._set(meta.uid, record)

    def drop(self, raw: bytes) -> tuple[str, Change[R] | None]:
        """Remove an object that is gone. Returns as `put`."""
        if self.tap is not None:
            self.tap(raw, True)
        meta = _identify(raw).metadata
        self.undecodable.pop(meta.uid, None)
        return meta.resource_version, self._set(meta.uid, None)

    def set_aside(self, change: Change[R], reason: str) -> Undecodable:
        """Drop the object of a change that could not be taken; its next change is one that appears."""
        if isinstance(change, Undecodable):
            return change
        uid = next((uid for uid, record in self.records.items() if record is change.after), "")
        if change.after is None:
            return Undecodable("", "", uid, reason)
        self.records.pop(uid, None)
        found = self.undecodable[uid] = Undecodable(*_name_in(change.after), uid, reason)
        return found

    def _set(self, uid: str, record: R | None) -> Changed[R] | None:
        before = self.records.get(uid)
        if record is None:
            self.records.pop(uid, None)
        else:
            self.records[uid] = record
        return Changed(before, record) if before != record else None

    def _record(self, meta: _CachedMetadata, raw: bytes) -> R | Undecodable | None:
        try:
            return self._project(raw)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"[:500]
            return Undecodable(meta.namespace, meta.name, meta.uid, reason)
