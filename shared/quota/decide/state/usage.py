"""How much room there is: the charges and uses of every group while one cycle changes them.

A usage view overlays the frozen numbers of a snapshot and holds only what differs from them, so opening one costs
nothing. Everything is per (flavor, resource), in base units; runtimes are frozen.

See docs/specification.md §3.3 (charge) and §6.2 (the views of use).
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from shared.quota.measure.group_usage import NO_NUMBERS, GroupNumbers, Numbers
from shared.quota.model.tree import ROOT
from shared.quota.model.workload import Flavors, Workload
from shared.resources import Amount, FlavorResource

Quantities = tuple[tuple[FlavorResource, Amount], ...]
"""What one workload takes, by key; only keys of which it takes something."""
Path = tuple[str, ...]
"""Names from a leaf up to root."""
GroupKey = tuple[str, FlavorResource]
NOTHING_AVAILABLE = -1


@lru_cache(maxsize=65536)
def key_of(flavor: str, resource: str) -> FlavorResource:
    """The accounting key, one object for each; there are as many as flavors times resources."""
    return FlavorResource(flavor, resource)


def quantities_in(request: Mapping[str, Amount], resources: Iterable[str], flavor: str) -> Quantities:
    """What `request` takes of `flavor`, for those resources only."""
    return tuple([(key_of(flavor, each), request[each]) for each in resources if request.get(each, 0) > 0])


def quantities_of(workload: Workload, flavors: Flavors) -> Quantities:
    """What this workload takes in these flavors; a resource without a flavor is not counted anywhere."""
    request = workload.request
    return tuple([(key_of(flavors[each], each), request[each]) for each in sorted(flavors) if request.get(each)])


class FrozenUsage(NamedTuple):
    """What of one group and key stays as it is during a cycle."""

    charge: Amount
    """At the start of the cycle."""
    limit: Amount
    """What charge may not pass: the ceiling; at root also the runtime."""
    kept: Amount
    """What the group costs its parent even while idle."""


class UsageLimits:
    """The frozen side of all usage views of one cycle, read from the snapshot once for each group and key."""

    __slots__ = ("_numbers", "_read")

    def __init__(self, numbers: Mapping[str, GroupNumbers]) -> None:
        self._numbers = numbers
        self._read: dict[GroupKey, FrozenUsage] = {}

    def numbers(self, group: str, key: FlavorResource) -> Numbers:
        """The frozen numbers; all zero for a key that the group neither covers nor uses."""
        found = self._numbers.get(group)
        return NO_NUMBERS if found is None else found.get(key, NO_NUMBERS)

    def read(self, group: str, key: FlavorResource) -> FrozenUsage:
        """Charge, limit and what is kept."""
        found = self._read.get((group, key))
        if found is None:
            numbers = self.numbers(group, key)
            limit = min(numbers.ceiling, numbers.runtime) if group == ROOT else numbers.ceiling
            found = FrozenUsage(numbers.charge, limit, min(numbers.guarantee, numbers.runtime))
            self._read[group, key] = found
        return found


class Usage:
    """Charges of all groups, and how much more each path takes before a limit on it is passed."""

    __slots__ = ("_available", "_changed", "_terms", "versions")

    def __init__(self, terms: UsageLimits, versions: dict[FlavorResource, int] | None = None) -> None:
        """`versions`: how often charges of a key have changed; views that share it count together."""
        self.versions: dict[FlavorResource, int] = {} if versions is None else versions
        self._terms = terms
        self._changed: dict[GroupKey, Amount] = {}
        self._available: dict[GroupKey, tuple[int, Amount]] = {}

    def numbers(self, group: str, key: FlavorResource) -> Numbers:
        """The frozen numbers; all zero for a key that the group neither covers nor uses."""
        return self._terms.numbers(group, key)

    def charge(self, group: str, key: FlavorResource) -> Amount:
        """What the group costs its parent now, in this view."""
        found = self._changed.get((group, key))
        return self._terms.read(group, key).charge if found is None else found

    def limit(self, group: str, key: FlavorResource) -> Amount:
        """What charge may not pass: the ceiling; at root also the runtime."""
        return self._terms.read(group, key).limit

    def add(self, path: Path, quantities: Quantities) -> None:
        """Charge `ask` to the leaf that `path` begins with, and to all above as far as it matters there."""
        for key, amount in quantities:
            self._shift(path, key, amount)

    def remove(self, path: Path, quantities: Quantities) -> None:
        """Undo `add`."""
        for key, amount in quantities:
            self._shift(path, key, -amount)

    def _shift(self, path: Path, key: FlavorResource, amount: Amount) -> None:
        self.versions[key] = self.versions.get(key, 0) + 1
        for group in path:
            frozen = self._terms.read(group, key)
            before = self._changed.get((group, key), frozen.charge)
            after = before + amount
            self._changed[group, key] = after
            amount = max(frozen.kept, after) - max(frozen.kept, before)
            if not amount:
                return

    def available(self, path: Path, key: FlavorResource) -> Amount:
        """The most that the leaf may still take of `key`; negative where a limit on its path is already passed."""
        version = self.versions.get(key, 0)
        found = self._available.get((path[0], key))
        if found is not None and found[0] == version:
            return found[1]
        value = self._compute_available(path, key)
        self._available[path[0], key] = (version, value)
        return value

    @property
    def moved(self) -> set[str]:
        """Groups whose charges have been changed here."""
        return {group for group, _ in self._changed}

    def _compute_available(self, path: Path, key: FlavorResource) -> Amount:
        above: Amount | None = None
        for group in reversed(path):
            start, limit, kept = self._terms.read(group, key)
            charge = self._changed.get((group, key), start)
            margin = limit - charge
            if margin < 0:
                return NOTHING_AVAILABLE
            if above is not None:
                margin = min(margin, above + kept - charge if kept > charge else above)
            above = margin
        return NOTHING_AVAILABLE if above is None else above

    def fits(self, path: Path, quantities: Quantities) -> bool:
        """Whether the leaf may take all of `ask` with every limit on its path kept, on the keys of `ask` alone."""
        return all(self.available(path, key) >= amount for key, amount in quantities)

    def keeps_limits(self, path: Path, quantities: Quantities) -> bool:
        """Whether every limit on the path is kept as things stand, on the keys of `ask`."""
        return all(self.available(path, key) >= 0 for key, _ in quantities)

    def excess(self, group: str, key: FlavorResource) -> Amount:
        """By how much the limit of this one group is passed; negative: what is left below it."""
        return self.charge(group, key) - self.limit(group, key)

    def over_runtime(self, group: str, key: FlavorResource) -> Amount:
        """By how much the charge is above the runtime; negative below it."""
        return self.charge(group, key) - self.numbers(group, key).runtime


class UsedSums:
    """Used of all groups: plain sums, without what is kept for the idle."""

    __slots__ = ("_changed", "_numbers")

    def __init__(self, numbers: Mapping[str, GroupNumbers]) -> None:
        self._numbers = numbers
        self._changed: dict[GroupKey, Amount] = {}

    def used(self, group: str, key: FlavorResource) -> Amount:
        """What the admitted work of the subtree asks for."""
        found = self._changed.get((group, key))
        if found is not None:
            return found
        return self._numbers.get(group, {}).get(key, NO_NUMBERS).used

    def add(self, path: Path, quantities: Quantities) -> None:
        """Add `ask` to the leaf that `path` begins with, and to all above."""
        for key, amount in quantities:
            for group in path:
                self._changed[group, key] = self.used(group, key) + amount

    def remove(self, path: Path, quantities: Quantities) -> None:
        """Undo `add`."""
        self.add(path, tuple((key, -amount) for key, amount in quantities))
