"""What follows from limits and capacity alone for one key: effectiveMin, and the largest request that could ever fit.

A request could ever fit if it fits a tree in which nothing else runs and the others keep their guarantees, as far as
these are certain: of scaled mins only the whole part is, because who gets the units that remain changes with use.

    Root 1; a: min 1, all of it guaranteed; b: min 1. The effectiveMins are 1 and 0, by name; but the unit stays with b
    while b uses it. So b's request of 1 could fit.

See docs/specification.md §3.4 and §3.5.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from shared.quota.measure.static.tree_index import TreeIndex
from shared.quota.model.amounts.largest_remainder import deal_round, whole_parts
from shared.quota.model.limits import Limits
from shared.quota.model.tree import ROOT
from shared.resources import Amount, FlavorResource

NO_ROOM: Final = -1
"""Not even an empty request fits: the guarantees beside it leave less than its group's own."""


class Bound(msgspec.Struct, frozen=True, gc=False):
    """One group's bounds for one key."""

    effective_min: Amount = 0
    certain_min: Amount = 0
    """The scaled min, rounded down at every level: what the group has before units left by rounding are dealt out."""
    kept: Amount = 0
    """min(guarantee, certain_min): what it keeps while idle."""
    below: Amount = 0
    """The cost of its children together while they are idle."""
    room: Amount = 0
    """The largest charge that could ever fit; NO_ROOM where none could."""

    @property
    def idle(self) -> Amount:
        """Return what the group costs its parent while nothing runs in it."""
        return max(self.kept, self.below)


UNBOUND: Final = Bound()
Bounds = Mapping[str, Bound]
"""group -> its bounds, for one key."""


def compute_bounds(tree_index: TreeIndex, key: FlavorResource, runtime: Amount) -> dict[str, Bound]:
    """Return the bounds of every group that has `key`, when root's runtime is `runtime`."""
    return _resolved(_Column(tree_index, key, {}, set(tree_index.having[key])), runtime).results()


def revise_bounds(
    tree_index: TreeIndex, key: FlavorResource, runtime: Amount, previous: Bounds, touched: Iterable[str]
) -> tuple[Bounds, frozenset[str]]:
    """Return what `compute_bounds` gives, and the groups for which that differs from `previous`.

    `previous` is for a tree of the same shape, with another runtime of root, or other limits of `touched`.
    """
    column = _resolved(_Column(tree_index, key, previous, set(touched)), runtime)
    changed = column.differing()
    return (column.results() if changed else previous), changed


def _resolved(column: "_Column", runtime: Amount) -> "_Column":
    column.set_effective_mins(runtime)
    column.sum_idle()
    column.set_room(runtime)
    return column


class _BoundDraft:
    """A bound while it is being computed."""

    __slots__ = ("below", "certain_min", "effective_min", "kept", "room")

    def __init__(self, known: Bound) -> None:
        self.effective_min, self.certain_min = known.effective_min, known.certain_min
        self.kept, self.below, self.room = known.kept, known.below, known.room

    @property
    def idle(self) -> Amount:
        """Return what the group costs its parent while nothing runs in it."""
        return max(self.kept, self.below)

    def closed(self) -> Bound:
        """Return the finished bound."""
        return Bound(self.effective_min, self.certain_min, self.kept, self.below, self.room)


