"""What a process keeps from cycle to cycle, so that only what has changed is evaluated again.

What is kept of a leaf was computed from frozen inputs and is looked up by their identity: a leaf that is another
object, or has other numbers, has another record. So no record is ever out of date, and a plan made with the cache
equals one made without.
"""

from collections.abc import Callable, Iterable, Mapping, Set
from datetime import datetime
from enum import Enum, auto
from typing import Final

from shared.quota.decide.known_siblings import KnownSiblings
from shared.quota.decide.over_since import OverSinceCache
from shared.quota.decide.state.known_leaf import KnownLeaf
from shared.quota.decide.state.steps import Steps, StepsBelow, merge_steps
from shared.quota.decide.state.usage import Keys
from shared.quota.measure.group_usage import NO_NUMBERS, GroupNumbers
from shared.quota.measure.identity import changed_names
from shared.quota.measure.snapshot import LeafSnapshot, Snapshot
from shared.quota.model.lifecycle import STARTS_NOTHING, is_drained
from shared.quota.model.settings import ReclaimMode
from shared.quota.model.tree import ROOT, SYSTEM, Tree
from shared.resources import FlavorResource


class Sort(Enum):
    """What a leaf can have that some step of a cycle must look at."""

    WAITING = auto()
    """Pending workloads that may start."""
    UNDECIDED = auto()
    """Pending workloads that may start, some of which might be entitled: a pass must find out."""
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
"""sort -> whether a leaf is of that sort; UNDECIDED is known of its record alone."""


