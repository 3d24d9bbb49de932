"""How much is available: the charges and uses of every group while one cycle changes them.

A usage view overlays the frozen numbers of a snapshot and holds only the differences, so creating one costs nothing.
Everything is per (flavor, resource), in base units; runtimes are frozen.

See docs/specification.md §3.3 (charge) and §6.2 (the views of use).
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from shared.api.names import MAIN_POD_SET
from shared.quota.decide.decisions import Charges
from shared.quota.measure.group_usage import NO_NUMBERS, GroupNumbers, Numbers
from shared.quota.model.tree import ROOT
from shared.quota.model.workload import Flavors, ResourceFlavors, Workload
from shared.resources import Amount, FlavorResource

Quantities = tuple[tuple[FlavorResource, Amount], ...]
"""What one workload requests, by key; only keys with an amount above 0."""
Path = tuple[str, ...]
"""Names from a leaf up to root."""
GroupKey = tuple[str, FlavorResource]
NOTHING_AVAILABLE = -1
NO_FLAVORS: Final[ResourceFlavors] = {}


@lru_cache(maxsize=65536)
def key_of(flavor: str, resource: str) -> FlavorResource:
    """The accounting key, one object for each; there are at most flavors times resources."""
    return FlavorResource(flavor, resource)


def quantities_in(request: Mapping[str, Amount], resources: Iterable[str], flavor: str) -> Quantities:
    """The quantities of `request` in `flavor`, for those resources only."""
    return tuple([(key_of(flavor, each), request[each]) for each in resources if request.get(each, 0) > 0])


def quantities_of(workload: Workload, flavors: Flavors) -> Quantities:
    """The quantities of this workload in these flavors, by key; a resource without a flavor is not counted."""
    if workload.pod_sets:
        found: dict[FlavorResource, Amount] = {}
        for pod_set in workload.pod_sets:
            for key, amount in _quantities(pod_set.request, flavors.get(pod_set.name, NO_FLAVORS)):
                found[key] = found.get(key, 0) + amount
        return tuple(found.items())
    return _quantities(workload.request, flavors.get(MAIN_POD_SET, NO_FLAVORS))


def _quantities(request: Mapping[str, Amount], own: ResourceFlavors) -> Quantities:
    return tuple([(key_of(own[each], each), request[each]) for each in sorted(own) if request.get(each)])


class FrozenUsage(NamedTuple):
    """The numbers of one group and key that do not change during a cycle."""

    charge: Amount
    """At the start of the cycle."""
    limit: Amount
    """The most that charge can be: the ceiling; at root also the runtime."""
    kept: Amount
    """What the group costs its parent even while idle: min(guarantee, runtime)."""


class UsageLimits:
    """The frozen numbers under all usage views of one cycle, read from the snapshot once for each group and key."""

    __slots__ = ("_numbers", "_read")

    def __init__(self, numbers: Mapping[str, GroupNumbers]) -> None:
        self._numbers = numbers
        self._read: dict[GroupKey, FrozenUsage] = {}

    def numbers(self, group: str, key: FlavorResource) -> Numbers:
        """The frozen numbers; all zero for a key that the group neither covers nor uses."""
        found = self._numbers.get(group)
        return NO_NUMBERS if found is None else found.get(key, NO_NUMBERS)

    def read(self, group: str, key: FlavorResource) -> FrozenUsage:
        """Charge, limit and the guarantee kept."""
        found = self._read.get((group, key))
        if found is None:
            numbers = self.numbers(group, key)
            limit = min(numbers.ceiling, numbers.runtime) if group == ROOT else numbers.ceiling
            found = FrozenUsage(numbers.charge, limit, min(numbers.guarantee, numbers.runtime))
            self._read[group, key] = found
        return found


class Usage:
    """Charges of all groups, and how much more each leaf can take before a limit on its path is exceeded."""

    __slots__ = ("_available", "_changed", "_limits", "changes", "versions")

    def __init__(self, limits: UsageLimits, versions: dict[FlavorResource, int] | None = None) -> None:
        """`versions`: how often charges of a key have changed; views that share it count together."""
        self.versions: dict[FlavorResource, int] = {} if versions is None else versions
        self.changes: dict[FlavorResource, int] = {}
        """How often charges of a key have changed in this view alone."""
        self._limits = limits
        self._changed: dict[GroupKey, Amount] = {}
        self._available: dict[GroupKey, tuple[int, Amount]] = {}

    def numbers(self, group: str, key: FlavorResource) -> Numbers:
        """The frozen numbers; all zero for a key that the group neither covers nor uses."""
        return self._limits.numbers(group, key)

    def charge(self, group: str, key: FlavorResource) -> Amount:
        """What the group costs its parent now, in this view."""
        found = self._changed.get((group, key))
        return self._limits.read(group, key).charge if found is None else found

    def limit(self, group: str, key: FlavorResource) -> Amount:
        """The most that charge can be: the ceiling; at root also the runtime."""
        return self._limits.read(group, key).limit

    @property
    def changed(self) -> Charges:
        """The charges that differ from the frozen numbers, or have done so. It cannot be changed through this."""
        return MappingProxyType(self._changed)

    @classmethod
    def of(cls, limits: UsageLimits, changed: Charges) -> "Usage":
        """A view with these charges over the frozen numbers."""
        usage = cls(limits)
        usage._changed.update(changed)
        return usage

    def add(self, path: Path, quantities: Quantities) -> None:
        """Charge `quantities` to the leaf at the start of `path`, and to its ancestors while their charges change."""
        for key, amount in quantities:
            self._shift(path, key, amount)

    def remove(self, path: Path, quantities: Quantities) -> None:
        """Undo `add`."""
        for key, amount in quantities:
            self._shift(path, key, -amount)

    def _shift(self, path: Path, key: FlavorResource, amount: Amount) -> None:
        self.versions[key] = self.versions.get(key, 0) + 1
        self.changes[key] = self.changes.get(key, 0) + 1
        for group in path:
            frozen = self._limits.read(group, key)
            before = self._changed.get((group, key), frozen.charge)
            after = before + amount
            self._changed[group, key] = after
            amount = max(frozen.kept, after) - max(frozen.kept, before)
            if not amount:
                return

    def copied(self, versions: dict[FlavorResource, int]) -> "Usage":
        """A usage of its own with the same charges."""
        copy = Usage(self._limits, versions)
        copy._changed = dict(self._changed)
        copy.changes = dict(self.changes)
        return copy

    def available(self, path: Path, key: FlavorResource) -> Amount:
        """The most of `key` that the leaf can still take; negative if a limit on its path is already exceeded."""
        version = self.versions.get(key, 0)
        found = self._available.get((path[0], key))
        if found is not None and found[0] == version:
            return found[1]
        value = self._compute_available(path, key)
        self._available[path[0], key] = (version, value)
        return value

    def _compute_available(self, path: Path, key: FlavorResource) -> Amount:
        group = path[0]
        start, limit, kept = self._limits.read(group, key)
        charge = self._changed.get((group, key), start)
        margin = limit - charge
        if margin < 0:
            return NOTHING_AVAILABLE
        if len(path) == 1:
            return margin
        above = self.available(path[1:], key)
        if above < 0:
            return NOTHING_AVAILABLE
        return min(margin, above + kept - charge if kept > charge else above)

    def fits(self, path: Path, quantities: Quantities) -> bool:
        """Whether the leaf can take all of `quantities` within every limit on its path, on these keys only."""
        return all(self.available(path, key) >= amount for key, amount in quantities)

    def keeps_limits(self, path: Path, quantities: Quantities) -> bool:
        """Whether no limit on the path is exceeded now, on the keys of `quantities`."""
        return all(self.available(path, key) >= 0 for key, _ in quantities)

    def excess(self, group: str, key: FlavorResource) -> Amount:
        """By how much this one group exceeds its limit; negative: what is left below it."""
        return self.charge(group, key) - self.limit(group, key)

    def over_runtime(self, group: str, key: FlavorResource) -> Amount:
        """By how much the charge is above the runtime; negative below it."""
        return self.charge(group, key) - self.numbers(group, key).runtime


class UsageViews:
    """The usage views of one cycle together: what fits must fit all of them."""

    __slots__ = ("_available", "_versions", "usages")

    def __init__(self, usages: tuple[Usage, ...]) -> None:
        self.usages = usages
        self._versions = usages[0].versions
        self._available: dict[GroupKey, tuple[int, Amount]] = {}
        """The least that the views have available, and the version of the key."""

    def available(self, path: Path, key: FlavorResource) -> Amount:
        """The most of `key` that the group at the start of `path` can still take in every view."""
        version, found = self._versions.get(key, 0), self._available.get((path[0], key))
        if found is not None and found[0] == version:
            return found[1]
        first = self.usages[0]
        least, changes = first.available(path, key), first.changes.get(key)
        for usage in self.usages[1:]:
            # A start changes every view. As often as the first one: nothing else has changed this one.
            if usage.changes.get(key) != changes:
                least = min(least, usage.available(path, key))
        self._available[path[0], key] = (version, least)
        return least

    def fits(self, path: Path, quantities: Quantities) -> bool:
        """Whether `quantities` fit every view, within every limit on the path."""
        for key, amount in quantities:  # noqa: SIM110 - a generator costs as much again, and this runs most
            if self.available(path, key) < amount:
                return False
        return True

    def frozen(self) -> "UsageViews":
        """The views as they are now; later changes of these do not show there."""
        versions = dict(self._versions)
        return UsageViews(tuple(usage.copied(versions) for usage in self.usages))


class UsedSums:
    """Used of all groups: plain sums, without idle guarantees."""

    __slots__ = ("_changed", "_numbers")

    def __init__(self, numbers: Mapping[str, GroupNumbers]) -> None:
        self._numbers = numbers
        self._changed: dict[GroupKey, Amount] = {}

    def used(self, group: str, key: FlavorResource) -> Amount:
        """What the admitted workloads of the subtree request."""
        found = self._changed.get((group, key))
        if found is not None:
            return found
        return self._numbers.get(group, {}).get(key, NO_NUMBERS).used

    def add(self, path: Path, quantities: Quantities) -> None:
        """Add `quantities` to the leaf at the start of `path`, and to all its ancestors."""
        for key, amount in quantities:
            for group in path:
                self._changed[group, key] = self.used(group, key) + amount

    def remove(self, path: Path, quantities: Quantities) -> None:
        """Undo `add`."""
        self.add(path, tuple((key, -amount) for key, amount in quantities))
