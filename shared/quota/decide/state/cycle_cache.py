"""What a cycle can take over from the previous ones, so that only what has changed is evaluated again.

A plan made with the cache equals the plan made without. What is known of a leaf holds as long as its state is the same
object and none of its numbers has grown; what depends on others, as long as no more is available below its parent.
"""

from collections.abc import Iterable, Mapping, Set
from datetime import datetime
from operator import is_not

from shared.quota.decide.state.equivalence import EquivalenceClasses
from shared.quota.decide.state.smallest_requests import of_leaf
from shared.quota.decide.state.waiting_tree import WaitingTree
from shared.quota.measure.group_usage import NO_NUMBERS, GroupNumbers
from shared.quota.measure.inputs.world import OverSince
from shared.quota.measure.snapshot import LeafSnapshot, Snapshot
from shared.quota.model.settings import ReclaimMode
from shared.quota.model.tree import ROOT, SYSTEM, StopPolicy, Tree
from shared.resources import Amount, FlavorResource

Keys = tuple[FlavorResource, ...]
Rank = tuple[bool, bool, int, int, datetime, str]
"""(beyond effectiveMin, weight 0, share, past use, age of the head, name); the lowest comes first."""
Weights = dict[tuple[str, FlavorResource], Amount]
"""By parent and key: the weights of its children together."""


class LeafCache:
    """What is known of one leaf from its own state and numbers."""

    __slots__ = ("could_swap", "leaf", "none_entitled", "numbers", "queue", "too_little")

    def __init__(self, leaf: LeafSnapshot, numbers: GroupNumbers, previous: "LeafCache | None" = None) -> None:
        self.leaf = leaf
        self.numbers = numbers
        self.queue: EquivalenceClasses | None = previous.queue if previous is not None else None
        """Made when first requested; after a change of the leaf, the previous one."""
        still_holds = previous is not None and previous.leaf is leaf and _none_grew(numbers, previous.numbers)
        self.none_entitled: bool = previous.none_entitled if previous is not None and still_holds else False
        """A pass has found that none of its workloads is entitled."""
        self.too_little: Mapping[FlavorResource, Amount] | None = (
            previous.too_little if previous is not None and still_holds else None
        )
        """What was available below the leaf's parent when a pass found that nothing in the leaf could borrow."""
        self.could_swap: bool | None = None
        """Whether running workloads of lower priority use as much as some pending one requests; None: not known yet."""


class CycleCache:
    """All that is kept from cycle to cycle, and the leaves that have something a cycle must look at."""

    def __init__(self) -> None:
        self.leaves: dict[str, LeafCache] = {}
        self.waiting: set[str] = set()
        self.evicting: set[str] = set()
        self.urgent: set[str] = set()
        """Draining, or with workloads whose pods are not ready."""
        self.notifying: set[str] = set()
        """Where a notice comes before an eviction."""
        self.timed: set[str] = set()
        """Where the passing of time alone changes something."""
        self.swapping: set[str] = set()
        """Where a workload waits that has higher priority than some that runs."""
        self.strict: set[str] = set()
        """Where reclaim is Strict."""
        self.over: dict[str, Keys] = {}
        """Keys of which a leaf uses more than its runtime, evicting workloads included."""
        self.beyond: dict[str, Keys] = {}
        """Keys of which any group uses more than its limit, evicting workloads included."""
        self.over_since: OverSince = {}
        """What the previous plan said of who is over, and of which leaves by more than their numbers tell."""
        self.judged: dict[str, Keys] = {}
        self.tree = WaitingTree({}, {})
        self.rank_bounds: dict[str, dict[Keys, Rank]] = {}
        """By group and the keys that a head takes: not above the rank of any such head below it."""
        self.weights: Weights = {}
        self._inner: dict[str, GroupNumbers] = {}
        self._static: tuple[object, ...] = (None, None, None)
        self._capacity: object = None
        self._past_use: object = None

    def refresh(self, snapshot: Snapshot) -> None:
        """Bring everything up to this snapshot."""
        tree, static = snapshot.world.tree, (snapshot.world.tree, snapshot.world.flavors, snapshot.world.settings)
        if len(self.leaves) != len(snapshot.leaves) or any(map(is_not, static, self._static)):
            self.__init__()  # type: ignore[misc]
            self._static = static
            self.tree = WaitingTree(snapshot.numbers, {name: group.parent for name, group in tree.groups.items()})
        if snapshot.capacity is not self._capacity:
            self._capacity = snapshot.capacity
            self.weights.clear()
            self.rank_bounds.clear()
        if snapshot.world.past_use is not self._past_use:
            self._past_use = snapshot.world.past_use
            self.rank_bounds.clear()
        for name, leaf in snapshot.leaves.items():
            numbers, found = snapshot.numbers[name], self.leaves.get(name)
            if found is None or found.leaf is not leaf or found.numbers is not numbers:
                self.leaves[name] = LeafCache(leaf, numbers, found)
                self._classify(name, leaf, numbers)
        for name in snapshot.numbers.keys() - self.leaves.keys() - {SYSTEM}:
            self._refresh_inner(name, snapshot, tree)

    def _refresh_inner(self, name: str, snapshot: Snapshot, tree: Tree) -> None:
        numbers = snapshot.numbers[name]
        if name != ROOT and self._inner.get(name) is numbers:
            return
        self._inner[name] = numbers
        self.rank_bounds.pop(name, None)
        system = snapshot.numbers.get(SYSTEM, {}) if name == ROOT else {}
        outside = name != ROOT and not tree.reaches_root(name)
        _keep(self.beyond, name, () if outside else _beyond(numbers, system, at_root=name == ROOT))

    def _classify(self, name: str, leaf: LeafSnapshot, numbers: GroupNumbers) -> None:
        waits = bool(leaf.pending) and leaf.may_start
        if waits:
            self.tree.outdated.add(name)
        if waits is not (name in self.waiting):
            (self.tree.add if waits else self.tree.discard)(leaf.path)
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
        """The equivalence classes of that leaf's pending workloads."""
        cached = self.leaves[name]
        flavors = snapshot.world.flavors
        if cached.queue is None or cached.queue.leaf is not cached.leaf or cached.queue.flavors is not flavors:
            cached.queue = EquivalenceClasses(cached.leaf, flavors, cached.queue)
        return cached.queue

    def update_requests(self, snapshot: Snapshot, touched: Set[str]) -> None:
        """Bring the bounds for what waits in each group up to date; `touched`: leaves this cycle has changed."""
        touched = touched & self.waiting
        for name in self.tree.outdated | touched:
            cached = self.leaves[name]
            requests = of_leaf(self.queue(name, snapshot), cached.numbers, touched=name in touched)
            self.tree.update(cached.leaf.path, requests)
            for group in cached.leaf.path:
                self.rank_bounds.pop(group, None)
        self.tree.outdated |= touched


def _none_grew(now: GroupNumbers, before: GroupNumbers) -> bool:
    """Whether no number has grown by which a workload could be entitled, or more available to its leaf."""
    for key, each in now.items():
        known = before.get(key, NO_NUMBERS)
        if (
            each.runtime > known.runtime
            or each.effective_min > known.effective_min
            or each.guarantee > known.guarantee
            or each.ceiling > known.ceiling
            or each.charge < known.charge
        ):
            return False
    return now.keys() == before.keys()


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
