"""The usage views of one cycle together, and what groups use in all.

What fits must fit every view. See docs/specification.md §6.2.
"""

from collections.abc import Mapping

from shared.quota.decide.state.usage import Available, GroupPath, KeyCharges, Quantities, Usage
from shared.quota.measure.group_usage import NO_NUMBERS, GroupNumbers
from shared.resources import Amount, FlavorResource


class _Charges(dict[FlavorResource, tuple[KeyCharges, ...]]):
    """The charges of each key in all views."""

    __slots__ = ("_usages",)

    def __init__(self, usages: tuple[Usage, ...]) -> None:
        self._usages = usages

    def __missing__(self, key: FlavorResource) -> tuple[KeyCharges, ...]:
        found = self[key] = tuple([usage.charges(key) for usage in self._usages])
        return found

    def available(self, path: GroupPath, key: FlavorResource) -> Amount:
        """Return the most of `key` that the group at the start of `path` can still take in every view."""
        views = self[key]
        first = views[0]
        least = first.available(path)
        for each in views:
            # A start changes every view. As often as the first one: nothing else has changed this one.
            if each.changes != first.changes:
                least = min(least, each.available(path))
        return least


class _Room(dict[FlavorResource, Amount]):
    """What is available to one group, by key: computed when first requested.

    It does not refer to the views that keep it: a cycle of references would be left to the garbage collector.
    """

    __slots__ = ("_charges", "_path")

    def __init__(self, charges: _Charges, path: GroupPath) -> None:
        self._charges = charges
        self._path = path

    def __missing__(self, key: FlavorResource) -> Amount:
        found = self[key] = self._charges.available(self._path, key)
        return found


class UsageViews:
    """The usage views of one cycle together: what fits must fit all of them."""

    __slots__ = ("_charges", "_moment", "_rooms", "usages")

    def __init__(self, usages: tuple[Usage, ...]) -> None:
        self.usages = usages
        self._charges = _Charges(usages)
        self._rooms: dict[str, _Room] = {}
        """By group, as long as no charge changes."""
        self._moment = 0

    def available(self, path: GroupPath, key: FlavorResource) -> Amount:
        """Return the most of `key` that the group at the start of `path` can still take in every view."""
        return self._charges.available(path, key)

    def room(self, path: GroupPath) -> Available:
        """Return what is available to the group at the start of `path`, for use before a charge changes."""
        return self._room(path).__getitem__

    def _room(self, path: GroupPath) -> _Room:
        moment = 0
        for usage in self.usages:
            moment += usage.moment
        if moment != self._moment:
            self._moment = moment
            self._rooms.clear()
        found = self._rooms.get(path[0])
        if found is None:
            found = self._rooms[path[0]] = _Room(self._charges, path)
        return found

    def fits(self, path: GroupPath, quantities: Quantities) -> bool:
        """Return whether `quantities` fit every view, within every limit on the path."""
        room = self._room(path)
        for key, amount in quantities:  # noqa: SIM110 - a generator costs as much again, and this runs most
            if room[key] < amount:
                return False
        return True

    def frozen(self) -> "UsageViews":
        """Return the views as they are now; later changes of these do not show there."""
        return UsageViews(tuple(usage.copied() for usage in self.usages))


class _UsedByGroup(dict[str, Amount]):
    """What all groups use of one key: the frozen numbers, until it changes."""

    __slots__ = ("_key", "_numbers")

    def __init__(self, numbers: Mapping[str, GroupNumbers], key: FlavorResource) -> None:
        self._numbers = numbers
        self._key = key

    def __missing__(self, group: str) -> Amount:
        return self._numbers.get(group, {}).get(self._key, NO_NUMBERS).used


class UsedSums:
    """Used of all groups: plain sums, without idle guarantees."""

    __slots__ = ("_by_key", "_numbers")

    def __init__(self, numbers: Mapping[str, GroupNumbers]) -> None:
        self._numbers = numbers
        self._by_key: dict[FlavorResource, _UsedByGroup] = {}

    def used(self, group: str, key: FlavorResource) -> Amount:
        """Return what the admitted workloads of the subtree request."""
        return self._of(key)[group]

    def add(self, path: GroupPath, quantities: Quantities) -> None:
        """Add `quantities` to the leaf at the start of `path`, and to all its ancestors."""
        for key, amount in quantities:
            used = self._of(key)
            for group in path:
                used[group] += amount

    def remove(self, path: GroupPath, quantities: Quantities) -> None:
        """Undo `add`."""
        self.add(path, tuple((key, -amount) for key, amount in quantities))

    def _of(self, key: FlavorResource) -> _UsedByGroup:
        found = self._by_key.get(key)
        if found is None:
            found = self._by_key[key] = _UsedByGroup(self._numbers, key)
        return found
