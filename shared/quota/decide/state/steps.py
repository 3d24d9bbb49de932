"""Which workload of a leaf borrows first, for any room: computed from the leaf alone, without evaluating its queue.

A queue is reduced to steps: a workload that needs no less than an earlier one is never the first that fits.

    Queue: 4 cpu; 8 cpu; 2 cpu; 3 cpu. Steps: 4 cpu; 2 cpu. With room for 3 cpu the third workload comes first.

The steps hold while nothing in the leaf has changed and none of its workloads is entitled: then whatever fits starts.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import datetime
from functools import lru_cache
from operator import attrgetter, le
from typing import Final, NamedTuple

from shared.api.durations import later
from shared.quota.decide.state.equivalence import EquivalenceClasses
from shared.quota.decide.state.flavor_assignment import Assignments, FlavorAssignment, FlavorChoice, borrowing_order
from shared.quota.decide.state.leaf_usage import LeafUsage
from shared.quota.decide.state.usage import Keys
from shared.quota.measure.group_usage import NO_NUMBERS, GroupNumbers, Numbers
from shared.quota.measure.snapshot import LeafSnapshot
from shared.quota.model.settings import ReclaimMode
from shared.quota.model.workload import Workload
from shared.resources import Amount, FlavorResource

KeyAmounts = tuple[Amount, ...]
"""What must be available below a leaf's parent, in the order of the keys."""


class QueueStep(NamedTuple):
    """A workload in one flavor assignment, and what must be available for it below the leaf's parent."""

    place: int
    """The order of the steps: first that of the queue, then each workload's order of its assignments."""
    queue_place: int
    """The place of the workload in its leaf's queue."""
    keys: Keys
    needs: KeyAmounts
    beyond_min: bool
    """Whether it takes its leaf's used beyond effectiveMin."""
    assignment: FlavorAssignment
    """Says in which flavors the workload starts."""


class StepsOfKeys(NamedTuple):
    """The steps of one leaf that take the same keys."""

    keys: Keys
    least: KeyAmounts
    """The least that any of the steps needs of each key."""
    beyond_min: Set[bool] = frozenset()
    """What the steps say of that: some can be within effectiveMin, and some beyond."""
    steps: Sequence[QueueStep] = ()


LeastNeeds = Sequence[StepsOfKeys]
"""What is needed at least, for each set of keys: where none of that fits, nothing does."""


class Steps(NamedTuple):
    """The steps of one leaf."""

    by_keys: LeastNeeds
    """Follows the order of their first steps."""
    until: datetime | None
    """From this moment on more workloads hold back those behind them; None: never."""


class StepsBelow(NamedTuple):
    """The steps of leaves below one parent, merged: a bound for each of the leaves."""

    by_keys: LeastNeeds
    leaves: Set[str]
    until: datetime | None
    """From this moment on the steps of one of the leaves do not hold; None: never."""


_MOST_ASSIGNMENTS: Final = 4096
"""A leaf with more assignments than this has no steps: evaluating its queue looks at few of them."""


def has_steps(leaf: LeafSnapshot, classes: EquivalenceClasses) -> bool:
    """Return whether the first workload that fits is the first that starts, in a known order of its assignments."""
    if leaf.evicting or leaf.claims or leaf.reclaim.mode is ReclaimMode.STRICT:
        return False
    return classes.known.non_simple <= _MOST_ASSIGNMENTS


class _Limits(NamedTuple):
    """What one leaf can take of a key."""

    margin: Amount
    """What is left up to its ceiling."""
    kept: Amount
    """What its guarantee keeps of what it does not use: that need not be available below its parent."""
    within_min: Amount
    """What is left up to effectiveMin."""
    promised: Amount
    """What is left up to effectiveMin for workloads that are not preemptible."""


def _limits(numbers: Numbers) -> _Limits:
    return _Limits(
        numbers.ceiling - numbers.charge,
        numbers.kept_idle,
        numbers.effective_min - numbers.used,
        numbers.effective_min - numbers.non_preemptible,
    )


_NO_LIMITS: Final = _limits(NO_NUMBERS)


def compute_steps(classes: EquivalenceClasses, numbers: GroupNumbers, now: datetime) -> Steps:
    """Return the steps of this leaf."""
    found: dict[Keys, list[QueueStep]] = {}
    limits = {key: _limits(each) for key, each in numbers.items()}
    place, held_back_from = 0, classes.leaf.held_back_from(now)
    order = _Orders(classes, numbers)
    for queue_place, workload, assignments in classes.in_turn(held_back_from):
        for each in order.of(workload, assignments):
            place += 1
            step = _step((place, queue_place), workload, each, limits)
            if step is None:
                continue
            earlier = found.setdefault(step.keys, [])
            if not any(all(map(le, other.needs, step.needs)) for other in earlier):
                earlier.append(step)
    by_keys = [
        StepsOfKeys(
            keys, _least(map(attrgetter("needs"), steps)), frozenset(map(attrgetter("beyond_min"), steps)), steps
        )
        for keys, steps in found.items()
    ]
    return Steps(by_keys, _until(classes.leaf, held_back_from))


