"""Which leaves a pass may leave out, because nothing there can have changed for the better since the previous cycle.

Entitlement depends on the leaf alone. Borrowing also depends on what is available below its parent: a leaf in which no
workload could borrow is evaluated again only if more is available there than when the previous pass ended.
"""

from collections.abc import Iterable, Iterator

from shared.quota.decide.queue.leaf_queue import LeafQueue
from shared.quota.decide.state.cycle_cache import LeafCache
from shared.quota.decide.state.cycle_state import CycleState
from shared.quota.decide.state.usage import Quantities
from shared.quota.model.tree import ROOT
from shared.resources import Amount, FlavorResource


def leaves_with_entitled(cycle: CycleState) -> Iterator[str]:
    """Leaves in which some pending work may be entitled."""
    cached = cycle.cache.leaves
    return (name for name in cycle.cache.waiting if not cached[name].none_entitled or cycle.is_touched(name))


class BorrowingLeaves:
    """What is available below the parents of leaves at the start of the borrowing pass, against the previous cycle."""

    __slots__ = ("_cycle", "_grown", "_root")

    def __init__(self, cycle: CycleState) -> None:
        self._cycle = cycle
        self._grown = {
            group for group, key, left in self._look() if left > cycle.cache.margins.get((group, key), left - 1)
        }
        self._root: dict[FlavorResource, Amount] = {key: cycle.left(ROOT, key) for key in cycle.snapshot.numbers[ROOT]}

    def _look(self) -> Iterator[tuple[str, FlavorResource, Amount]]:
        """What is available below each parent of a leaf with pending workloads.

        Not only what the group has left below its own limit: a guarantee on the path that was scaled down adds to it
        when it grows, although no group has more left.
        """
        cycle = self._cycle
        paths = (cycle.snapshot.leaves[name].path[1:] for name in cycle.cache.waiting)
        for group, path in {path[0]: path for path in paths}.items():
            for key in cycle.snapshot.numbers[group]:
                yield group, key, cycle.available(path, key)

    def candidates(self) -> Iterator[str]:
        """Leaves in which somebody may borrow."""
        cycle, cache = self._cycle, self._cycle.cache
        for name in cache.waiting:
            cached = cache.leaves[name]
            known = cached.none_borrows == cache.era and not cycle.is_touched(name) and not self._has_grown(cached)
            if not known and not self._is_out_of_the_question(name, cached):
                yield name

    def _has_grown(self, cached: LeafCache) -> bool:
        return cached.leaf.path[1] in self._grown

    def _is_out_of_the_question(self, name: str, cached: LeafCache) -> bool:
        """Whether not even the smallest work of the leaf fits what root has left, and nothing is kept for the leaf."""
        cycle = self._cycle
        if cycle.is_touched(name) or cycle.is_held_back(cycle.leaf_usage(name)) or cached.is_kept_for(cycle.snapshot):
            return False
        if any(self._is_within_root(quantities) for quantities in cycle.queue(name).smallest):
            return False
        cached.none_borrows = cycle.cache.era
        return True

    def _is_within_root(self, quantities: Quantities) -> bool:
        return all(amount <= self._root.get(key, 0) for key, amount in quantities)

    def remember(self, lines: Iterable[LeafQueue], *, is_reliable: bool) -> None:
        """Keep what this pass has found, where the room at its end is the least there was in it."""
        cycle, cache = self._cycle, self._cycle.cache
        if not is_reliable or cycle.blocked_by is not None:
            cache.era += 1
            cache.margins.clear()
        for line in lines if is_reliable else ():
            if not (line.had_heads or line.leaf_usage.touched or cycle.is_held_back(line.leaf_usage)):
                cache.leaves[line.leaf_usage.name].none_borrows = cache.era
        cache.margins.update(((group, key), left) for group, key, left in self._look())
