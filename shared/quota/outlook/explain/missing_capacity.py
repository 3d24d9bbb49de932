"""How much capacity a workload lacks, where not all that is added is for it. docs/specification.md §9.2.

While the capacity is short of the groups' mins, guarantees are scaled down, and idle groups keep a part of what is
added. While less is there than unmanaged pods use, the first of what is added is theirs.

    capacity 8; a (min 4) wants 4; b (min 8, lendingLimit 0) is idle and keeps 5. 3 are free, but 1 more does not do:
    b keeps 6 of 9. With 3 more it keeps 7 of 11.
"""

from collections.abc import Callable
from typing import Final

from shared.quota.decide.state.usage import FrozenNumbers, GroupPath, Quantities, Usage
from shared.quota.measure.group_usage import NO_NUMBERS
from shared.quota.measure.groups.more_capacity import MoreCapacity
from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.tree import ROOT, SYSTEM
from shared.quota.outlook.explain.shortage import Shortage, on_path
from shared.resources import Amount, FlavorResource

Lacks = Callable[[MoreCapacity], Amount]
"""How much is still missing with more capacity; 0 or less: nothing."""

_KEPT: Final = 64


class LocalShortages:
    """What is missing in one place: a lower bound of the true amount, for readers that need the reason alone."""

    __slots__ = ()

    def on_path(self, usage: Usage, path: GroupPath, quantities: Quantities) -> Shortage | None:
        """Return what `shortage.on_path` finds."""
        return on_path(usage, path, quantities)

    def to_fit_alone(self, leaf: str, short: Shortage) -> Shortage:
        """Return the shortage as it was found."""
        return short


class MissingCapacity:
    """The answers for one snapshot; what more capacity means is computed once, for a few amounts."""

    __slots__ = ("_measured", "_numbers", "_shared", "_snapshot", "_usages")

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._shared: dict[FlavorResource, Amount] = {}
        self._measured: dict[tuple[FlavorResource, Amount], MoreCapacity] = {}
        self._numbers: dict[MoreCapacity, FrozenNumbers] = {}
        self._usages: dict[tuple[Usage, MoreCapacity], Usage] = {}

    def on_path(self, usage: Usage, path: GroupPath, quantities: Quantities) -> Shortage | None:
        """Return what `shortage.on_path` finds, with the true amount where root binds."""
        short = on_path(usage, path, quantities)
        if short is None or short.group != ROOT:
            return short
        own = next((each for each in quantities if each[0] == short.key), None)
        if own is None:
            return short

        def lacks(more: MoreCapacity) -> Amount:
            later = self._with_numbers(usage, more)
            later.add(path, (own,))
            excess = later.excess(ROOT, short.key)
            later.remove(path, (own,))
            return excess

        return short._replace(missing=self._smallest(short.key, short.missing, lacks))

    def to_fit_alone(self, leaf: str, short: Shortage) -> Shortage:
        """Return the same for a request that could never fit."""
        if short.group != ROOT:
            return short

        def lacks(more: MoreCapacity) -> Amount:
            most, binding = more.largest_fit(leaf)
            return short.asked - max(0, most - more.uncertain(leaf)) if binding == ROOT else 0

        return short._replace(missing=self._smallest(short.key, short.missing, lacks))

    def _smallest(self, key: FlavorResource, least: Amount, lacks: Lacks) -> Amount:
        """Return the smallest amount, `least` or more, with which nothing is lacking any more.

        What is lacking falls almost in proportion to what is added, so the next amount to try is interpolated; after
        one that has not halved what is left, the middle.
        """
        beyond = self._shared_amount(key)
        if not beyond:
            return least
        low, high = least, least + beyond
        above, below = lacks(self._with_more(key, low)), lacks(self._with_more(key, high))
        if above <= 0 or below > 0:
            return low if above <= 0 else high
        halve = False
        while (width := high - low) > 1:
            guess = low + (width // 2 if halve else -(-above * width // (above - below)))
            middle = min(guess, high - 1)
            missing = lacks(self._with_more(key, middle))
            if missing > 0:
                low, above = middle, missing
            else:
                high, below = middle, missing
            halve = 2 * (high - low) > width
        return high

    def _shared_amount(self, key: FlavorResource) -> Amount:
        """Return how much of what is added can go to others at most: to guarantees scaled down, to use without room."""
        found = self._shared.get(key)
        if found is None:
            found = 0
            for name, numbers in self._snapshot.numbers.items():
                own = numbers.get(key, NO_NUMBERS)
                if name not in (ROOT, SYSTEM):
                    found += own.guarantee - min(own.runtime, self._snapshot.certainly_kept(name, key))
            found += self._snapshot.unavailable(key)
            self._shared[key] = found
        return found

    def _with_more(self, key: FlavorResource, by: Amount) -> MoreCapacity:
        if (key, by) not in self._measured:
            if len(self._measured) >= _KEPT:
                self._measured.clear()
                self._numbers.clear()
                self._usages.clear()
            self._measured[key, by] = self._snapshot.with_more(key, by)
        return self._measured[key, by]

    def _with_numbers(self, usage: Usage, more: MoreCapacity) -> Usage:
        """Return the same use of every leaf on other numbers; the caller leaves it as it was."""
        known = self._usages.get((usage, more))
        if known is not None:
            return known
        if more not in self._numbers:
            self._numbers[more] = FrozenNumbers(self._snapshot.numbers_with(more))
        later = self._usages[usage, more] = Usage(self._numbers[more])
        for name, leaf in self._snapshot.leaves.items():
            change = usage.charge(name, more.key) - later.charge(name, more.key)
            if change:
                later.add(leaf.path, ((more.key, change),))
        return later
