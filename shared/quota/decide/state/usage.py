"""How much is available: the charges and uses of every group while one cycle changes them.

A usage view overlays the frozen numbers of a snapshot and holds only the differences, so creating one costs nothing.
Everything is per (flavor, resource), in base units; runtimes are frozen.

See docs/specification.md §3.3 (charge) and §6.2 (the views of use).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from shared.api.names import MAIN_POD_SET
from shared.quota.decide.decisions import Charges
from shared.quota.measure.group_usage import NO_NUMBERS, GroupNumbers, Numbers
from shared.quota.model.tree import ROOT
from shared.quota.model.workload import Flavors, ResourceFlavors, Workload
from shared.resources import MAX_AMOUNT, Amount, FlavorResource, key_of

Quantities = tuple[tuple[FlavorResource, Amount], ...]
"""What one workload requests, by key; only keys with an amount above 0."""
Keys = tuple[FlavorResource, ...]
GroupPath = tuple[str, ...]
"""Names from a leaf up to root."""
GroupKey = tuple[str, FlavorResource]
_ROOT_ALONE: Final[GroupPath] = (ROOT,)
NOTHING_AVAILABLE = -1
NO_FLAVORS: Final[ResourceFlavors] = {}


def quantities_of(workload: Workload, flavors: Flavors) -> Quantities:
    """Return the quantities of this workload in these flavors, by key; a resource without a flavor is not counted."""
    if workload.pod_sets:
        found: dict[FlavorResource, Amount] = {}
        for pod_set in workload.pod_sets:
            for key, amount in _quantities(pod_set.request, flavors.get(pod_set.name, NO_FLAVORS)):
                found[key] = found.get(key, 0) + amount
        return tuple(found.items())
    return _quantities(workload.request, flavors.get(MAIN_POD_SET, NO_FLAVORS))


def lost_with(workload: Workload, quantities: Quantities) -> Quantities:
    """Return what root's capacity loses when the workload ends: what it holds on nodes that take no more pods."""
    held = workload.on_closed_nodes
    return tuple((key, min(amount, held[key])) for key, amount in quantities if key in held)


def _quantities(request: Mapping[str, Amount], own: ResourceFlavors) -> Quantities:
    return tuple([(key_of(own[each], each), request[each]) for each in sorted(own) if request.get(each)])


class _NumbersOfKey(dict[str, Numbers]):
    """group -> its frozen numbers for one key, looked up in the snapshot when first requested."""

    __slots__ = ("_by_group", "_key")

    def __init__(self, numbers: Mapping[str, GroupNumbers], key: FlavorResource) -> None:
        self._by_group = numbers
        self._key = key

    def __missing__(self, group: str) -> Numbers:
        found = self[group] = self._by_group.get(group, {}).get(self._key, NO_NUMBERS)
        return found


class FrozenNumbers(dict[FlavorResource, _NumbersOfKey]):
    """key -> the frozen numbers of all groups, under all usage views of one cycle."""

    __slots__ = ("_by_group",)

    def __init__(self, numbers: Mapping[str, GroupNumbers]) -> None:
        self._by_group = numbers

    def __missing__(self, key: FlavorResource) -> _NumbersOfKey:
        found = self[key] = _NumbersOfKey(self._by_group, key)
        return found


class KeyCharges:
    """One key of a usage view: the charges of all groups."""

    __slots__ = ("changed", "changes", "numbers")

    def __init__(self, numbers: Mapping[str, Numbers]) -> None:
        self.numbers = numbers
        """group -> its frozen numbers; all zero for one that neither covers nor uses the key."""
        self.changed: dict[str, Amount] = {}
        """The charges that differ from the frozen numbers, or have done so."""
        self.changes = 0
        """How often charges have changed."""

    def charge(self, group: str) -> Amount:
        """Return what the group costs its parent now."""
        found = self.changed.get(group)
        return self.numbers[group].charge if found is None else found

    def over_runtime(self, group: str) -> Amount:
        """Return by how much the charge is above the runtime; negative below it."""
        own = self.numbers[group]
        return self.changed.get(group, own.charge) - own.runtime - own.spared

    def shift(self, path: GroupPath, amount: Amount) -> None:
        """Charge `amount` to the leaf at the start of `path`, and to its ancestors while their charges change."""
        self.changes += 1
        changed = self.changed
        for group in path:
            own = self.numbers[group]
            kept, before = own.idle_charge, changed.get(group, own.charge)
            after = changed[group] = before + amount
            amount += (kept - after if kept > after else 0) - (kept - before if kept > before else 0)
            if not amount:
                return

    def available(self, path: GroupPath) -> Amount:
        """Return the most that the group at the start of `path` can still take.

        On the way down from root: what is available above, and what is kept for the group, but not more than is left
        up to its limit; negative if some limit on the path is already exceeded.
        """
        changed, numbers, room = self.changed, self.numbers, MAX_AMOUNT
        for group in reversed(path):
            own = numbers[group]
            charge = changed.get(group, own.charge)
            margin = own.limit - charge
            if margin < 0:
                return NOTHING_AVAILABLE
            if own.idle_charge > charge:
                room += own.idle_charge - charge
            if margin < room:  # noqa: PLR1730 - `min` costs as much as the rest of the loop, and this runs most
                room = margin
        return room


