"""Since when groups are over, from cycle to cycle: only what has changed is computed again."""

from collections.abc import Iterable, Mapping, Set
from datetime import datetime

from shared.quota.measure.identity import changed_names
from shared.quota.measure.inputs.world import OverSince
from shared.resources import FlavorResource

KeysOver = Mapping[str, tuple[FlavorResource, ...]]
"""group -> the keys on which it is over."""


class OverSinceCache:
    """The latest answer, and what it was computed from."""

    __slots__ = ("_exceptions", "_given", "_now", "_over", "_since", "keys_over")

    def __init__(self) -> None:
        self.keys_over: dict[str, tuple[FlavorResource, ...]] = {}
        """group -> the keys on which it was over at the last call; only groups that were over."""
        self._over: KeysOver = {}
        self._exceptions: Set[str] = frozenset()
        self._given: OverSince = {}
        self._now: datetime | None = None
        self._since: dict[tuple[str, FlavorResource], datetime] = {}

    def compute(self, given: OverSince, over: KeysOver, exceptions: KeysOver, now: datetime) -> OverSince:
        """Return since when each group is over: since the moment in `given`, else since now.

        `over`: what the numbers say; `exceptions`: what replaces it for some groups.
        """
        changed = changed_names(over, self._over)
        if given is self._since or (given is self._given and now == self._now):
            since = self._revised(given, over, exceptions, {*changed, *self._exceptions, *exceptions}, now)
        else:
            self.keys_over = {name: keys for name, keys in {**over, **exceptions}.items() if keys}
            since = {(name, key): given.get((name, key), now) for name, keys in self.keys_over.items() for key in keys}
        self._exceptions, self._given, self._now, self._since = exceptions.keys(), given, now, since
        self._over = dict(over)
        return since

    def _revised(
        self, given: OverSince, over: KeysOver, exceptions: KeysOver, names: Iterable[str], now: datetime
    ) -> dict[tuple[str, FlavorResource], datetime]:
        found = {name: exceptions[name] if name in exceptions else over.get(name, ()) for name in names}
        moved = {name: keys for name, keys in found.items() if keys != self.keys_over.get(name, ())}
        if not moved:
            return self._since
        since = self._since.copy()  # several times quicker than dict() of one from which keys were deleted
        for name, keys in moved.items():
            for key in self.keys_over.pop(name, ()):
                del since[name, key]
            if keys:
                self.keys_over[name] = keys
                since.update({(name, key): given.get((name, key), now) for key in keys})
        return since
