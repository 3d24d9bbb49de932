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
from shared.quota.model.limits import UNCOVERED, Limits
from shared.quota.model.tree import ROOT
from shared.resources import Amount, FlavorResource

NO_ROOM: Final = -1
"""Not even an empty request fits: the guarantees beside it leave less than its group's own."""


class Bound(msgspec.Struct, frozen=True, gc=False):
    """One group's bounds for one key."""

    min: Amount = 0
    """What the group's spec says."""
    mins_below: Amount = 0
    """The mins of its children together."""
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

    @property
    def scales(self) -> bool:
        """Whether the mins of its children are more than it has for certain, so that each gets a part."""
        return self.mins_below > self.certain_min

    @property
    def spare(self) -> Amount:
        """Return what its children together leave of its room while nothing runs in them."""
        return self.room - self.below


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
    column.sum_mins()
    column.set_effective_mins(runtime)
    column.sum_idle()
    column.set_room(runtime)
    return column


class _BoundDraft:
    """A bound while it is being computed."""

    __slots__ = ("below", "certain_min", "effective_min", "kept", "min", "mins_below", "room")

    def __init__(self, known: Bound) -> None:
        self.min, self.mins_below = known.min, known.mins_below
        self.effective_min, self.certain_min = known.effective_min, known.certain_min
        self.kept, self.below, self.room = known.kept, known.below, known.room

    @property
    def idle(self) -> Amount:
        """Return what the group costs its parent while nothing runs in it."""
        return max(self.kept, self.below)

    def closed(self) -> Bound:
        """Return the finished bound."""
        return Bound(self.min, self.mins_below, self.effective_min, self.certain_min, self.kept, self.below, self.room)


class _Column:
    """The bounds of one key: effectiveMin from root down, the cost of idle groups up, then the room from root down.

    `changed` grows on the way: the bounds of its groups are computed again. Sums take differences. A group whose
    siblings alone have changed is looked at only where their parent scales mins, or has more or less to spare.
    """

    def __init__(self, tree_index: TreeIndex, key: FlavorResource, previous: Bounds, changed: set[str]) -> None:
        self._tree_index = tree_index
        self._key = key
        self._previous = previous
        self._changed = changed
        self._levels: list[list[str]] = [[] for _ in range(2 + tree_index.height)]
        """depth → those of `changed` that are there."""
        for name in changed:
            self._levels[tree_index.depths[name]].append(name)
        self._drafts = {
            name: _BoundDraft(previous.get(name, UNBOUND)) for name in changed if key in tree_index.limits[name]
        }

    def sum_mins(self) -> None:
        """Sum the mins of children."""
        for level in self._levels[:0:-1]:
            more: dict[str, Amount] = {}
            for child in level:
                limits = self._tree_index.limits[child].get(self._key, UNCOVERED)
                parent = self._tree_index.parents[child]
                more[parent] = more.get(parent, 0) + limits.min - self._previous.get(child, UNBOUND).min
                if child in self._drafts:
                    self._drafts[child].min = limits.min
            for parent, difference in more.items():
                if difference and self._key in self._tree_index.limits[parent]:
                    self._draft(parent).mins_below += difference

    def set_effective_mins(self, runtime: Amount) -> None:
        """Compute effectiveMin, and how much of it the group keeps while idle."""
        if self._known(ROOT).effective_min != runtime:
            root = self._draft(ROOT)
            root.effective_min = root.certain_min = runtime
        for parent, changed in self._downwards():
            above = self._known(parent)
            if above.mins_below > above.certain_min or self._previous.get(parent, UNBOUND).scales:
                children = self._children(parent)
                mins = [limits.min for _, limits in children]
                effective, certain = _scaled(above.effective_min, mins), _rounded_down(above.certain_min, mins)
            else:
                children = [(child, self._tree_index.limits[child][self._key]) for child in changed]
                effective = certain = [limits.min for _, limits in children]
            for place, (child, limits) in enumerate(children):
                found = (effective[place], certain[place], min(limits.guarantee, certain[place]))
                known = self._known(child)
                if found != (known.effective_min, known.certain_min, known.kept):
                    own = self._draft(child)
                    own.effective_min, own.certain_min, own.kept = found

    def sum_idle(self) -> None:
        """Sum what idle children cost."""
        for level in self._levels[:0:-1]:
            more: dict[str, Amount] = {}
            for child in level:
                now = self._drafts[child].idle if child in self._drafts else 0
                parent = self._tree_index.parents[child]
                more[parent] = more.get(parent, 0) + now - self._previous.get(child, UNBOUND).idle
            for parent, difference in more.items():
                if difference and self._key in self._tree_index.limits[parent]:
                    self._draft(parent).below += difference

    def set_room(self, runtime: Amount) -> None:
        """Compute the largest charge that could ever fit."""
        drafts, previous = self._drafts, self._previous
        room = min(self._tree_index.limit(ROOT, self._key).ceiling, runtime)
        if self._known(ROOT).room != room:
            self._draft(ROOT).room = room
        for parent, changed in self._downwards():
            above = self._known(parent)
            spare = above.room - above.below
            if spare == previous.get(parent, UNBOUND).spare:
                children = [(child, self._tree_index.limits[child][self._key]) for child in changed]
            else:
                children = self._children(parent)
            for child, limits in children:
                own = drafts.get(child) or previous.get(child, UNBOUND)
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
            if name not in self._changed:
                self._changed.add(name)
                self._levels[self._tree_index.depths[name]].append(name)
        return self._drafts[name]

    def _children(self, parent: str) -> list[tuple[str, Limits]]:
        limits, key = self._tree_index.limits, self._key
        return [
            (child, found)
            for child in self._tree_index.children.get(parent, ())
            if (found := limits[child].get(key)) is not None
        ]

    def _downwards(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the parents that have changed, or a child of which has, and these children: from root down."""
        parents, children = self._tree_index.parents, self._tree_index.children
        for depth, level in enumerate(self._levels[:-1]):
            found: dict[str, list[str]] = {name: [] for name in level if name in children and name in self._drafts}
            for child in self._levels[depth + 1]:
                if child in self._drafts:
                    found.setdefault(parents[child], []).append(child)
            yield from found.items()


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
