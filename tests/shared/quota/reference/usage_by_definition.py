"""What is used at one moment, and whether more would fit: docs/specification.md §6 by definition, never incremental.

Runtimes, ceilings and guarantees are taken as measured (they are compared with the reference elsewhere); everything
that depends on what is used is worked out here again from the work itself.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import product

from shared.api.names import COUNTS
from shared.quota.measure.group_usage import NO_NUMBERS, Numbers
from shared.quota.measure.snapshot import LeafSnapshot, Snapshot
from shared.quota.model.flavor import Flavor
from shared.quota.model.tree import ROOT, SYSTEM, QueueingStrategy
from shared.quota.model.workload import Flavors, PodSet, Workload, WorkloadId
from shared.resources import FlavorResource
from tests.shared.quota.reference.choice import choices, codependent_sets, fits_a_node, is_uncovered, parts

Asked = Mapping[FlavorResource, int]


def asked(work: Workload, flavors: Flavors) -> dict[FlavorResource, int]:
    """What the work takes of which key when it gets those flavors."""
    total: Counter[FlavorResource] = Counter()
    for part in parts(work):
        own = flavors.get(part.name, {})
        total.update({FlavorResource(own[name], name): amount for name, amount in part.request.items() if name in own})
    return dict(total)


class Book:
    """The use of every leaf, key by key; a copy may be changed freely."""

    def __init__(
        self,
        snapshot: Snapshot,
        spent: Mapping[tuple[str, FlavorResource], int] = {},
        on_closed_nodes: Mapping[FlavorResource, int] = {},
    ) -> None:
        self.snapshot = snapshot
        self.tree = snapshot.world.tree
        self.spent: Counter[tuple[str, FlavorResource]] = Counter(spent)
        self.on_closed_nodes: Counter[FlavorResource] = Counter(on_closed_nodes)
        """What those that are counted hold on nodes that take no more pods: capacity for as long as they run."""

    def copy(self) -> "Book":
        return Book(self.snapshot, self.spent, self.on_closed_nodes)

    def add(self, work: Workload, flavors: Flavors, times: int = 1) -> "Book":
        """Count the work in its leaf (or, with -1, no more); returns the book itself."""
        for key, amount in asked(work, flavors).items():
            self.spent[work.group, key] += times * amount
            self.on_closed_nodes[key] += times * work.on_closed_nodes.get(key, 0)
        return self

    def without(self, *works: Workload) -> "Book":
        """A copy in which that running work has gone."""
        other = self.copy()
        for work in works:
            assert work.admission is not None
            other.add(work, work.admission.flavors, -1)
        return other

    def numbers(self, name: str, key: FlavorResource) -> Numbers:
        return self.snapshot.numbers[name].get(key, NO_NUMBERS)

    def used(self, name: str, key: FlavorResource) -> int:
        """What the subtree uses; of root without system."""
        if not self.tree[name].is_parent:
            return self.spent[name, key]
        return sum(self.used(child, key) for child in self.tree.children(name) if child != SYSTEM)

    def charge(self, name: str, key: FlavorResource) -> int:
        if not self.tree[name].is_parent:
            return self.spent[name, key]
        total = 0
        for child in self.tree.children(name):
            if child != SYSTEM:
                own = self.snapshot.before_turns.of(child, key)
                total += max(min(own.guarantee, own.runtime), self.charge(child, key))
        return total

    def bound(self, name: str, key: FlavorResource) -> int:
        own = self.numbers(name, key)
        if name != ROOT:
            return own.ceiling
        return own.runtime - self.snapshot.world.on_closed_nodes.get(key, 0) + self.on_closed_nodes[key]

    def lack(self, leaf: str, keys: Iterable[FlavorResource]) -> Iterator[str]:
        """Where the leaf's path is above its bounds on those keys."""
        for key in keys:
            for name in self.tree.path(leaf):
                if self.charge(name, key) > self.bound(name, key):
                    yield f"{key} at {name}: charge {self.charge(name, key)} > {self.bound(name, key)}"

    def fits(self, work: Workload, flavors: Flavors) -> bool:
        """Whether, on all its keys, the work can be added with no bound broken on its path."""
        return not any(self.copy().add(work, flavors).lack(work.group, asked(work, flavors)))


