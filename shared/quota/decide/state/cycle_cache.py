"""What a process keeps from cycle to cycle, so that only what has changed is evaluated again.

What is kept of a leaf was computed from frozen inputs and is looked up by their identity: a leaf that is another
object, or has other numbers, has another record. So no record is ever out of date, and a plan made with the cache
equals one made without.
"""

from collections.abc import Callable, Iterable, Mapping, Set
from datetime import datetime
from enum import Enum, auto
from typing import Final

from shared.quota.decide.identity import changed_names
from shared.quota.decide.known_siblings import KnownSiblings
from shared.quota.decide.over_since import OverSinceCache
from shared.quota.decide.state.known_leaf import KnownLeaf
from shared.quota.decide.state.usage import Keys
from shared.quota.measure.group_usage import NO_NUMBERS, GroupNumbers
from shared.quota.measure.snapshot import LeafSnapshot, Snapshot
from shared.quota.model.lifecycle import STARTS_NOTHING, is_drained
from shared.quota.model.settings import ReclaimMode
from shared.quota.model.tree import ROOT, SYSTEM, Tree
from shared.resources import Amount, FlavorResource


class Sort(Enum):
    """What a leaf can have that some step of a cycle must look at."""

    WAITING = auto()
    """Pending workloads that may start."""
    SWAPPING = auto()
    """A waiting workload of higher priority than some that runs."""
    EVICTING = auto()
    """Workloads that are being evicted."""
    URGENT = auto()
    """Workloads to drain, with pods that are not ready, or whose run time is over."""
    NOTIFYING = auto()
    """Running workloads that have notice, or get it of the end of their run time."""
    TIMED = auto()
    """Something that the passing of time alone changes."""
    ENDING = auto()
    """A running workload with a limited run time."""
    STRICT = auto()
    """Reclaim in Strict mode."""


def _waits(leaf: LeafSnapshot) -> bool:
    return bool(leaf.pending) and leaf.may_start


def _drains(leaf: LeafSnapshot) -> bool:
    return leaf.stop in STARTS_NOTHING and any(
        is_drained(leaf.stop, preemptible=each.preemptible) for each in leaf.admitted
    )


BELONGS: Final[Mapping[Sort, Callable[[LeafSnapshot], bool]]] = {
    Sort.WAITING: _waits,
    Sort.SWAPPING: lambda leaf: (
        _waits(leaf) and bool(leaf.admitted) and leaf.admitted[-1].priority < leaf.pending[0].priority
    ),
    Sort.EVICTING: lambda leaf: bool(leaf.evicting),
    Sort.URGENT: lambda leaf: bool(leaf.unready or leaf.ending) or _drains(leaf),
    Sort.NOTIFYING: lambda leaf: bool(leaf.noticed or (leaf.reclaim.notice and leaf.ending)),
    Sort.TIMED: lambda leaf: leaf.next_change is not None,
    Sort.ENDING: lambda leaf: leaf.next_end is not None,
    Sort.STRICT: lambda leaf: leaf.reclaim.mode is ReclaimMode.STRICT,
}
"""sort -> whether a leaf is of that sort."""


class SiblingWeights:
    """The weights of the children of each parent together, in one tree with one capacity."""

    __slots__ = ("_capacity", "_sums", "_tree")

    def __init__(self, tree: Tree, capacity: Mapping[FlavorResource, Amount]) -> None:
        self._tree, self._capacity = tree, capacity
        self._sums: dict[tuple[str, FlavorResource], Amount] = {}
        """(parent, key) -> the sum, computed when first requested."""

    def is_for(self, snapshot: Snapshot) -> bool:
        """Return whether the sums hold for this snapshot: a weight that is not given follows the capacity."""
        return self._tree is snapshot.world.tree and self._capacity is snapshot.capacity

    def below(self, parent: str, key: FlavorResource, numbers: Mapping[str, GroupNumbers]) -> Amount:
        """Return the sum of the weights of the children of `parent`."""
        found = self._sums.get((parent, key))
        if found is None:
            children = (numbers.get(each, {}) for each in self._tree.children(parent) if each != SYSTEM)
            found = self._sums[parent, key] = sum(own.get(key, NO_NUMBERS).weight for own in children)
        return found


