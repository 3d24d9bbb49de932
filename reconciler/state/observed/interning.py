"""Keeps one object where many records say the same: most Jobs of a team differ in nothing but their names."""

from typing import Generic, TypeVar
from weakref import WeakValueDictionary

import msgspec

S = TypeVar("S", bound=msgspec.Struct)


class Interned(Generic[S]):
    """Equal structs as one. The struct type has `weakref=True`: what no record uses any more is forgotten."""

    def __init__(self) -> None:
        self._known: WeakValueDictionary[bytes, S] = WeakValueDictionary()
        self._encode = msgspec.json.Encoder().encode

    def shared(self, value: S) -> S:
        """The object that stands for all that equal `value`."""
        return self._known.setdefault(self._encode(value), value)
