"""How much is available: the charges and uses of every group while one cycle changes them.

A usage view overlays the frozen numbers of a snapshot and holds only the differences, so creating one costs nothing.
Everything is per (flavor, resource), in base units; runtimes are frozen.

See docs/specification.md §3.3 (charge) and §6.2 (the views of use).
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from shared.api.names import MAIN_POD_SET
from shared.quota.decide.decisions import Charges
from shared.quota.measure.group_usage import NO_NUMBERS, GroupNumbers, Numbers
from shared.quota.model.tree import ROOT
from shared.quota.model.workload import Flavors, ResourceFlavors, Workload
from shared.resources import MAX_AMOUNT, Amount, FlavorResource, key_of

Quantities = tuple[tuple[FlavorResource, Amount], ...]
"""What one workload requests, by key; only keys with an amount above 0."""
Path = tuple[str, ...]
"""Names from a leaf up to root."""
GroupKey = tuple[str, FlavorResource]
NOTHING_AVAILABLE = -1
NO_FLAVORS: Final[ResourceFlavors] = {}


def quantities_in(request: Mapping[str, Amount], resources: Iterable[str], flavor: str) -> Quantities:
    """Return the quantities of `request` in `flavor`, for those resources only."""
    return tuple([(key_of(flavor, each), request[each]) for each in resources if request.get(each, 0) > 0])


def quantities_of(workload: Workload, flavors: Flavors) -> Quantities:
    """Return the quantities of this workload in these flavors, by key; a resource without a flavor is not counted."""
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


class _FrozenByGroup(dict[str, FrozenUsage]):
    """The frozen numbers of one key, read from the snapshot once for each group."""

    __slots__ = ("_key", "_numbers")

    def __init__(self, numbers: Mapping[str, GroupNumbers], key: FlavorResource) -> None:
        self._numbers = numbers
        self._key = key

    def __missing__(self, group: str) -> FrozenUsage:
        numbers = self._numbers.get(group, {}).get(self._key, NO_NUMBERS)
        limit = min(numbers.ceiling, numbers.runtime) if group == ROOT else numbers.ceiling
        found = self[group] = FrozenUsage(numbers.charge, limit, min(numbers.guarantee, numbers.runtime))
        return found


class UsageLimits:
    """The frozen numbers under all usage views of one cycle."""

    __slots__ = ("_by_key", "_numbers")

    def __init__(self, numbers: Mapping[str, GroupNumbers]) -> None:
        self._numbers = numbers
        self._by_key: dict[FlavorResource, _FrozenByGroup] = {}

    def numbers(self, group: str, key: FlavorResource) -> Numbers:
        """Return the frozen numbers; all zero for a key that the group neither covers nor uses."""
        return self._numbers.get(group, {}).get(key, NO_NUMBERS)

    def of(self, key: FlavorResource) -> Mapping[str, FrozenUsage]:
        """Charge, limit and the guarantee kept, of every group."""
        found = self._by_key.get(key)
        if found is None:
            found = self._by_key[key] = _FrozenByGroup(self._numbers, key)
        return found


_NONE_CHANGED: Final[Mapping[str, Amount]] = {}


class Usage:
    """Charges of all groups, and how much more each leaf can take before a limit on its path is exceeded."""

    __slots__ = ("_changed", "_limits", "changes")

    def __init__(self, limits: UsageLimits) -> None:
        self.changes: dict[FlavorResource, int] = {}
        """How often charges of a key have changed."""
        self._limits = limits
        self._changed: dict[FlavorResource, dict[str, Amount]] = {}
        """By key and group: the charges that differ from the frozen numbers, or have done so."""

    def numbers(self, group: str, key: FlavorResource) -> Numbers:
        """Return the frozen numbers; all zero for a key that the group neither covers nor uses."""
        return self._limits.numbers(group, key)

    def charge(self, group: str, key: FlavorResource) -> Amount:
        """Return what the group costs its parent now, in this view."""
        found = self._changed.get(key, _NONE_CHANGED).get(group)
        return self._limits.of(key)[group].charge if found is None else found

    def limit(self, group: str, key: FlavorResource) -> Amount:
        """Return the most that charge can be: the ceiling; at root also the runtime."""
        return self._limits.of(key)[group].limit

    @property
    def changed(self) -> Charges:
        """The charges that differ from the frozen numbers, or have done so."""
        return MappingProxyType(
            {(group, key): charge for key, by_group in self._changed.items() for group, charge in by_group.items()}
        )

    @classmethod
    def of(cls, limits: UsageLimits, changed: Charges) -> "Usage":
        """Return a view with these charges over the frozen numbers."""
        usage = cls(limits)
        for (group, key), charge in changed.items():
            usage._changed.setdefault(key, {})[group] = charge
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
        self.changes[key] = self.changes.get(key, 0) + 1
        frozen, changed = self._limits.of(key), self._changed.setdefault(key, {})
        for group in path:
            start, _, kept = frozen[group]
            before = changed.get(group, start)
            after = changed[group] = before + amount
            amount = max(kept, after) - max(kept, before)
            if not amount:
                return

    def copied(self) -> "Usage":
        """Return a usage of its own with the same charges."""
        copy = Usage(self._limits)
        copy._changed = {key: dict(by_group) for key, by_group in self._changed.items()}
        copy.changes = dict(self.changes)
        return copy

    def available(self, path: Path, key: FlavorResource) -> Amount:
        """The most of `key` that the leaf can still take; negative if a limit on its path is already exceeded."""
        frozen, changed = self._limits.of(key), self._changed.get(key, _NONE_CHANGED)
        left: Amount = MAX_AMOUNT
        for group in reversed(path):
            charge, limit, kept = frozen[group]
            charge = changed.get(group, charge)
            margin = limit - charge
            if margin < 0:
                return NOTHING_AVAILABLE
            if kept > charge:
                left += kept - charge
            left = min(left, margin)
        return left

    def fits(self, path: Path, quantities: Quantities) -> bool:
        """Return whether the leaf can take all of `quantities` within every limit on its path, on these keys only."""
        return all(self.available(path, key) >= amount for key, amount in quantities)

    def keeps_limits(self, path: Path, quantities: Quantities) -> bool:
        """Return whether no limit on the path is exceeded now, on the keys of `quantities`."""
        return all(self.available(path, key) >= 0 for key, _ in quantities)

    def excess(self, group: str, key: FlavorResource) -> Amount:
        """By how much this one group exceeds its limit; negative: what is left below it."""
        return self.charge(group, key) - self.limit(group, key)

    def over_runtime(self, group: str, key: FlavorResource) -> Amount:
        """By how much the charge is above the runtime; negative below it."""
        return self.charge(group, key) - self.numbers(group, key).runtime


class UsageViews:
    """The usage views of one cycle together: what fits must fit all of them."""

    __slots__ = ("usages",)

    def __init__(self, usages: tuple[Usage, ...]) -> None:
        self.usages = usages

    def available(self, path: Path, key: FlavorResource) -> Amount:
        """Return the most of `key` that the group at the start of `path` can still take in every view."""
        first = self.usages[0]
        least, changes = first.available(path, key), first.changes.get(key)
        for usage in self.usages[1:]:
            # A start changes every view. As often as the first one: nothing else has changed this one.
            if usage.changes.get(key) != changes:
                least = min(least, usage.available(path, key))
        return least

    def fits(self, path: Path, quantities: Quantities) -> bool:
        """Return whether `quantities` fit every view, within every limit on the path."""
        for key, amount in quantities:  # noqa: SIM110 - a generator costs as much again, and this runs most
            if self.available(path, key) < amount:
                return False
        return True

    def frozen(self) -> "UsageViews":
        """Return the views as they are now; later changes of these do not show there."""
        return UsageViews(tuple(usage.copied() for usage in self.usages))


class UsedSums:
    """Used of all groups: plain sums, without idle guarantees."""

    __slots__ = ("_changed", "_numbers")

    def __init__(self, numbers: Mapping[str, GroupNumbers]) -> None:
        self._numbers = numbers
        self._changed: dict[FlavorResource, dict[str, Amount]] = {}

    def used(self, group: str, key: FlavorResource) -> Amount:
        """Return what the admitted workloads of the subtree request."""
        found = self._changed.get(key, _NONE_CHANGED).get(group)
        if found is not None:
            return found
        return self._numbers.get(group, {}).get(key, NO_NUMBERS).used

    def add(self, path: Path, quantities: Quantities) -> None:
        """Add `quantities` to the leaf at the start of `path`, and to all its ancestors."""
        for key, amount in quantities:
            changed = self._changed.setdefault(key, {})
            for group in path:
                changed[group] = self.used(group, key) + amount

    def remove(self, path: Path, quantities: Quantities) -> None:
        """Undo `add`."""
        self.add(path, tuple((key, -amount) for key, amount in quantities))
