"""Which workload of a leaf could borrow first, for any room: known without evaluating the leaf's queue.

Holds for a leaf that its round has not changed: there, whatever fits starts. The queue is reduced to steps; a workload
that needs no less than one before it is never the first that fits.

    Queue: 4 cpu; 8 cpu; 2 cpu; 3 cpu. Steps: 4 cpu; 2 cpu. With 3 cpu available the third workload comes first.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import datetime
from typing import Final, NamedTuple

from shared.api.durations import later
from shared.quota.decide.state.equivalence import EquivalenceClasses
from shared.quota.decide.state.flavor_assignment import Assignments, FlavorAssignment, FlavorChoice, borrowing_order
from shared.quota.decide.state.leaf_usage import LeafUsage
from shared.quota.decide.state.usage import Keys, Quantities
from shared.quota.measure.group_usage import GroupNumbers, Numbers
from shared.quota.measure.snapshot import LeafSnapshot
from shared.quota.model.settings import ReclaimMode
from shared.quota.model.workload import Workload
from shared.resources import Amount, FlavorResource

Rooms = dict[Keys, tuple[Amount, ...]]


class FirstFit(NamedTuple):
    """A workload in one flavor assignment, and what must be available for it below the leaf's parent."""

    place: int
    """The steps' order: that of the queue, and of each workload's preference."""
    queue_place: int
    """Of the workload, in its leaf's queue."""
    keys: Keys
    needs: tuple[Amount, ...]
    """In the order of the keys."""
    quantities: Quantities
    """Of the workload, in the order of its assignment."""
    beyond_min: bool
    """Whether it takes its leaf's used beyond effectiveMin."""
    queued: datetime


class FirstFits(NamedTuple):
    """The steps of one leaf in order, by what they take; and the least that any of them needs."""

    steps: Mapping[Keys, Sequence[FirstFit]]
    least: Rooms
    within_min: Set[Keys]
    """What is taken by steps that keep their leaf's used within effectiveMin."""
    oldest: Mapping[Keys, datetime]
    """When the first workload of the steps was queued."""
    until: datetime | None
    """From then on, more workloads hold back those behind them; None: no more of them will."""


_NOTHING: Final = (0, 0, 0, 0)
_MOST_ASSIGNMENTS: Final = 4096
"""With more of them in one leaf, its queue is evaluated: that looks at few of them."""


def is_predictable(leaf: LeafSnapshot, classes: EquivalenceClasses) -> bool:
    """Whether the first workload that fits is the first that starts, in an order of its assignments that is known."""
    if leaf.evicting or leaf.claims or leaf.reclaim.mode is ReclaimMode.STRICT:
        return False
    several = sum(len(each.assignments or ()) for each in classes.startable if not each.is_simple)
    return several <= _MOST_ASSIGNMENTS


class _Limits(NamedTuple):
    """What one leaf can take of a key."""

    margin: Amount
    """Up to its ceiling."""
    kept: Amount
    """Of what its guarantee keeps, what it does not use: that need not be available below its parent."""
    within_min: Amount
    """Up to effectiveMin."""
    promised: Amount
    """Up to effectiveMin, for workloads that are not preemptible."""


def _limits(numbers: Numbers) -> _Limits:
    return _Limits(
        numbers.ceiling - numbers.charge,
        max(0, min(numbers.guarantee, numbers.runtime) - numbers.charge),
        numbers.effective_min - numbers.used,
        numbers.effective_min - numbers.non_preemptible,
    )


def first_fits(classes: EquivalenceClasses, numbers: GroupNumbers, now: datetime) -> FirstFits:
    """Return the steps of this leaf."""
    found: dict[Keys, list[FirstFit]] = {}
    limits = {key: _limits(each) for key, each in numbers.items()}
    place, held_back_from = 0, classes.leaf.held_back_from(now)
    order = _Orders(classes, numbers)
    for queue_place, workload, assignments in classes.in_turn(held_back_from):
        for each in order.of(workload, assignments):
            place += 1
            step = _step((place, queue_place), workload, each.quantities, limits)
            if step is not None and not _is_reached(found.get(step.keys, ()), step):
                found.setdefault(step.keys, []).append(step)
    least = {keys: least_of([step.needs for step in steps]) for keys, steps in found.items()}
    within = {keys for keys, steps in found.items() if not all(each.beyond_min for each in steps)}
    oldest = {keys: min([each.queued for each in steps]) for keys, steps in found.items()}
    return FirstFits(found, least, within, oldest, _until(classes.leaf, held_back_from))


class _Orders:
    """In which order the workloads of one leaf, none of which is entitled, take what fits."""

    def __init__(self, classes: EquivalenceClasses, numbers: GroupNumbers) -> None:
        self._classes = classes
        self._usage = LeafUsage(classes.leaf, numbers)

    def of(self, workload: Workload, assignments: Assignments) -> Sequence[FlavorAssignment]:
        """Return the assignments, in the order in which this workload tries them."""
        if self._classes.kind_of(workload).is_simple:
            return assignments

        def is_entitled(option: FlavorChoice) -> bool:
            usage = self._usage
            return usage.may_hold(option.quantities, workload) and usage.is_entitled(option.quantities, workload)

        return borrowing_order(assignments, self._classes.leaf.group, is_entitled)


def _until(leaf: LeafSnapshot, held_back_from: datetime | None) -> datetime | None:
    if held_back_from is None or leaf.patience is None:
        return None
    patient = (each.queued for each in leaf.pending if each.queued > held_back_from)
    return min((later(queued, leaf.patience) for queued in patient), default=None)


def _step(
    places: tuple[int, int], workload: Workload, quantities: Quantities, limits: Mapping[FlavorResource, _Limits]
) -> FirstFit | None:
    """Return the step of this workload in one assignment; None if a limit of its own leaf keeps it from that."""
    needs, keys, beyond_min = [], [], False
    for key, amount in sorted(quantities):
        margin, kept, within_min, promised = limits.get(key, _NOTHING)
        if amount > margin or (amount > promised and not workload.preemptible):
            return None
        beyond_min = beyond_min or amount > within_min
        needs.append(max(0, amount - kept))
        keys.append(key)
    return FirstFit(*places, tuple(keys), tuple(needs), quantities, beyond_min, workload.queued)


def _is_reached(earlier: Iterable[FirstFit], step: FirstFit) -> bool:
    """Return whether one before it needs no more of anything."""
    return is_one_within((each.needs for each in earlier), step.needs)


def is_one_within(needs: Iterable[tuple[Amount, ...]], room: tuple[Amount, ...]) -> bool:
    """Return whether there is room for one of them."""
    for each in needs:
        for amount, available in zip(each, room):  # noqa: B905 - as in `first_within`
            if amount > available:
                break
        else:
            return True
    return False


def least_of(needs: Sequence[tuple[Amount, ...]]) -> tuple[Amount, ...]:
    """Return the least need of each key; there is at least one."""
    return tuple(map(min, zip(*needs, strict=True)))


def first_within(fits: FirstFits, rooms: Rooms) -> FirstFit | None:
    """Return the first step for which there is room; `rooms` has what is available, by what steps take."""
    first: FirstFit | None = None
    for keys, room in rooms.items():
        for step in fits.steps.get(keys, ()):
            # Not a function: most of a plan's time is spent here.
            for amount, available in zip(step.needs, room):  # noqa: B905
                if amount > available:
                    break
            else:
                if first is None or step.place < first.place:
                    first = step
                break
    return first
