"""At which levels of its path a job falls short of its turn, and what its group must have there.

    root 10: p (min 0) has 4, q has 6. Below p: a and b, 2 each. a's job requests 3: at a it falls short by 1, and p
    has enough: one level. If it requests 5, p falls short too: p must have 5 of root's 10 then.

See docs/specification.md §6.11.
"""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple

from shared.quota.measure.group_usage import NO_NUMBERS, GroupNumbers, Numbers
from shared.quota.measure.static.tree_index import TreeIndex
from shared.quota.model.tree import ROOT
from shared.resources import Amount, FlavorResource


class Level(NamedTuple):
    """One division in which a turn counts: `child` must have `need` of what `parent` has."""

    parent: str
    child: str
    key: FlavorResource
    need: Amount


class TooLittle(NamedTuple):
    """Why no turn helps: `group` leaves only so much to the job, by its ceiling or after the mins of all."""

    group: str
    key: FlavorResource
    left: Amount
    requested: Amount
    by_ceiling: bool


class TurnNumbers(NamedTuple):
    """The numbers as they are without turns, and the tree that they are of."""

    tree_index: TreeIndex
    numbers: Mapping[str, GroupNumbers]

    def of(self, group: str, key: FlavorResource) -> Numbers:
        """Return the group's numbers; all zero for a key that it neither covers nor uses."""
        return self.numbers.get(group, {}).get(key, NO_NUMBERS)

    def levels_of(self, leaf: str, amounts: Iterable[tuple[FlavorResource, Amount]]) -> tuple[Level, ...] | TooLittle:
        """Return the levels at which a job of this leaf falls short on any of its keys, or why no turn would help."""
        found: list[Level] = []
        for key, amount in amounts:
            levels = self.levels(leaf, key, amount)
            if isinstance(levels, TooLittle):
                return levels
            found.extend(levels)
        return tuple(found)

    def levels(self, leaf: str, key: FlavorResource, amount: Amount) -> list[Level] | TooLittle:
        """Return the levels at which a job of this leaf that requests `amount` falls short; none: it needs no turn."""
        need, found = self.of(leaf, key).non_preemptible + amount, list[Level]()
        for child, parent in pairwise(self.tree_index.path(leaf)):
            own = self.of(child, key)
            if need <= own.runtime:
                return found
            if need > own.ceiling:
                return TooLittle(child, key, max(0, own.ceiling - (need - amount)), amount, by_ceiling=True)
            found.append(Level(parent, child, key, need))
            above = self.of(parent, key)
            kept = above.kept_below - own.kept
            left = above.runtime - kept
            if need <= left:
                return found
            if parent == ROOT:
                return TooLittle(parent, key, max(0, left - (need - amount)), amount, by_ceiling=False)
            need += kept
        return found