class _ChargesByKey(dict[FlavorResource, KeyCharges]):
    """key -> the charges of all groups, made when first requested."""

    __slots__ = ("_numbers",)

    def __init__(self, numbers: FrozenNumbers) -> None:
        self._numbers = numbers

    def __missing__(self, key: FlavorResource) -> KeyCharges:
        found = self[key] = KeyCharges(self._numbers[key])
        return found


class Usage:
    """Charges of all groups, and how much more each leaf can take before a limit on its path is exceeded."""

    __slots__ = ("charges",)

    def __init__(self, numbers: FrozenNumbers) -> None:
        self.charges = _ChargesByKey(numbers)

    def charge(self, group: str, key: FlavorResource) -> Amount:
        """Return what the group costs its parent now, in this view."""
        return self.charges[key].charge(group)

    def limit(self, group: str, key: FlavorResource) -> Amount:
        """Return the most that charge can be: the ceiling; at root also the runtime."""
        return self.charges[key].numbers[group].limit

    @property
    def changed(self) -> Charges:
        """The charges that differ from the frozen numbers, or have done so."""
        return MappingProxyType(
            {(group, key): charge for key, each in self.charges.items() for group, charge in each.changed.items()}
        )

    @classmethod
    def of(cls, numbers: FrozenNumbers, changed: Charges) -> "Usage":
        """Return a view with these charges over the frozen numbers."""
        usage = cls(numbers)
        for (group, key), charge in changed.items():
            usage.charges[key].changed[group] = charge
        return usage

    def add(self, path: GroupPath, quantities: Quantities) -> None:
        """Charge `quantities` to the leaf at the start of `path`, and to its ancestors while their charges change."""
        for key, amount in quantities:
            self.charges[key].shift(path, amount)

    def remove(self, path: GroupPath, quantities: Quantities) -> None:
        """Undo `add`."""
        for key, amount in quantities:
            self.charges[key].shift(path, -amount)

    def end(self, path: GroupPath, quantities: Quantities, lost: Quantities) -> None:
        """Take out what workloads of a leaf use, and from root what capacity loses with them."""
        self.remove(path, quantities)
        self.add(_ROOT_ALONE, lost)

    def resume(self, path: GroupPath, quantities: Quantities, lost: Quantities) -> None:
        """Undo `end`."""
        self.add(path, quantities)
        self.remove(_ROOT_ALONE, lost)

    def available(self, path: GroupPath, key: FlavorResource) -> Amount:
        """Return the most of `key` that the leaf can still take; negative if a limit on its path is exceeded."""
        return self.charges[key].available(path)

    def fits(self, path: GroupPath, quantities: Quantities) -> bool:
        """Return whether the leaf can take all of `quantities` within every limit on its path, on these keys only."""
        return all(self.available(path, key) >= amount for key, amount in quantities)

    def keeps_limits(self, path: GroupPath, quantities: Quantities) -> bool:
        """Return whether no limit on the path is exceeded now, on the keys of `quantities`."""
        return all(self.available(path, key) >= 0 for key, _ in quantities)

    def excess(self, group: str, key: FlavorResource) -> Amount:
        """Return by how much this one group exceeds its limit; negative: what is left below it."""
        return self.charge(group, key) - self.limit(group, key)

    def most_exceeded(self, path: GroupPath, key: FlavorResource) -> Amount:
        """Return by how much the limit on the path is exceeded that is exceeded most; not above 0: none is."""
        charges, numbers = self.charges[key].changed, self.charges[key].numbers
        return max([charges.get(group, numbers[group].charge) - numbers[group].limit for group in path])

    def over_runtime(self, group: str, key: FlavorResource) -> Amount:
        """Return by how much the charge is above the runtime; negative below it."""
        return self.charges[key].over_runtime(group)