class _Orders:
    """The order in which the workloads of one leaf, none of which is entitled, take the assignments that fit."""

    def __init__(self, classes: EquivalenceClasses, numbers: GroupNumbers) -> None:
        self._classes = classes
        self._usage = LeafUsage(classes.leaf, numbers)

    def of(self, workload: Workload, assignments: Assignments) -> Sequence[FlavorAssignment]:
        """Return the assignments, in the order in which this workload tries them."""
        if self._classes.class_of(workload).is_simple:
            return assignments

        def is_entitled(option: FlavorChoice) -> bool:
            return self._usage.entitles(option.quantities, workload)

        return borrowing_order(assignments, self._classes.leaf.group, is_entitled)


def _until(leaf: LeafSnapshot, held_back_from: datetime | None) -> datetime | None:
    if held_back_from is None or leaf.patience is None:
        return None
    first = min((each.queued for each in leaf.pending if each.queued > held_back_from), default=None)
    return None if first is None else later(first, leaf.patience)


def _step(
    places: tuple[int, int], workload: Workload, assignment: FlavorAssignment, limits: Mapping[FlavorResource, _Limits]
) -> QueueStep | None:
    """Return the step of this workload in one assignment; None if a limit of its own leaf keeps it from that."""
    needs, keys, beyond_min = [], [], False
    for key, amount in sorted(assignment.quantities):
        margin, kept, within_min, promised = limits.get(key, _NO_LIMITS)
        if amount > margin or (amount > promised and not workload.preemptible):
            return None
        beyond_min = beyond_min or amount > within_min
        needs.append(max(0, amount - kept))
        keys.append(key)
    return QueueStep(*places, _shared(tuple(keys)), tuple(needs), beyond_min, assignment)


@lru_cache(maxsize=1024)
def _shared(keys: Keys) -> Keys:
    """Return one object for equal keys: the steps of all leaves then lie closer together in memory."""
    return keys


def is_within(needs: KeyAmounts, room: Mapping[FlavorResource, Amount], keys: Keys) -> bool:
    """Return whether there is room for all that these keys need; behind one with too little, no key is read."""
    return all(map(le, needs, map(room.__getitem__, keys)))


def _least(needs: Iterable[KeyAmounts]) -> KeyAmounts:
    return tuple(map(min, zip(*needs, strict=True)))


def merge_steps(by_leaf: Mapping[str, Steps]) -> StepsBelow:
    """Return the steps of these leaves, as a bound for all of them."""
    found: dict[Keys, list[StepsOfKeys]] = {}
    for steps in by_leaf.values():
        for each in steps.by_keys:
            found.setdefault(each.keys, []).append(each)
    merged = []
    for keys, own in found.items():
        beyond_min = frozenset[bool]().union(*map(attrgetter("beyond_min"), own))
        merged.append(StepsOfKeys(keys, _least(map(attrgetter("least"), own)), beyond_min))
    ends = [steps.until for steps in by_leaf.values() if steps.until is not None]
    return StepsBelow(merged, by_leaf.keys(), min(ends, default=None))


def least_needs(classes: EquivalenceClasses, numbers: GroupNumbers) -> LeastNeeds:
    """Return the least that any workload of this leaf needs below the leaf's parent, also of those held back."""
    kept = {key: each.kept_idle for key, each in numbers.items()}
    return [
        StepsOfKeys(keys, tuple([max(0, each - kept.get(key, 0)) for key, each in zip(keys, amounts, strict=True)]))
        for keys, amounts in classes.known.smallest.items()
    ]


def first_within(steps: Steps, room: Mapping[FlavorResource, Amount], first_place: int = 0) -> QueueStep | None:
    """Return the first step that fits. `room`: what is available below the parent, by key.

    `first_place`: workloads before that place of the queue are left out.
    """
    first: QueueStep | None = None
    for keys, least, _, of_keys in steps.by_keys:
        if first is not None and first.place < of_keys[0].place:
            break
        if all(map(le, least, map(room.__getitem__, keys))):  # `is_within` without the call, which costs as much again
            available = [room[key] for key in keys]
            for step in of_keys:
                if step.queue_place >= first_place and all(map(le, step.needs, available)):
                    if first is None or step.place < first.place:
                        first = step
                    break
    return first
