"""A leaf's pending work sorted into kinds: work of one kind stands alike, so that a pass need ask only once a kind."""

from collections.abc import Mapping

from shared.quota.decide.state.flavor_assignment import Assignments, assignments_of
from shared.quota.decide.state.usage import Quantities
from shared.quota.measure.snapshot import LeafSnapshot
from shared.quota.model.eligibility import Options
from shared.quota.model.flavor import Flavor
from shared.quota.model.workload import Workload


class EquivalenceClass:
    """What the work of one kind may take, its priority, and whether it is preemptible. Compared by identity."""

    __slots__ = ("assignments", "options", "preemptible", "priority")

    def __init__(self, options: Options, assignments: Assignments | None, workload: Workload) -> None:
        self.options = options
        """Held so that its identity, by which kinds are told apart, is not given to another."""
        self.assignments = assignments
        """None: it could never start."""
        self.priority = workload.priority
        self.preemptible = workload.preemptible


class EquivalenceClasses:
    """The kinds of one leaf's pending work, each in its place."""

    __slots__ = ("_by_work", "_known", "flavors", "kinds", "leaf", "smallest", "startable")

    def __init__(
        self, leaf: LeafSnapshot, flavors: Mapping[str, Flavor], previous: "EquivalenceClasses | None" = None
    ) -> None:
        """`previous`: an earlier queue of the leaf, whose answers are taken over where they still hold."""
        alike = previous is not None and previous.leaf.eligibility is leaf.eligibility and previous.flavors is flavors
        self.leaf: LeafSnapshot = leaf
        self.flavors: Mapping[str, Flavor] = flavors
        self._known: dict[tuple[int, int, bool], EquivalenceClass] = (
            previous._known if previous is not None and alike else {}
        )
        by_work: dict[int, EquivalenceClass] = previous._by_work if previous is not None and alike else {}
        self.kinds = tuple([by_work.get(id(each)) or self._kind(each) for each in leaf.pending])
        self._by_work: dict[int, EquivalenceClass] = dict(zip(map(id, leaf.pending), self.kinds, strict=True))
        self.startable = frozenset(each for each in self.kinds if each.assignments is not None)
        self.smallest = _smallest(self.startable)
        """If none of these fits, nothing here does."""

    def kind_of(self, workload: Workload) -> EquivalenceClass:
        """The kind of this pending work, or of any other that would wait here."""
        return self._by_work.get(id(workload)) or self._kind(workload)

    def _kind(self, workload: Workload) -> EquivalenceClass:
        options = self.leaf.options(workload)
        key = (id(options), workload.priority, workload.preemptible)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = EquivalenceClass(
                options, assignments_of(workload, options, self.flavors), workload
            )
        return found


def _smallest(kinds: frozenset[EquivalenceClass]) -> tuple[Quantities, ...]:
    """What the kinds may take, less what takes at least as much of every key as another does."""
    smallest = {each.quantities for kind in kinds for each in kind.assignments or ()}
    return tuple(
        quantities
        for quantities in smallest
        if not any(other != quantities and _is_within(other, quantities) for other in smallest)
    )


def _is_within(small: Quantities, large: Quantities) -> bool:
    most = dict(large)
    return all(amount <= most.get(key, 0) for key, amount in small)