def present(snapshot: Snapshot) -> Book:
    """All that is there, being evicted or not."""
    book = after_evictions(snapshot)
    for leaf in snapshot.leaves.values():
        for work in leaf.evicting:
            assert work.admission is not None
            book.add(work, work.admission.flavors)
    return book


def after_evictions(snapshot: Snapshot) -> Book:
    """What is there once the evictions under way have ended."""
    book = Book(snapshot)
    for leaf in snapshot.leaves.values():
        for work in leaf.admitted:
            assert work.admission is not None
            book.add(work, work.admission.flavors)
    return book


def holds_back(snapshot: Snapshot, work: Workload) -> bool:
    """Whether work that waits holds back those behind it: in a StrictFIFO leaf, or after the patience of its leaf."""
    group, settings = snapshot.world.tree[work.group], snapshot.world.settings
    if group.queueing is QueueingStrategy.STRICT_FIFO:
        return True
    patience = settings.queueing_patience if group.patience is None else group.patience
    return patience is not None and snapshot.now - work.queued >= patience


def waits_for(leaf: LeafSnapshot, work: Workload) -> set[str]:
    """The flavors that work waits for: those in which it could ever start, with all its pod sets together."""
    options = leaf.options(work)
    if not options.could_fit:
        return set()
    if options.together is not None:
        return {flavor for chosen in options.together for flavor in chosen}
    return {flavor for each in options.sets for flavor in each.flavors}


def ways_to_run(snapshot: Snapshot, work: Workload) -> list[dict[str, dict[str, str]]]:
    """Every choice of flavors that the work can take, in order of preference: brute force over all pod sets."""
    entries = snapshot.tree[work.group].quotas
    if is_uncovered(work, entries, snapshot.world.settings):
        return []
    nodes, flavors = snapshot.world.largest_nodes or {}, {**snapshot.world.flavors, COUNTS: Flavor(COUNTS)}
    covered = frozenset[str]().union(*(entry.covered for entry in entries))
    sets = [(part, wanted) for part in parts(work) for wanted in codependent_sets(part, entries)]
    offers = [
        [
            flavor
            for flavor in choices(work, part, wanted, entries, flavors)
            if flavor not in nodes or fits_a_node(part, wanted | (part.request.keys() - covered), nodes[flavor])
        ]
        for part, wanted in sets
    ]
    return [_by_pod_set(sets, chosen) for chosen in product(*offers)]


def _by_pod_set(sets: Iterable[tuple[PodSet, frozenset[str]]], chosen: Iterable[str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for (part, wanted), flavor in zip(sets, chosen, strict=True):
        found.setdefault(part.name, {}).update(dict.fromkeys(wanted, flavor))
    return found


def what_it_cannot_preempt(
    leaf: LeafSnapshot,
    work: Workload,
    extra: Iterable[tuple[Workload, Flavors]],
    fresh: Collection[WorkloadId] = (),
) -> Counter[FlavorResource]:
    """What the leaf uses and this work cannot preempt: equals and betters, work not preemptible, leaving work, claims.

    `extra` is what else the leaf uses: started in this cycle, or claims of its other preemptors. `fresh`: of those
    admitted, who has started in this cycle.
    """
    may_preempt = leaf.group.preemption.value == "LowerPriority"
    total: Counter[FlavorResource] = Counter()
    for other in leaf.admitted:
        assert other.admission is not None
        if other.id in fresh or not (may_preempt and other.preemptible and other.priority < work.priority):
            total.update(asked(other, other.admission.flavors))
    for other in leaf.evicting:
        assert other.admission is not None
        total.update(asked(other, other.admission.flavors))
    for other, flavors in extra:
        total.update(asked(other, flavors))
    return total
