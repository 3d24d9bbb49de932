"""A leaf's pending workloads by equivalence class: those of one class fit alike, so a pass evaluates only one."""

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import replace
from datetime import datetime
from itertools import chain
from typing import Final

from shared.quota.decide.state.flavor_assignment import Assignments, FlavorAssignment, assignments_of, without_flavors
from shared.quota.decide.state.usage import Keys
from shared.quota.measure.snapshot import LeafSnapshot
from shared.quota.model.eligibility import Options
from shared.quota.model.workload import Workload
from shared.resources import Amount, keys_in

_ONE_GONE_OF: Final = 8
"""For so many workloads that wait, one that is gone is kept: finding out who is gone costs a look at each."""


LeastAmounts = Mapping[Keys, tuple[Amount, ...]]
"""keys, sorted -> the least amount that is requested of each, in their order."""
AmountsOfKeys = tuple[Keys, tuple[Amount, ...]]
"""Keys, sorted, and what is requested of each, in their order."""


_NONE: Final = frozenset({""})
"""In place of the flavors of what requests nothing: no flavor has this name, so it is never blocked."""


class EquivalenceClass:
    """What the workloads of one class can take; all have one priority, or none is preemptible. Compared by identity."""

    __slots__ = ("_flavors", "_least", "assignments", "example", "is_simple", "options")

    def __init__(self, options: Options, assignments: Assignments | None, example: Workload) -> None:
        self.options = options
        """Kept alive, because classes are distinguished by its identity."""
        self.assignments = assignments
        """None: it could never start."""
        self.example = example
        """One of its workloads, which may be gone."""
        self.is_simple = assignments is None or len(assignments) == 1 or len(assignments[0].options) == 1
        """Whether it takes the first assignment that fits, where it is entitled to none; else see `borrowing_order`."""
        self._flavors: frozenset[str] | None = None
        self._least: LeastAmounts | None = None

    @property
    def least(self) -> LeastAmounts:
        """The least that any assignment requests, for each set of keys."""
        if self._least is None:
            self._least = _least(map(_in_order, self.assignments or ()))
        return self._least

    @property
    def flavors(self) -> frozenset[str]:
        """The flavors of all assignments of the class."""
        if self._flavors is None:
            self._flavors = frozenset([option.flavor for each in self.assignments or () for option in each.options])
        return self._flavors


class KnownClasses:
    """Classes of workloads that wait, or waited, in one leaf; they come to it and never go."""

    __slots__ = (
        "_by_answer",
        "_flavors",
        "_smallest",
        "_summed",
        "_united",
        "by_workload",
        "non_simple",
        "startable",
        "workloads",
    )

    def __init__(self, by_workload: dict[int, EquivalenceClass], workloads: Iterable[Workload]) -> None:
        self.by_workload = by_workload
        """identity of a workload -> its class."""
        self._by_answer: dict[tuple[int, int, bool], EquivalenceClass] = {}
        self.workloads = list(workloads)
        """Kept alive, because their classes are found by their identity."""
        self.startable: list[EquivalenceClass] = []
        """The classes that could start."""
        self._smallest: LeastAmounts = {}
        self._summed = 0
        """How many of `startable` are in `_smallest`."""
        self._flavors: set[str] = set()
        self._united = 0
        """How many of `startable` are in `_flavors`."""
        self.non_simple = 0
        """How many assignments those of them have that are not simple."""
        self._add(set(by_workload.values()))

    def add_pending(self, leaf: LeafSnapshot) -> None:
        """Find the class of each workload that waits in this leaf."""
        known = self.by_workload
        for workload in leaf.pending:
            if id(workload) not in known:
                known[id(workload)] = self.find(workload, leaf)
                self.workloads.append(workload)

    def find(self, workload: Workload, leaf: LeafSnapshot) -> EquivalenceClass:
        """Return the class of a workload that would wait in this leaf."""
        options = leaf.options(workload)
        found = self._by_answer.get((id(options), workload.priority, workload.preemptible))
        if found is None:
            assignments = assignments_of(workload, options, leaf.eligibility.flavors)
            found = EquivalenceClass(options, assignments, workload)
            self._add((found,))
        return found

    def _add(self, classes: Iterable[EquivalenceClass]) -> None:
        for each in classes:
            self._by_answer[id(each.options), each.example.priority, each.example.preemptible] = each
            if each.assignments is not None:
                self.startable.append(each)
                self.non_simple += 0 if each.is_simple else len(each.assignments)

    @property
    def smallest(self) -> LeastAmounts:
        """The least amounts that any of these requests, for each set of keys. If none of these fits, nothing does.

        cpu 4, gpu 1 and cpu 2, gpu 8 give cpu 2, gpu 1.
        """
        if self._summed < len(self.startable):
            self._smallest = _least(chain(self._smallest.items(), _least_of(self.startable[self._summed :])))
            self._summed = len(self.startable)
        return self._smallest

    def all_blocked(self, blocked: Set[str]) -> bool:
        """Return whether none is left that could start with the other flavors; what requests nothing needs none."""
        if self._united < len(self.startable):
            self._flavors.update(*[each.flavors or _NONE for each in self.startable[self._united :]])
            self._united = len(self.startable)
        return self._flavors <= blocked


