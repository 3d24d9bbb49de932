"""Which leaves are over, and since when groups are, from cycle to cycle: only what has changed is computed again."""

from collections.abc import Iterable, Mapping, Set
from datetime import datetime

from shared.quota.measure.inputs.world import OverSince
from shared.resources import FlavorResource

KeysOver = Mapping[str, tuple[FlavorResource, ...]]
"""group -> the keys on which it is over."""


class OverSinceCache:
    """What the numbers say of leaves, and the latest answer."""

    __slots__ = ("_changed", "_exceptions", "_given", "_now", "_since", "by_numbers", "keys_over")

    def __init__(self) -> None:
        self.by_numbers: dict[str, tuple[FlavorResource, ...]] = {}
        """leaf -> the keys of which it uses more than its runtime, evicting workloads included; only leaves that do."""
        self.keys_over: dict[str, tuple[FlavorResource, ...]] = {}
        """group -> the keys on which it was over at the last call; only groups that were over."""
        self._changed = set[str]()
        """Leaves of which the numbers say another thing than at the last call."""
        self._exceptions: Set[str] = frozenset()
        self._given: OverSince = {}
        self._now: datetime | None = None
        self._since: dict[tuple[str, FlavorResource], datetime] = {}

    def note(self, leaf: str, keys: tuple[FlavorResource, ...]) -> None:
        """Note of which keys the leaf uses more than its runtime."""
        if keys == self.by_numbers.get(leaf, ()):
            return
        self._changed.add(leaf)
        if keys:
            self.by_numbers[leaf] = keys
        else:
            del self.by_numbers[leaf]

    def compute(self, given: OverSince, exceptions: KeysOver, now: datetime) -> OverSince:
        """Return since when each group is over: since the moment in `given`, else since now.

        `exceptions`: what replaces for some groups what the numbers say.
        """
        if given is self._since or (given is self._given and now == self._now):
            since = self._revised(given, exceptions, {*self._changed, *self._exceptions, *exceptions}, now)
        else:
            self.keys_over = {name: keys for name, keys in {**self.by_numbers, **exceptions}.items() if keys}
            since = {(name, key): given.get((name, key), now) for name, keys in self.keys_over.items() for key in keys}
        self._exceptions, self._given, self._now, self._since = exceptions.keys(), given, now, since
        self._changed.clear()
        return since

    def _revised(
        self, given: OverSince, exceptions: KeysOver, names: Iterable[str], now: datetime
    ) -> dict[tuple[str, FlavorResource], datetime]:
        found = {name: exceptions[name] if name in exceptions else self.by_numbers.get(name, ()) for name in names}
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
