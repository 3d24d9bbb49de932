"""A leaf's pending workloads by equivalence class: those of one class fit alike, so a pass evaluates only one."""

from collections.abc import Iterable, Iterator, Mapping, Set
from copy import copy
from datetime import datetime
from itertools import chain
from typing import Final

from shared.quota.decide.state.flavor_assignment import Assignments, FlavorAssignment, assignments_of, without_flavors
from shared.quota.decide.state.usage import Keys
from shared.quota.measure.snapshot import LeafSnapshot
from shared.quota.model.eligibility import Options
from shared.quota.model.workload import Workload
from shared.resources import Amount, keys_in

_SPARE: Final = 256
"""How many classes without a workload are kept in addition to those with one."""


LeastAmounts = Mapping[Keys, tuple[Amount, ...]]
"""keys, sorted -> the least amount that is requested of each, in their order."""


class EquivalenceClass:
    """What the workloads of one class can take, their priority, and whether preemptible. Compared by identity."""

    __slots__ = (
        "_flavors",
        "_least",
        "assignments",
        "is_simple",
        "options",
        "preemptible",
        "priority",
    )

    def __init__(self, options: Options, assignments: Assignments | None, workload: Workload) -> None:
        self.options = options
        """Kept alive, because classes are distinguished by its identity."""
        self.assignments = assignments
        """None: it could never start."""
        self.priority = workload.priority
        self.preemptible = workload.preemptible
        several = assignments is not None and len(assignments) > 1
        self.is_simple = not several or all(len(each.options) == 1 for each in assignments or ())
        """Whether it takes the first assignment that fits, where it is entitled to none; else see `borrowing_order`."""
        self._flavors: frozenset[str] | None = None
        self._least: LeastAmounts | None = None

    @property
    def flavors(self) -> frozenset[str]:
        """The flavors of all assignments of the class."""
        if self._flavors is None:
            self._flavors = frozenset([option.flavor for each in self.assignments or () for option in each.options])
        return self._flavors

    @property
    def least(self) -> LeastAmounts:
        """The least amounts, for each set of keys that some assignment takes."""
        if self._least is None:
            self._least = _least(_in_order(each) for each in self.assignments or ())
        return self._least


class EquivalenceClasses:
    """The class of each of one leaf's pending workloads."""

    __slots__ = (
        "_all_flavors",
        "_by_workload",
        "_known",
        "_smallest",
        "in_order",
        "leaf",
        "startable",
    )

    def __init__(self, leaf: LeafSnapshot, previous: "EquivalenceClasses | None" = None) -> None:
        """`previous`: the classes of an earlier state of the leaf, all of which are still valid."""
        self.leaf: LeafSnapshot = leaf
        self._known: dict[tuple[int, int, bool], EquivalenceClass] = {} if previous is None else previous._known
        by_workload: dict[int, EquivalenceClass] = {} if previous is None else previous._by_workload
        self.in_order = tuple([by_workload.get(id(each)) or self._class(each) for each in leaf.pending])
        """The class of each workload, in the order of `leaf.pending`."""
        self._by_workload: dict[int, EquivalenceClass] = dict(zip(map(id, leaf.pending), self.in_order, strict=True))
        self.startable = frozenset([each for each in self.in_order if each.assignments is not None])
        self._smallest: LeastAmounts | None = None
        self._all_flavors: frozenset[str] | None = None
        if len(self._known) > len(self.in_order) + _SPARE:
            self._known = {(id(each.options), each.priority, each.preemptible): each for each in self.in_order}

    def after(self, leaf: LeafSnapshot) -> "EquivalenceClasses":
        """Return the classes of a later state of the leaf, which take over what is still valid."""
        if self.leaf.eligibility.alike is not leaf.eligibility.alike:
            return EquivalenceClasses(leaf)
        if self.leaf.pending is not leaf.pending:
            return EquivalenceClasses(leaf, self)
        found = copy(self)
        found.leaf = leaf
        return found

    @property
    def smallest(self) -> LeastAmounts:
        """The least amounts, for each set of keys that some workload could take. If none of these fits, nothing does.

        cpu 4, gpu 1 and cpu 2, gpu 8 give cpu 2, gpu 1.
        """
        if self._smallest is None:
            self._smallest = _least(chain.from_iterable(each.least.items() for each in self.startable))
        return self._smallest

    def in_turn(self, held_back_from: datetime | None) -> Iterator[tuple[int, Workload, Assignments]]:
        """Yield the place and first workload of each class, and what those before it leave to it while they wait.

        `held_back_from`: who was queued then or before blocks those behind it; None: nobody does.
        """
        blocked: set[str] = set()
        seen: set[EquivalenceClass] = set()
        for place, (workload, each) in enumerate(zip(self.leaf.pending, self.in_order, strict=True)):
            if each.assignments is None:
                continue
            if each not in seen:
                seen.add(each)
                left = without_flavors(each.assignments, blocked)
                if left is not None:
                    yield place, workload, left
            if held_back_from is not None and workload.queued <= held_back_from:
                blocked |= each.flavors
                if self.all_blocked(blocked):
                    return

    def all_blocked(self, blocked: Set[str]) -> bool:
        """Return whether none is left that could start with the other flavors; what requests nothing needs none."""
        if self._all_flavors is None:
            self._all_flavors = frozenset([key.flavor for keys in self.smallest for key in keys])
        return () not in self.smallest and self._all_flavors <= blocked

    def class_of(self, workload: Workload) -> EquivalenceClass:
        """Return the class of this pending workload, or of any other that would wait here."""
        return self._by_workload.get(id(workload)) or self._class(workload)

    def _class(self, workload: Workload) -> EquivalenceClass:
        options = self.leaf.options(workload)
        key = (id(options), workload.priority, workload.preemptible)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = EquivalenceClass(
                options, assignments_of(workload, options, self.leaf.eligibility.flavors), workload
            )
        return found


def _in_order(assignment: FlavorAssignment) -> tuple[Keys, tuple[Amount, ...]]:
    """Return the keys that it takes, sorted, and their amounts."""
    if len(assignment.options) == 1:
        only = assignment.options[0]
        return keys_in(only.flavor, only.resources), tuple([amount for _, amount in only.quantities])
    in_order = sorted(assignment.quantities)
    return tuple([key for key, _ in in_order]), tuple([amount for _, amount in in_order])


def _least(parts: Iterable[tuple[Keys, tuple[Amount, ...]]]) -> LeastAmounts:
    """Return the least of each key's amounts, for each set of keys."""
    found: dict[Keys, list[tuple[Amount, ...]]] = {}
    for keys, amounts in parts:
        found.setdefault(keys, []).append(amounts)
    return {keys: each[0] if len(each) == 1 else tuple(map(min, *each)) for keys, each in found.items()}