class EquivalenceClasses:
    """The class of each of one leaf's pending workloads."""

    __slots__ = ("known", "leaf")

    def __init__(self, leaf: LeafSnapshot, previous: "EquivalenceClasses | None" = None) -> None:
        """`previous`: the classes of an earlier state of the leaf, which are taken over if they are still valid."""
        self.leaf: LeafSnapshot = leaf
        self.known: KnownClasses
        """Has the workloads, and where very many wait some that are gone: what it says of all is a bound."""
        if previous is None or previous.leaf.eligibility.alike is not leaf.eligibility.alike:
            self.known = KnownClasses({}, ())
        else:
            self.known = previous.known
            if previous.leaf.pending is leaf.pending:
                return
        self.known.add_pending(leaf)
        if len(self.known.workloads) - len(leaf.pending) > len(leaf.pending) // _ONE_GONE_OF:
            self.known = KnownClasses(dict(zip(map(id, leaf.pending), self.in_order, strict=True)), leaf.pending)

    def only(self, workloads: Iterable[Workload]) -> "EquivalenceClasses":
        """Return the classes of those of these workloads that have one, without all that is known of others."""
        known = [each for each in workloads if id(each) in self.known.by_workload]
        found = EquivalenceClasses(replace(self.leaf, pending=()))
        found.leaf = replace(self.leaf, pending=tuple(known))
        found.known = KnownClasses({id(each): self.known.by_workload[id(each)] for each in known}, known)
        return found

    @property
    def in_order(self) -> Iterator[EquivalenceClass]:
        """The class of each workload, in the order of `leaf.pending`."""
        return map(self.known.by_workload.__getitem__, map(id, self.leaf.pending))

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
                if self.known.all_blocked(blocked):
                    return

    def class_of(self, workload: Workload) -> EquivalenceClass:
        """Return the class of this pending workload, or of any other that would wait here."""
        return self.known.by_workload.get(id(workload)) or self.known.find(workload, self.leaf)


def _least_of(classes: Iterable[EquivalenceClass]) -> Iterator[AmountsOfKeys]:
    """Yield the least amounts of these classes, for each set of keys that some assignment takes.

    Classes of one set of resources mostly have the same flavors: their amounts are compared once for all of these.
    """
    alike: dict[tuple[tuple[str, ...], tuple[str, ...]], list[tuple[Amount, ...]]] = {}
    for each in classes:
        sets = each.options.sets
        if len(sets) == 1 and each.options.together is None:
            alike.setdefault((sets[0].flavors, sets[0].resources), []).append(sets[0].amounts)
        else:
            yield from each.least.items()
    for (flavors, resources), amounts in alike.items():
        least = amounts[0] if len(amounts) == 1 else tuple(map(min, *amounts))
        yield from ((keys_in(flavor, resources), least) for flavor in flavors)


def _in_order(assignment: FlavorAssignment) -> AmountsOfKeys:
    if len(assignment.options) == 1:
        only = assignment.options[0]
        return keys_in(only.flavor, only.resources), tuple([amount for _, amount in only.quantities])
    in_order = sorted(assignment.quantities)
    return tuple([key for key, _ in in_order]), tuple([amount for _, amount in in_order])


def _least(parts: Iterable[AmountsOfKeys]) -> LeastAmounts:
    """Return the least of each key's amounts, for each set of keys."""
    found: dict[Keys, list[tuple[Amount, ...]]] = {}
    for keys, amounts in parts:
        found.setdefault(keys, []).append(amounts)
    return {keys: each[0] if len(each) == 1 else tuple(map(min, *each)) for keys, each in found.items()}
