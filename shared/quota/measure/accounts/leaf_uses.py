"""What the leaves use, seen from world to world, and what is not added up of it yet.

See docs/specification.md §9.7.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

from shared.quota.measure.accounts.leaf_use import EndedUse, LeafUse, StartKey, UseChange
from shared.quota.measure.accounts.periods import milliseconds
from shared.quota.measure.accounts.waits import ForeseenWait
from shared.quota.measure.inputs.world import World
from shared.quota.model.tree import SYSTEM, Tree
from shared.quota.model.workload import WorkloadId


class LeafUses:
    """The use of all leaves. `until`: all that they used until then, in milliseconds since 1970, is added up."""

    def __init__(self, until: int) -> None:
        self.until = until
        """Until when all is added up, or will be by the sum that is under way."""
        self._leaves: dict[str, LeafUse] = {}
        self._world: World | None = None
        self._ends: dict[str, int] = {}
        """uid → when its Job finished, of those that the next world has no more."""
        self._ended: dict[StartKey, int] = {}
        """start → when it ended, if that is not added up yet: what else such a start leaves goes on from there."""

    def finish(self, uid: str, end: datetime) -> None:
        """Set when the Job with this uid finished, before the world in which it is gone is observed."""
        self._ends[uid] = milliseconds(end)

    def add_ended(self, ended: Iterable[EndedUse]) -> None:
        """Count starts that ended before a leader looked; those that were seen already are counted already."""
        for use in ended:
            leaf = self._leaf(use.leaf)
            if use.start not in self._ended and not leaf.knows(use.start):
                leaf.add_ended(use)
                self._ended[use.start] = use.end

    def foresee(self, found: Mapping[str, Mapping[WorkloadId, ForeseenWait]]) -> None:
        """Keep these forecasts, by leaf, until their workloads start: how right they are is kept with the accounts."""
        world = self._world
        if world is not None:
            for name in found.keys() | self._leaves.keys():
                self._leaf(name).foreseen.keep(found.get(name, {}), world.workloads_of(name))

    def observe(self, world: World, now: int) -> list[str]:
        """Return the leaves whose work is not as in the world before; what runs in them is seen."""
        is_first = self._world is None
        changed = set(world.workload_sets) if self._world is None else world.changed_since(self._world)
        names = sorted(changed - {SYSTEM})
        for name in names:
            self._leaf(name).forget_ended(world.workloads_of(name), now, self._ends, self._ended)
        for name in names:
            self._leaf(name).observe(world.workloads_of(name), now, self._ends, self._ended, is_first=is_first)
        self._world = world
        self._ends.clear()
        return names

    def take_fresh(self, leaf: str) -> list[UseChange]:
        """Return what changed in a leaf, as far as it was not returned before."""
        return self._leaf(leaf).take_fresh()

    def skip_fresh(self) -> None:
        """Never return what changed until now: it is known otherwise."""
        for leaf in self._leaves.values():
            leaf.take_fresh()

    @property
    def is_active(self) -> bool:
        """Whether anything has been used since the moment until which all is added up."""
        return any(leaf.is_active for leaf in self._leaves.values())

    def active(self, tree: Tree) -> dict[str, LeafUse]:
        """Return the leaves of this tree in which anything has been used since then."""
        return {name: leaf for name, leaf in self._leaves.items() if leaf.is_active and tree.reaches_root(name)}

    def closed_until(self, leaf: str) -> int:
        """Return until when a leaf is closed: until then nothing more counts in it."""
        known = self._leaves.get(leaf)
        return self.until if known is None else known.until

    def begin_sum(self, tree: Tree, until: int) -> dict[str, LeafUse]:
        """Return the active leaves, to be closed one by one: all are to be added up until that moment.

        The others are closed at once. What is seen of a leaf after it was closed counts in the next sum.
        """
        self.until = until
        active = self.active(tree)
        for name, leaf in self._leaves.items():
            if name not in active:
                leaf.settle(until)
        return active

    def end_sum(self) -> None:
        """Forget starts that ended until the moment until which all is added up."""
        self._ended = {start: end for start, end in self._ended.items() if end > self.until}

    def _leaf(self, name: str) -> LeafUse:
        return self._leaves.setdefault(name, LeafUse(self.until))