class CycleCache:
    """The records of all leaves, indexes of them by sort and by parent, and the groups that use too much."""

    __slots__ = (
        "_beyond",
        "_by_sort",
        "_of_cycle",
        "_snapshot",
        "_steps_below",
        "ahead",
        "leaves",
        "over_since",
        "siblings",
        "waiting",
    )

    def __init__(self) -> None:
        self.ahead: dict[datetime, tuple[Snapshot, CycleCache]] = {}
        """border of a window or override → the snapshot and the cache of the plan made ahead for it."""
        self.leaves: dict[str, KnownLeaf] = {}
        self.over_since = OverSinceCache()
        self.siblings: dict[str, KnownSiblings] = {}
        """parent → what is known of its children, for turns."""
        self.waiting: dict[str, set[str]] = {}
        """parent → the leaves below it that wait; only parents of such leaves."""
        self._steps_below: dict[str, StepsBelow] = {}
        """parent → the steps of those leaves, merged; forgotten when one of the leaves has another record."""
        self._beyond: dict[str, Keys] = {}
        """group -> keys of which it uses more than its limit, also of groups that do not reach root."""
        self._of_cycle: dict[tuple[int, int], KnownLeaf] = {}
        """identities of a leaf and its numbers → its record in this cycle: after a trial, both often are as before."""
        self._by_sort: dict[Sort, set[str]] = {sort: set() for sort in Sort}
        self._snapshot: Snapshot | None = None

    def of(self, sort: Sort) -> Set[str]:
        """Return the leaves of that sort."""
        return self._by_sort[sort]

    def beyond(self, tree: Tree) -> Mapping[str, Keys]:
        """Return the keys of which each group uses more than its limit, evicting workloads included."""
        return {name: keys for name, keys in self._beyond.items() if name == ROOT or tree.reaches_root(name)}

    def steps_below(self, parent: str, now: datetime, without: Set[str]) -> StepsBelow:
        """Return the steps of the leaves that wait below the parent, merged, where these hold at that moment.

        `without`: leaves that are left out.
        """
        waiting = self.waiting[parent]
        is_kept = without.isdisjoint(waiting)
        found = self._steps_below.get(parent) if is_kept else None
        if found is None or (found.until is not None and found.until <= now):
            own: dict[str, Steps] = {}
            for name in waiting.difference(self._by_sort[Sort.UNDECIDED], without):
                steps = self.leaves[name].steps(now)
                if steps is not None:
                    own[name] = steps
            found = merge_steps(own)
            if is_kept:
                self._steps_below[parent] = found
        return found

    def note_none_entitled(self, name: str) -> None:
        """Note that a pass has found none of the leaf's pending workloads to be entitled."""
        self.leaves[name].none_entitled = True
        self._by_sort[Sort.UNDECIDED].discard(name)
        self._steps_below.pop(self.leaves[name].leaf.path[1], None)

    def refresh(self, snapshot: Snapshot) -> None:
        """Bring everything up to this snapshot."""
        before = self._snapshot
        if snapshot is before:
            return
        if before is None:
            leaves, groups = self.leaves.keys() | snapshot.leaves.keys(), set(snapshot.numbers)
        else:
            leaves = changed_names(snapshot.leaves, before.leaves)
            groups = changed_names(snapshot.numbers, before.numbers)
        for name in leaves | groups | {ROOT}:
            if name in snapshot.leaves:
                self._renew(name, snapshot)
                continue
            if name in self.leaves:
                self._forget(name)
            if name in snapshot.numbers:
                system = snapshot.numbers.get(SYSTEM, {}) if name == ROOT else {}
                beyond = () if name == SYSTEM else _beyond(snapshot.numbers[name], system)
                _keep(self._beyond, name, beyond)
            else:
                self._beyond.pop(name, None)
                self.siblings.pop(name, None)
        self._snapshot = snapshot

    def copy(self) -> "CycleCache":
        """Return a cache that goes on from the same snapshot; what one learns from here on, the other does not."""
        found = CycleCache()
        found.leaves, found._beyond = dict(self.leaves), dict(self._beyond)
        found.over_since.by_numbers = dict(self.over_since.by_numbers)
        found._by_sort = {sort: set(names) for sort, names in self._by_sort.items()}
        found.waiting = {parent: set(names) for parent, names in self.waiting.items()}
        found.siblings, found._steps_below = dict(self.siblings), dict(self._steps_below)
        found._snapshot = self._snapshot
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
        leaf, numbers, before = snapshot.leaves[name], snapshot.numbers[name], self.leaves.get(name)
        both = id(leaf), id(numbers)
        known = self._of_cycle.get(both) or before
        if known is None or known.leaf is not leaf or known.numbers is not numbers:
            known = KnownLeaf(leaf, numbers, known)
        self.leaves[name] = self._of_cycle[both] = known
        for sort, belongs in BELONGS.items():
            (self._by_sort[sort].add if belongs(leaf) else self._by_sort[sort].discard)(name)
        waits, parent = name in self._by_sort[Sort.WAITING], leaf.path[1]
        if before is not None and not (waits and before.leaf.path[1] == parent):
            self._leave_parent(before)
        if waits:
            self.waiting.setdefault(parent, set()).add(name)
            self._steps_below.pop(parent, None)
        is_undecided = waits and not known.none_entitled
        (self._by_sort[Sort.UNDECIDED].add if is_undecided else self._by_sort[Sort.UNDECIDED].discard)(name)
        over = (key for key, each in numbers.items() if each.used > each.runtime)
        self.over_since.note(name, tuple(sorted(over)))
        _keep(self._beyond, name, _beyond(numbers, {}))

    def _forget(self, name: str) -> None:
        self._leave_parent(self.leaves.pop(name))
        for names in self._by_sort.values():
            names.discard(name)
        self.over_since.note(name, ())
        self._beyond.pop(name, None)

    def _leave_parent(self, known: KnownLeaf) -> None:
        """Take an earlier state of a leaf out of what is known below its parent."""
        name, parent = known.leaf.path[:2]
        waiting = self.waiting.get(parent, set())
        if name in waiting:
            self._steps_below.pop(parent, None)
            waiting.remove(name)
            if not waiting:
                del self.waiting[parent]


def _beyond(numbers: GroupNumbers, system: GroupNumbers) -> Iterable[FlavorResource]:
    for key, each in numbers.items():
        if each.used - system.get(key, NO_NUMBERS).used > each.limit:
            yield key


def _keep(by_name: dict[str, Keys], name: str, keys: Iterable[FlavorResource]) -> None:
    found = tuple(sorted(keys))
    if found:
        by_name[name] = found
    else:
        by_name.pop(name, None)
