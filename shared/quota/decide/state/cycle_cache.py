"""What a cycle can take over from the previous ones, so that only what has changed is evaluated again.

A plan made with the cache equals the plan made without. What is known of a leaf holds as long as its state is the same
object and none of its numbers has grown; what depends on others, as long as no more is available below its parent.
"""

from collections.abc import Iterable, Mapping, Set
from itertools import compress
from operator import is_not

from shared.quota.decide.state.equivalence import EquivalenceClasses
from shared.quota.decide.state.first_fits import FirstFits, first_fits, is_predictable
from shared.quota.decide.state.leaves_in_order import LeavesInOrder, Margins, Rank
from shared.quota.decide.state.over_since import OverSinceCache
from shared.quota.decide.state.smallest_requests import SmallestRequests, of_leaf
from shared.quota.decide.state.usage import Keys
from shared.quota.decide.state.waiting_tree import WaitingTree
from shared.quota.measure.group_usage import NO_NUMBERS, GroupNumbers
from shared.quota.measure.snapshot import LeafSnapshot, Snapshot
from shared.quota.model.settings import ReclaimMode
from shared.quota.model.tree import ROOT, SYSTEM, StopPolicy, Tree
from shared.resources import Amount, FlavorResource

WeightByKey = dict[tuple[str, FlavorResource], Amount]
"""By parent and key: the weights of its children together."""


