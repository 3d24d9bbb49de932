"""What limits and capacity alone say of one key: effectiveMin, and the largest request that could ever fit.

A request could ever fit when it fits the tree in which nothing else runs, while the others keep their guarantees.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from shared.quota.measure.fair_share import deal_round
from shared.quota.measure.static.tree_index import TreeIndex
from shared.quota.model.limits import Limits
from shared.quota.model.tree import ROOT
from shared.resources import Amount, FlavorResource

NO_ROOM: Final = -1
"""Not even an empty request fits: the guarantees beside it leave less than its group's own."""


class Bound(msgspec.Struct, frozen=True, gc=False):
    """One group's bounds for one key."""

    effective_min: Amount = 0
    kept: Amount = 0
    """min(guarantee, effectiveMin): what it keeps while idle."""
    below: Amount = 0
    """What its children cost it together while idle."""
    room: Amount = 0
    """The largest charge that could ever fit; NO_ROOM where none could."""

    @property
    def idle(self) -> Amount:
        """What it costs its parent while nothing runs in it."""
        return max(self.kept, self.below)


UNBOUND: Final = Bound()
Bounds = Mapping[str, Bound]
"""group -> its bounds, for one key."""


def compute_bounds(frame: TreeIndex, key: FlavorResource, runtime: Amount) -> dict[str, Bound]:
    """The bounds of every group that has `key`, when root's runtime is `runtime`."""
    return _settled(_Column(frame, key, {}, set(frame.having(key))), runtime).results()


def revise_bounds(
    frame: TreeIndex, key: FlavorResource, runtime: Amount, previous: Bounds, touched: Iterable[str]
) -> tuple[Bounds, frozenset[str]]:
    """What `compute_bounds` gives, and the groups for which that differs from `previous`.

    `previous` is of a frame of the same shape, with another runtime of root, or other limits of `touched`.
    """
    column = _settled(_Column(frame, key, previous, set(touched)), runtime)
    changed = column.differing()
    return (column.results() if changed else previous), changed


def _settled(column: "_Column", runtime: Amount) -> "_Column":
    column.promise(runtime)
    column.add_up()
    column.make_room(runtime)
    return column


class _Open:
    """A bound that is being worked out."""

    __slots__ = ("below", "effective_min", "kept", "room")

    def __init__(self, known: Bound) -> None:
        self.effective_min, self.kept, self.below, self.room = known.effective_min, known.kept, known.below, known.room

    @property
    def idle(self) -> Amount:
        """As Bound has it."""
        return max(self.kept, self.below)

    def closed(self) -> Bound:
        """The finished bound."""
        return Bound(self.effective_min, self.kept, self.below, self.room)


class _Column:
    """The bounds of one key: down go the promises, up what idle groups cost, down again the room.

    `changed` grows on the way: who is in it has its own and its children's bounds looked at again.
    """

    def __init__(self, frame: TreeIndex, key: FlavorResource, previous: Bounds, changed: set[str]) -> None:
        self._frame = frame
        self._key = key
        self._previous = previous
        self._changed = changed
        self._opened = {name: _Open(previous.get(name, UNBOUND)) for name in changed if key in frame.limits[name]}

    def promise(self, runtime: Amount) -> None:
        """effectiveMin and what is kept of it."""
        if self._known(ROOT).effective_min != runtime:
            self._open(ROOT).effective_min = runtime
        for parent in self._downwards():
            promised = self._known(parent).effective_min
            children = self._children(parent)
            mins = [limits.min for _, limits in children]
            if sum(mins) > promised:
                mins = deal_round(promised, mins)
            for (child, limits), effective_min in zip(children, mins, strict=True):
                kept = min(limits.guarantee, effective_min)
                known = self._known(child)
                if effective_min != known.effective_min or kept != known.kept:
                    own = self._open(child)
                    own.effective_min, own.kept = effective_min, kept

    def add_up(self) -> None:
        """What idle children cost."""
        for parent in self._upwards():
            below = sum(self._known(child).idle for child, _ in self._children(parent))
            if below != self._known(parent).below:
                self._open(parent).below = below

    def make_room(self, runtime: Amount) -> None:
        """What could ever fit."""
        room = min(self._frame.limit(ROOT, self._key).ceiling, runtime)
        if self._known(ROOT).room != room:
            self._open(ROOT).room = room
        for parent in self._downwards():
            above = self._known(parent)
            spare = above.room - above.below
            for child, limits in self._children(parent):
                own = self._known(child)
                left = spare + own.idle
                room = min(limits.ceiling, left) if left >= own.kept else NO_ROOM
                if room != own.room:
                    self._open(child).room = room

    def results(self) -> dict[str, Bound]:
        """All bounds."""
        found = {**self._previous, **{name: own.closed() for name, own in self._opened.items()}}
        for name in self._changed - self._opened.keys():
            found.pop(name, None)
        return found

    def differing(self) -> frozenset[str]:
        """The groups whose bounds are not what they were, or that have none any more."""
        moved = {name for name, own in self._opened.items() if own.closed() != self._previous.get(name)}
        return frozenset(moved | (self._changed - self._opened.keys()) & self._previous.keys())

    def _known(self, name: str) -> Bound | _Open:
        return self._opened.get(name) or self._previous.get(name, UNBOUND)

    def _open(self, name: str) -> _Open:
        if name not in self._opened:
            self._opened[name] = _Open(self._previous.get(name, UNBOUND))
            self._changed.add(name)
        return self._opened[name]

    def _children(self, parent: str) -> list[tuple[str, Limits]]:
        found = ((child, self._frame.limits[child].get(self._key)) for child in self._frame.children.get(parent, ()))
        return [(child, limits) for child, limits in found if limits is not None]

    def _downwards(self) -> Iterator[str]:
        for depth in range(self._frame.height):
            yield from self._parents_at(depth)

    def _upwards(self) -> Iterator[str]:
        for depth in reversed(range(self._frame.height)):
            yield from self._parents_at(depth)

    def _parents_at(self, depth: int) -> list[str]:
        """Parents of that depth that changed, or a child of which did."""
        depths, parents, children = self._frame.depths, self._frame.parents, self._frame.children
        found = {parents[name] for name in self._changed if depths[name] == depth + 1}
        found.update(name for name in self._changed if depths[name] == depth and name in children)
        return [name for name in found if self._key in self._frame.limits[name]]


def changed_bounds(now: Bounds | None, before: Bounds | None) -> frozenset[str]:
    """The groups whose bounds for one key differ."""
    now, before = now or {}, before or {}
    return frozenset(name for name in now.keys() | before.keys() if now.get(name) != before.get(name))


def binding_group(frame: TreeIndex, bounds: Bounds, leaf: str, key: FlavorResource) -> str:
    """The group whose limit makes the room of `leaf` as small as it is; of several, the highest."""
    at = leaf
    while at != ROOT:
        room, above = bounds.get(at, UNBOUND).room, frame.parents[at]
        if room == frame.limit(at, key).ceiling and room != bounds.get(above, UNBOUND).room:
            break
        at = above
    return at