class CycleCache:
    """The records of all leaves, an index of them by sort, the groups that use too much, and the siblings' weights."""

    __slots__ = (
        "_beyond",
        "_by_sort",
        "_of_cycle",
        "_snapshot",
        "ahead",
        "leaves",
        "over",
        "over_since",
        "siblings",
        "weights",
    )

    def __init__(self) -> None:
        self.ahead: dict[datetime, tuple[Snapshot, CycleCache]] = {}
        """border of a window or override → the snapshot and the cache of the plan made ahead for it."""
        self.leaves: dict[str, KnownLeaf] = {}
        self.over: dict[str, Keys] = {}
        """leaf -> keys of which it uses more than its runtime, evicting workloads included."""
        self.over_since = OverSinceCache()
        self.siblings: dict[str, KnownSiblings] = {}
        """parent → what is known of its children, for turns."""
        self.weights = SiblingWeights(Tree.of(()), {})
        self._beyond: dict[str, Keys] = {}
        """group -> keys of which it uses more than its limit, also of groups that do not reach root."""
        self._of_cycle: dict[int, KnownLeaf] = {}
        """identity of a leaf -> its latest record in this cycle: after a trial, a leaf is often as it was before."""
        self._by_sort: dict[Sort, set[str]] = {sort: set() for sort in Sort}
        self._snapshot: Snapshot | None = None

    def of(self, sort: Sort) -> Set[str]:
        """Return the leaves of that sort."""
        return self._by_sort[sort]

    def beyond(self, tree: Tree) -> Mapping[str, Keys]:
        """Return the keys of which each group uses more than its limit, evicting workloads included."""
        return {name: keys for name, keys in self._beyond.items() if name == ROOT or tree.reaches_root(name)}

    def refresh(self, snapshot: Snapshot) -> None:
        """Bring everything up to this snapshot."""
        before = self._snapshot
        if snapshot is before:
            return
        if before is None:
            leaves, groups = set(snapshot.leaves), set(snapshot.numbers)
        else:
            leaves = changed_names(snapshot.leaves, before.leaves)
            groups = changed_names(snapshot.numbers, before.numbers)
        for name in self.leaves.keys() - snapshot.leaves.keys():
            self._forget(name)
        for by_name in (self._beyond, self.siblings):
            for name in by_name.keys() - snapshot.numbers.keys():
                del by_name[name]
        for name in leaves | (groups & snapshot.leaves.keys()):
            self._renew(name, snapshot)
        for name in {*groups, ROOT}.difference(snapshot.leaves, (SYSTEM,)):
            system = snapshot.numbers.get(SYSTEM, {}) if name == ROOT else {}
            _keep(self._beyond, name, _beyond(snapshot.numbers[name], system, at_root=name == ROOT))
        if not self.weights.is_for(snapshot):
            self.weights = SiblingWeights(snapshot.world.tree, snapshot.capacity)
        self._snapshot = snapshot

    def copy(self) -> "CycleCache":
        """Return a cache that goes on from the same snapshot; what one learns from here on, the other does not."""
        found = CycleCache()
        found.leaves, found.over, found._beyond = dict(self.leaves), dict(self.over), dict(self._beyond)
        found._by_sort = {sort: set(names) for sort, names in self._by_sort.items()}
        found.siblings, found.weights, found._snapshot = dict(self.siblings), self.weights, self._snapshot
        return found

    def as_of(self, snapshot: Snapshot) -> "CycleCache":
        """Return a cache with what is known of the leaves of this snapshot, for which a whole plan was made.

        A later cycle that has failed leaves nothing in it: neither what it was writing, nor the classes of workloads
        that were new to it. What is above the leaves is computed again.
        """
        found = CycleCache()
        for name, leaf in snapshot.leaves.items():
            known = self.leaves.get(name)
            if known is not None:
                found.leaves[name] = known.as_of(leaf, snapshot.numbers[name])
        return found

    def end_cycle(self) -> None:
        """Forget the states of leaves that this cycle has only tried."""
        self._of_cycle.clear()

    def _renew(self, name: str, snapshot: Snapshot) -> None:
        leaf, numbers = snapshot.leaves[name], snapshot.numbers[name]
        known = self._of_cycle.get(id(leaf)) or self.leaves.get(name)
        if known is None or known.leaf is not leaf or known.numbers is not numbers:
            known = KnownLeaf(leaf, numbers, known)
        self.leaves[name] = self._of_cycle[id(leaf)] = known
        for sort, belongs in BELONGS.items():
            (self._by_sort[sort].add if belongs(leaf) else self._by_sort[sort].discard)(name)
        _keep(self.over, name, (key for key, each in numbers.items() if each.used > each.runtime + each.spared))
        _keep(self._beyond, name, _beyond(numbers, {}, at_root=False))

    def _forget(self, name: str) -> None:
        for names in self._by_sort.values():
            names.discard(name)
        for by_name in (self.leaves, self.over, self._beyond):
            by_name.pop(name, None)


def _beyond(numbers: GroupNumbers, system: GroupNumbers, *, at_root: bool) -> Iterable[FlavorResource]:
    for key, each in numbers.items():
        limit = min(each.ceiling, each.runtime) if at_root else each.ceiling
        if each.used - system.get(key, NO_NUMBERS).used > limit:
            yield key


def _keep(by_name: dict[str, Keys], name: str, keys: Iterable[FlavorResource]) -> None:
    found = tuple(sorted(keys))
    if found:
        by_name[name] = found
    else:
        by_name.pop(name, None)