class LeafCache:
    """What is known of one leaf from its own state and numbers."""

    __slots__ = (
        "before",
        "could_swap",
        "first_fits",
        "leaf",
        "none_entitled",
        "numbers",
        "queue",
        "requests",
        "too_little",
    )

    def __init__(self, leaf: LeafSnapshot, numbers: GroupNumbers, previous: "LeafCache | None" = None) -> None:
        self.leaf = leaf
        self.numbers = numbers
        self.queue: EquivalenceClasses | None = previous.queue if previous is not None else None
        """Made when first requested; after a change of the leaf, the previous one."""
        holds = previous is not None and previous.leaf is leaf and _none_grew(numbers, previous.numbers)
        valid = previous if holds else None
        self.none_entitled: bool = valid.none_entitled if valid is not None else False
        """A pass has found that none of its workloads is entitled."""
        self.too_little: Mapping[FlavorResource, Amount] | None = valid.too_little if valid is not None else None
        """What was available below the leaf's parent when a pass found that nothing in the leaf could borrow."""
        self.first_fits: FirstFits | None = None
        """Made when first requested, if the leaf is predictable."""
        self.could_swap: bool | None = None
        """Whether running workloads of lower priority use as much as some pending one requests; None: not known yet."""
        self.before: LeafCache | None = None
        """What was known in the previous state of this cycle: after a trial, the leaf is often as it was."""
        self.requests: dict[bool, SmallestRequests] = {}
        """The smallest pending request, by whether the head of the queue might have changed in this cycle."""


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
        self.may_swap: set[str] = set()
        """Of these, where some that waits could take the place of some that runs, as far as is known."""
        self.strict: set[str] = set()
        """Where reclaim is Strict."""
        self.over: dict[str, Keys] = {}
        """Keys of which a leaf uses more than its runtime, evicting workloads included."""
        self.beyond: dict[str, Keys] = {}
        """Keys of which any group uses more than its limit, evicting workloads included."""
        self.over_since = OverSinceCache()
        self.tree = WaitingTree({}, {})
        self.rank_bounds: dict[str, dict[Keys, Rank]] = {}
        """By group and the keys that a head takes: not above the rank of any such head below it."""
        self.weights: WeightByKey = {}
        self.maybe_entitled: set[str] = set()
        """Leaves with a pending workload that might be entitled."""
        self.orders: dict[str, LeavesInOrder] = {}
        """By group directly above leaves."""
        self.first_ranks: dict[str, Rank | None] = {}
        """By such a group: what no head below it comes before; None: nothing there could start."""
        self.margins: dict[str, Margins] = {}
        """By such a group."""
        self.best_ranks: dict[str, Rank] = {}
        """By leaf: the best rank that any of its workloads could have."""
        self.shares: dict[str, dict[Keys, tuple[bool, int, int]]] = {}
        """By group and the keys that a head takes: whether its weight is 0, its share, its past use."""
        self._over_changed: set[str] = set()
        self._leaves: Mapping[str, LeafSnapshot] = {}
        self._numbers: Mapping[str, GroupNumbers] = {}
        self._replaced: list[LeafCache] = []
        """Those that know their `before`."""
        self._static: tuple[object, ...] = (None, None, None)
        self._snapshot: object = None
        self._capacity: object = None
        self._past_use: object = None

    def refresh(self, snapshot: Snapshot) -> None:
        """Bring everything up to this snapshot."""
        if snapshot is self._snapshot:
            return
        tree, static = snapshot.world.tree, (snapshot.world.tree, snapshot.world.flavors, snapshot.world.settings)
        earlier: Mapping[str, LeafCache] = {}
        if len(self.leaves) != len(snapshot.leaves) or any(map(is_not, static, self._static)):
            earlier = self.leaves
            self.__init__()  # type: ignore[misc]
            self._static = static
            self.tree = WaitingTree(snapshot.numbers, {name: group.parent for name, group in tree.groups.items()})
        self._snapshot = snapshot
        if snapshot.capacity is not self._capacity:
            self._capacity = snapshot.capacity
            self.weights.clear()
            self._forget_ranks()
        if snapshot.world.past_use is not self._past_use:
            self._past_use = snapshot.world.past_use
            self._forget_ranks()
        leaves, numbers = snapshot.changes_since(self._numbers) or (
            changed_names(snapshot.leaves, self._leaves),
            changed_names(snapshot.numbers, self._numbers),
        )
        for name in leaves | (numbers & snapshot.leaves.keys()):
            self._refresh_leaf(name, snapshot)
        for name in {*numbers, ROOT}.difference(snapshot.leaves, (SYSTEM,)):
            self._refresh_inner(name, snapshot, tree)
        for name in earlier.keys() & self.leaves.keys():
            self.leaves[name].queue = earlier[name].queue
        self._leaves, self._numbers = snapshot.leaves, snapshot.numbers

    def end_cycle(self) -> None:
        """Forget the states that leaves had earlier in this cycle."""
        for each in self._replaced:
            each.before = None
        self._replaced.clear()

    def _forget_ranks(self) -> None:
        self.rank_bounds.clear()
        self.orders.clear()
        self.first_ranks.clear()
        self.best_ranks.clear()
        self.shares.clear()

    def _refresh_leaf(self, name: str, snapshot: Snapshot) -> None:
        leaf, numbers, known = snapshot.leaves[name], snapshot.numbers[name], self.leaves.get(name)
        before = known.before if known is not None else None
        if before is None or before.leaf is not leaf or before.numbers is not numbers:
            before = LeafCache(leaf, numbers, known)
        if known is not None:
            known.before, before.before = None, known
            self._replaced.append(before)
        self.leaves[name] = before
        self._classify(name, leaf, numbers)
        self.shares.pop(name, None)
        self.best_ranks.pop(name, None)
        self.orders.pop(leaf.path[1], None)
        self.first_ranks.pop(leaf.path[1], None)

    def _refresh_inner(self, name: str, snapshot: Snapshot, tree: Tree) -> None:
        numbers = snapshot.numbers[name]
        self.rank_bounds.pop(name, None)
        self.first_ranks.pop(name, None)
        self.shares.pop(name, None)
        self.margins.pop(name, None)
        system = snapshot.numbers.get(SYSTEM, {}) if name == ROOT else {}
        outside = name != ROOT and not tree.reaches_root(name)
        _keep(self.beyond, name, () if outside else _beyond(numbers, system, at_root=name == ROOT))

    def _classify(self, name: str, leaf: LeafSnapshot, numbers: GroupNumbers) -> None:
        waits = bool(leaf.pending) and leaf.may_start
        if waits:
            self.tree.outdated.add(name)
        if waits is not (name in self.waiting):
            (self.tree.add if waits else self.tree.discard)(leaf.path)
            for parent in leaf.path[1:]:  # a group that had only leaves below it may now have other groups, too
                self.orders.pop(parent, None)
                self.first_ranks.pop(parent, None)
        swaps = waits and bool(leaf.admitted) and leaf.admitted[-1].priority < leaf.pending[0].priority
        drains = leaf.stop is StopPolicy.HOLD_AND_DRAIN and bool(leaf.admitted)
        for names, belongs in (
            (self.waiting, waits),
            (self.maybe_entitled, waits and not self.leaves[name].none_entitled),
            (self.swapping, swaps),
            (self.may_swap, swaps),
            (self.evicting, bool(leaf.evicting)),
            (self.urgent, drains or bool(leaf.unready)),
            (self.notifying, bool(leaf.reclaim.notice) and bool(leaf.admitted)),
            (self.timed, leaf.next_change is not None),
            (self.strict, leaf.reclaim.mode is ReclaimMode.STRICT),
        ):
            names.add(name) if belongs else names.discard(name)
        _keep(self.over, name, tuple(key for key, each in numbers.items() if each.used > each.runtime))
        self._over_changed.add(name)
        _keep(self.beyond, name, _beyond(numbers, {}, at_root=False))

    def take_changes_of_over(self) -> Set[str]:
        """The groups for which `over` might have changed since the last call."""
        changed, self._over_changed = self._over_changed, set()
        return changed

    def queue(self, name: str, snapshot: Snapshot) -> EquivalenceClasses:
        """The equivalence classes of that leaf's pending workloads."""
        cached = self.leaves[name]
        flavors = snapshot.world.flavors
        if cached.queue is None:
            cached.queue = EquivalenceClasses(cached.leaf, flavors)
        elif cached.queue.leaf is not cached.leaf or cached.queue.flavors is not flavors:
            cached.queue = cached.queue.after(cached.leaf, flavors)
        return cached.queue

    def first_fits(self, name: str, snapshot: Snapshot) -> FirstFits | None:
        """Which workloads of that leaf could borrow first; None where that is not known without evaluating it."""
        cached = self.leaves[name]
        known = cached.first_fits
        if known is None or (known.until is not None and known.until <= snapshot.now):
            classes = self.queue(name, snapshot)
            if not is_predictable(cached.leaf, classes):
                return None
            cached.first_fits = first_fits(classes, cached.numbers, snapshot.now)
            self.best_ranks.pop(name, None)
        return cached.first_fits

    def settle(self, name: str) -> None:
        """Note that no workload of that leaf is entitled, until something changes there."""
        self.leaves[name].none_entitled = True
        self.maybe_entitled.discard(name)

    def note_swap(self, name: str, *, could_swap: bool) -> None:
        """Note whether running workloads of lower priority use as much as some pending one of that leaf requests."""
        self.leaves[name].could_swap = could_swap
        if not could_swap:
            self.may_swap.discard(name)

    def update_requests(self, snapshot: Snapshot, touched: Set[str]) -> None:
        """Bring the bounds for what waits in each group up to date; `touched`: leaves this cycle has changed."""
        touched = touched & self.waiting
        for name in self.tree.outdated | touched:
            self._update_request(name, snapshot, touched=name in touched)
        self.tree.outdated |= touched

    def count_behind_head(self, leaf: str, snapshot: Snapshot) -> None:
        """Let all that waits in a leaf count in the bounds: the head of its queue has started in this cycle."""
        if leaf in self.waiting:
            self._update_request(leaf, snapshot, touched=True)
            self.tree.outdated.add(leaf)

    def _update_request(self, name: str, snapshot: Snapshot, *, touched: bool) -> None:
        cached = self.leaves[name]
        if touched not in cached.requests:
            cached.requests[touched] = of_leaf(self.queue(name, snapshot), cached.numbers, touched=touched)
        self.tree.update(cached.leaf.path, cached.requests[touched])
        for group in cached.leaf.path:
            self.rank_bounds.pop(group, None)


def changed_names(now: Mapping[str, object], before: Mapping[str, object]) -> Set[str]:
    """The names under which `now` has another object than `before`; quick where few have."""
    if list(now) == list(before):
        return set(compress(now, map(is_not, now.values(), before.values())))
    return {name for name, found in now.items() if before.get(name) is not found}


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
