"""The usage views of one cycle together, and what groups use in all.

What fits must fit every view. See docs/specification.md §6.2.
"""

from collections.abc import Mapping

from shared.quota.decide.state.usage import GroupPath, KeyCharges, Quantities, Usage
from shared.quota.measure.group_usage import NO_NUMBERS, GroupNumbers
from shared.resources import Amount, FlavorResource


class UsageViews(dict[FlavorResource, tuple[KeyCharges, ...]]):
    """key -> its charges in each of the usage views of one cycle: what fits must fit all of them."""

    __slots__ = ("usages",)

    def __init__(self, usages: tuple[Usage, ...]) -> None:
        self.usages = usages

    def __missing__(self, key: FlavorResource) -> tuple[KeyCharges, ...]:
        found = self[key] = tuple([usage.charges[key] for usage in self.usages])
        return found

    def available(self, path: GroupPath, key: FlavorResource) -> Amount:
        """Return the most of `key` that the group at the start of `path` can still take in every view."""
        views = self[key]
        first = views[0]
        least = first.available(path)
        for each in views:
            # A start changes every view. Equal change counts mean that only starts happened, so the charges are equal.
            if each.changes != first.changes:
                least = min(least, each.available(path))
        return least


class UsedSums:
    """Used of all groups: plain sums, without idle guarantees."""

    __slots__ = ("_numbers", "added")

    def __init__(self, numbers: Mapping[str, GroupNumbers]) -> None:
        self._numbers = numbers
        self.added: dict[str, dict[FlavorResource, Amount]] = {}
        """group → key → what has been added to the frozen numbers, where anything has; negative: taken away."""

    def used(self, group: str, key: FlavorResource) -> Amount:
        """Return what the admitted workloads of the subtree request."""
        return self._numbers.get(group, {}).get(key, NO_NUMBERS).used + self.added.get(group, {}).get(key, 0)

    def add(self, path: GroupPath, quantities: Quantities) -> None:
        """Add `quantities` to the leaf at the start of `path`, and to all its ancestors."""
        for group in path:
            added = self.added.get(group)
            if added is None:
                added = self.added[group] = {}
            for key, amount in quantities:
                added[key] = added.get(key, 0) + amount

    def remove(self, path: GroupPath, quantities: Quantities) -> None:
        """Undo `add`."""
        self.add(path, tuple([(key, -amount) for key, amount in quantities]))
