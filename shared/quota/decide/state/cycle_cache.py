"""What one cycle may take over from the one before: what has not changed is not looked at again.

A plan made with a memory equals the plan made without. Facts are kept per leaf and hold as long as the leaf's state and
numbers are the same objects; what depends on the room of others holds as long as no group on the path has more room.
"""

from collections.abc import Iterable
from operator import is_not

from shared.quota.decide.state.equivalence import EquivalenceClasses
from shared.quota.measure.group_usage import NO_NUMBERS, GroupNumbers
from shared.quota.measure.inputs.world import OverSince
from shared.quota.measure.snapshot import LeafSnapshot, Snapshot
from shared.quota.model.settings import ReclaimMode
from shared.quota.model.tree import ROOT, SYSTEM, StopPolicy, Tree
from shared.resources import Amount, FlavorResource

Keys = tuple[FlavorResource, ...]
Margins = dict[tuple[str, FlavorResource], Amount]


class LeafCache:
    """What is known of one leaf from its own state and numbers."""

    __slots__ = ("_kept_for", "could_swap", "leaf", "none_borrows", "none_entitled", "numbers", "queue")

    def __init__(self, leaf: LeafSnapshot, numbers: GroupNumbers, queue: EquivalenceClasses | None) -> None:
        self.leaf = leaf
        self.numbers = numbers
        self.queue = queue
        """Made when first asked for; after a change of the leaf, the previous one."""
        self.none_entitled = False
        """A pass has found that none of its work is entitled."""
        self.none_borrows = -1
        """The era in which a pass found that none of its work may borrow."""
        self.could_swap: bool | None = None
        """Whether running workloads of lower priority use as much as some pending one requests; None: not known yet."""
        self._kept_for: bool | None = None

    def is_kept_for(self, snapshot: Snapshot) -> bool:
        """Whether any room is kept for the leaf, or for a group above it, while idle."""
        if self._kept_for is None:
            numbers = (snapshot.numbers[group] for group in self.leaf.path[:-1])
            self._kept_for = any(each.guarantee > 0 for by_key in numbers for each in by_key.values())
        return self._kept_for


class CycleCache:
    """All cached, and the leaves that have something a cycle must look at."""

    def __init__(self) -> None:
        self.leaves: dict[str, LeafCache] = {}
        self.waiting: set[str] = set()
        self.evicting: set[str] = set()
        self.urgent: set[str] = set()
        """Draining, or with work whose pods are not ready."""
        self.notifying: set[str] = set()
        """Where a notice comes before an eviction."""
        self.timed: set[str] = set()
        """Where the passing of time alone changes something."""
        self.swapping: set[str] = set()
        """Where work waits that has higher priority than some that runs."""
        self.strict: set[str] = set()
        """Where reclaim is Strict."""
        self.over: dict[str, Keys] = {}
        """Keys of which a leaf uses more than its runtime, work being evicted counted."""
        self.beyond: dict[str, Keys] = {}
        """Keys of which any group uses more than its limit, work being evicted counted."""
        self.changed: set[str] = set()
        """Groups that hold groups, and are not as they were in the previous cycle."""
        self.touched: set[str] = set()
        """Leaves that are not as they were in the previous cycle."""
        self.era = 0
        self.margins: Margins = {}
        """What each group had left at the end of the previous cycle's passes."""
        self.dirty: frozenset[str] = frozenset()
        """Groups whose usage the previous cycle changed."""
        self.over_since: OverSince = {}
        """What the previous plan said of who is over, and of which leaves by more than their numbers tell."""
        self.judged: dict[str, Keys] = {}
        self._inner: dict[str, GroupNumbers] = {}
        self._ground: tuple[object, ...] = (None, None, None)

    def refresh(self, snapshot: Snapshot) -> None:
        """Bring all facts up to this snapshot."""
        self.changed, self.touched = set(), set()
        tree, static = snapshot.world.tree, (snapshot.world.tree, snapshot.world.flavors, snapshot.world.settings)
        if len(self.leaves) != len(snapshot.leaves) or any(map(is_not, static, self._ground)):
            self.__init__()  # type: ignore[misc]
            self._ground = static
        for name, leaf in snapshot.leaves.items():
            numbers, found = snapshot.numbers[name], self.leaves.get(name)
            if found is None or found.leaf is not leaf or found.numbers is not numbers:
                self.leaves[name] = LeafCache(leaf, numbers, found.queue if found is not None else None)
                self._sort(name, leaf, numbers)
        for name in snapshot.numbers.keys() - self.leaves.keys() - {SYSTEM}:
            self._refresh_inner(name, snapshot, tree)

    def _refresh_inner(self, name: str, snapshot: Snapshot, tree: Tree) -> None:
        numbers = snapshot.numbers[name]
        if name != ROOT and self._inner.get(name) is numbers:
            return
        self._inner[name] = numbers
        self.changed.add(name)
        system = snapshot.numbers.get(SYSTEM, {}) if name == ROOT else {}
        outside = name != ROOT and not tree.reaches_root(name)
        _keep(self.beyond, name, () if outside else _beyond(numbers, system, at_root=name == ROOT))

    def _sort(self, name: str, leaf: LeafSnapshot, numbers: GroupNumbers) -> None:
        self.touched.add(name)
        waits = bool(leaf.pending) and leaf.may_start
        swaps = waits and bool(leaf.admitted) and leaf.admitted[-1].priority < leaf.pending[0].priority
        drains = leaf.stop is StopPolicy.HOLD_AND_DRAIN and bool(leaf.admitted)
        for names, belongs in (
            (self.waiting, waits),
            (self.swapping, swaps),
            (self.evicting, bool(leaf.evicting)),
            (self.urgent, drains or bool(leaf.unready)),
            (self.notifying, bool(leaf.reclaim.notice) and bool(leaf.admitted)),
            (self.timed, leaf.next_change is not None),
            (self.strict, leaf.reclaim.mode is ReclaimMode.STRICT),
        ):
            names.add(name) if belongs else names.discard(name)
        _keep(self.over, name, tuple(key for key, each in numbers.items() if each.used > each.runtime))
        _keep(self.beyond, name, _beyond(numbers, {}, at_root=False))

    def queue(self, name: str, snapshot: Snapshot) -> EquivalenceClasses:
        """The kinds of that leaf's pending work."""
        cached = self.leaves[name]
        flavors = snapshot.world.flavors
        if cached.queue is None or cached.queue.leaf is not cached.leaf or cached.queue.flavors is not flavors:
            cached.queue = EquivalenceClasses(cached.leaf, flavors, cached.queue)
        return cached.queue


def _beyond(numbers: GroupNumbers, system: GroupNumbers, *, at_root: bool) -> Keys:
    found = []
    for key, each in numbers.items():
        limit = min(each.ceiling, each.runtime) if at_root else each.ceiling
        if each.used - system.get(key, NO_NUMBERS).used > limit:
            found.append(key)
    return tuple(found)


def _keep(by_name: dict[str, Keys], name: str, keys: Iterable[FlavorResource]) -> None:
    found = tuple(sorted(keys))
    if found:
        by_name[name] = found
    else:
        by_name.pop(name, None)