class _Column:
    """The bounds of one key: effectiveMin from root down, the cost of idle groups up, then the room from root down.

    `changed` grows on the way: the bounds of its groups and of their children are computed again.
    """

    def __init__(self, tree_index: TreeIndex, key: FlavorResource, previous: Bounds, changed: set[str]) -> None:
        self._tree_index = tree_index
        self._key = key
        self._previous = previous
        self._changed = changed
        self._drafts = {
            name: _BoundDraft(previous.get(name, UNBOUND)) for name in changed if key in tree_index.limits[name]
        }

    def set_effective_mins(self, runtime: Amount) -> None:
        """Compute effectiveMin, and how much of it the group keeps while idle."""
        if self._known(ROOT).effective_min != runtime:
            root = self._draft(ROOT)
            root.effective_min = root.certain_min = runtime
        for parent in self._downwards():
            above = self._known(parent)
            children = self._children(parent)
            mins = [limits.min for _, limits in children]
            effective, certain = _scaled(above.effective_min, mins), _rounded_down(above.certain_min, mins)
            for place, (child, limits) in enumerate(children):
                found = (effective[place], certain[place], min(limits.guarantee, certain[place]))
                known = self._known(child)
                if found != (known.effective_min, known.certain_min, known.kept):
                    own = self._draft(child)
                    own.effective_min, own.certain_min, own.kept = found

    def sum_idle(self) -> None:
        """Sum what idle children cost."""
        for parent in self._upwards():
            below = sum(self._known(child).idle for child, _ in self._children(parent))
            if below != self._known(parent).below:
                self._draft(parent).below = below

    def set_room(self, runtime: Amount) -> None:
        """Compute the largest charge that could ever fit."""
        room = min(self._tree_index.limit(ROOT, self._key).ceiling, runtime)
        if self._known(ROOT).room != room:
            self._draft(ROOT).room = room
        for parent in self._downwards():
            above = self._known(parent)
            spare = above.room - above.below
            for child, limits in self._children(parent):
                own = self._known(child)
                left = spare + own.idle
                room = min(limits.ceiling, left) if left >= own.kept else NO_ROOM
                if room != own.room:
                    self._draft(child).room = room

    def results(self) -> dict[str, Bound]:
        """Return all bounds."""
        found = {**self._previous, **{name: own.closed() for name, own in self._drafts.items()}}
        for name in self._changed - self._drafts.keys():
            found.pop(name, None)
        return found

    def differing(self) -> frozenset[str]:
        """Return the groups whose bounds are not what they were, or that no longer have any."""
        differing = {name for name, own in self._drafts.items() if own.closed() != self._previous.get(name)}
        return frozenset(differing | (self._changed - self._drafts.keys()) & self._previous.keys())

    def _known(self, name: str) -> Bound | _BoundDraft:
        return self._drafts.get(name) or self._previous.get(name, UNBOUND)

    def _draft(self, name: str) -> _BoundDraft:
        if name not in self._drafts:
            self._drafts[name] = _BoundDraft(self._previous.get(name, UNBOUND))
            self._changed.add(name)
        return self._drafts[name]

    def _children(self, parent: str) -> list[tuple[str, Limits]]:
        found = (
            (child, self._tree_index.limits[child].get(self._key))
            for child in self._tree_index.children.get(parent, ())
        )
        return [(child, limits) for child, limits in found if limits is not None]

    def _downwards(self) -> Iterator[str]:
        for depth in range(self._tree_index.height):
            yield from self._parents_at(depth)

    def _upwards(self) -> Iterator[str]:
        for depth in reversed(range(self._tree_index.height)):
            yield from self._parents_at(depth)

    def _parents_at(self, depth: int) -> list[str]:
        """Parents of that depth that changed, or a child of which did."""
        depths, parents, children = self._tree_index.depths, self._tree_index.parents, self._tree_index.children
        found = {parents[name] for name in self._changed if depths[name] == depth + 1}
        found.update(name for name in self._changed if depths[name] == depth and name in children)
        return [name for name in found if self._key in self._tree_index.limits[name]]


def _scaled(above: Amount, mins: Sequence[Amount]) -> Sequence[Amount]:
    return mins if sum(mins) <= above else deal_round(above, mins)


def _rounded_down(above: Amount, mins: Sequence[Amount]) -> Sequence[Amount]:
    return mins if sum(mins) <= above else whole_parts(above, mins).dealt


def changed_bounds(now: Bounds | None, before: Bounds | None) -> frozenset[str]:
    """Return the groups whose bounds for one key differ."""
    now, before = now or {}, before or {}
    return frozenset(name for name in now.keys() | before.keys() if now.get(name) != before.get(name))


def binding_group(tree_index: TreeIndex, bounds: Bounds, leaf: str, key: FlavorResource) -> str:
    """Return the group whose limit makes the room of `leaf` as small as it is; of several, the highest."""
    at = leaf
    while at != ROOT:
        room, above = bounds.get(at, UNBOUND).room, tree_index.parents[at]
        if room == tree_index.limit(at, key).ceiling and room != bounds.get(above, UNBOUND).room:
            break
        at = above
    return at
