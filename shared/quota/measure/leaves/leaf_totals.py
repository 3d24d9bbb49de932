"""What one leaf uses and requests of each key: the sums over its own workloads.

Preemptible pending workloads count by shape, whatever their position. Those that are not preemptible count in the
leaf's order, as long as each fits what is left of effectiveMin; claims are counted first, and always.

See docs/specification.md §3.4.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Final, NamedTuple

from shared.quota.measure.inputs.shapes import NO_SHAPES, Shapes
from shared.quota.measure.inputs.workload_set import NO_USE, WorkloadSet, amounts_in
from shared.quota.measure.static.flavor_eligibility import FlavorEligibility, keys_of
from shared.quota.measure.static.pod_set_choices import Counted, most_of, totals_of_each
from shared.quota.model.eligibility import shape_of
from shared.quota.model.workload import Flavors, Workload
from shared.resources import Amount, FlavorResource


class LeafTotals(NamedTuple):
    """What the workloads of one leaf use and request of one key."""

    used: Amount = 0
    non_preemptible: Amount = 0
    request: Amount = 0
    waiting_since: datetime | None = None
    """When the oldest of the pending workloads that count was queued."""


NO_TOTALS: Final = LeafTotals()
TotalsByKey = Mapping[FlavorResource, LeafTotals]


class ClaimedWorkload(NamedTuple):
    """A pending workload and the flavors that its claim names."""

    workload: Workload
    flavors: Flavors


class CountedPending(NamedTuple):
    """The pending workloads of one leaf that count at one moment."""

    shapes: Shapes
    """Preemptible workloads without a claim."""
    non_preemptible: Iterable[Workload]
    """Workloads that are not preemptible and have no claim, in the leaf's order."""
    non_preemptible_shapes: Shapes
    """How many of `non_preemptible` there are of each shape."""
    claims: Iterable[ClaimedWorkload]


NOTHING_COUNTED: Final = CountedPending(NO_SHAPES, (), NO_SHAPES, ())


def sum_leaf(
    workload_set: WorkloadSet, waiting: CountedPending, eligibility: FlavorEligibility
) -> dict[FlavorResource, LeafTotals]:
    """Sum the leaf's totals; only keys of which anything is used or requested."""
    counted = _Counted()
    for keys, amounts, oldest in eligibility.counted_in(waiting.shapes):
        for of_amount, amount in zip(keys, amounts, strict=True):
            for key in of_amount:
                counted.add(key, amount, oldest)
    _count_claims(waiting, eligibility, counted)
    _count_non_preemptible(workload_set, waiting, eligibility, counted)
    found = {}
    for key in workload_set.use.keys() | counted.amounts.keys():
        used, non_preemptible = workload_set.use.get(key, NO_USE)
        request = used + counted.amounts.get(key, 0)
        found[key] = LeafTotals(used, non_preemptible, request, counted.oldest.get(key))
    return found


class _Counted:
    """Adds up what pending workloads count of each key, and remembers when the oldest of them was queued."""

    def __init__(self) -> None:
        self.amounts: dict[FlavorResource, Amount] = {}
        self.oldest: dict[FlavorResource, datetime] = {}

    def add(self, key: FlavorResource, amount: Amount, queued: datetime) -> None:
        """Count `amount` of workloads of which the oldest was queued then."""
        self.amounts[key] = self.amounts.get(key, 0) + amount
        oldest = self.oldest.get(key)
        if oldest is None or queued < oldest:
            self.oldest[key] = queued


def _count_claims(waiting: CountedPending, eligibility: FlavorEligibility, counted: _Counted) -> None:
    for workload, flavors in waiting.claims:
        for key, amount in amounts_in(workload, flavors):
            if not eligibility.covers(key):
                continue  # the group no longer covers this key; the claim will end
            counted.add(key, amount, workload.queued)


def _count_non_preemptible(
    workload_set: WorkloadSet, waiting: CountedPending, eligibility: FlavorEligibility, counted: _Counted
) -> None:
    taken: dict[FlavorResource, Amount] = {}
    for preemptor, flavors in waiting.claims:
        if not preemptor.preemptible:
            for key, amount in amounts_in(preemptor, flavors):
                taken[key] = taken.get(key, 0) + amount
    for workload, fitting in _fitting_in_order(workload_set, waiting, eligibility, taken):
        for key, amount in fitting:
            taken[key] = taken.get(key, 0) + amount
            counted.add(key, amount, workload.queued)


def _fitting_in_order(
    workload_set: WorkloadSet,
    waiting: CountedPending,
    eligibility: FlavorEligibility,
    taken: Mapping[FlavorResource, Amount],
) -> Iterator[tuple[Workload, Counted]]:
    """Yield what counts of each workload in turn; the caller adds it to `taken` before the next workload is checked.

    A shape that does not fit will not fit later, because what is left only shrinks: the loop ends with the last shape.
    """
    open_shapes = {shape: alike.number for shape, alike in waiting.non_preemptible_shapes.items()}
    for workload in waiting.non_preemptible:
        if not open_shapes:
            return
        shape = shape_of(workload)
        if shape not in open_shapes:
            continue
        fitting = _fitting(workload, workload_set, taken, eligibility)
        yield workload, fitting
        open_shapes[shape] -= 1
        if not open_shapes[shape] or not fitting:
            del open_shapes[shape]


def _fitting(
    workload: Workload,
    workload_set: WorkloadSet,
    taken: Mapping[FlavorResource, Amount],
    eligibility: FlavorEligibility,
) -> Counted:
    """Every key in which `workload` fits what is left of effectiveMin; none when one of its sets fits nowhere."""
    options = eligibility.options(workload)
    if options.together is not None:
        each_total = totals_of_each(options.sets, options.together) if options.could_fit else ()
        return most_of(
            total
            for total in each_total
            if all(amount <= _left(key, workload_set, taken, eligibility) for key, amount in total)
        )
    found: list[tuple[FlavorResource, Amount]] = []
    for each in options.sets if options.could_fit else ():
        fitting: list[tuple[FlavorResource, Amount]] = []
        for flavor in each.flavors:
            keys = keys_of(each, flavor)
            if all(amount <= _left(key, workload_set, taken, eligibility) for key, amount in keys):
                fitting.extend(keys)
        if not fitting:
            return ()
        found.extend(fitting)
    return tuple(found)


def _left(
    key: FlavorResource,
    workload_set: WorkloadSet,
    taken: Mapping[FlavorResource, Amount],
    eligibility: FlavorEligibility,
) -> Amount:
    return eligibility.effective_min(key) - workload_set.use.get(key, NO_USE).non_preemptible - taken.get(key, 0)
