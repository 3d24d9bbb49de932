"""What one leaf uses and requests of each key: the sums over its own workloads.

Preemptible pending workloads count by shape, whatever their position. Those that are not preemptible count in the
leaf's order, as long as each fits what is left of effectiveMin; claims are counted first, and always.

See docs/specification.md §3.4.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from shared.quota.measure.inputs.workload_set import KeyUse, ShapeCount, WorkloadSet, amounts_in
from shared.quota.measure.static.flavor_eligibility import FlavorEligibility, keys_of
from shared.quota.model.eligibility import Shape, shape_of
from shared.quota.model.workload import Flavors, PreemptorId, Workload
from shared.resources import Amount, FlavorResource


class LeafTotals(NamedTuple):
    """One key of one leaf."""

    used: Amount = 0
    non_preemptible: Amount = 0
    request: Amount = 0


NO_TOTALS: Final = LeafTotals()
TotalsByKey = Mapping[FlavorResource, LeafTotals]


class ClaimedWorkload(NamedTuple):
    """A pending workload and the flavors that its claim names."""

    workload: Workload
    flavors: Flavors


class CountedPending(NamedTuple):
    """The pending workloads of one leaf that count at one moment."""

    shapes: Mapping[Shape, ShapeCount]
    """Preemptible workloads without a claim."""
    non_preemptible: Iterable[Workload]
    """Workloads that are not preemptible and have no claim, in the leaf's order."""
    non_preemptible_shapes: Mapping[Shape, ShapeCount]
    """The same by shape."""
    claims: Iterable[ClaimedWorkload]


NOTHING_COUNTED: Final = CountedPending({}, (), {}, ())


def sum_leaf(
    workload_set: WorkloadSet, waiting: CountedPending, eligibility: FlavorEligibility
) -> dict[FlavorResource, LeafTotals]:
    """Sum the leaf's totals; only keys of which anything is used or requested."""
    counted: dict[FlavorResource, Amount] = {}
    for shape, (number, example) in waiting.shapes.items():
        for key, amount in eligibility.counted(shape, example):
            counted[key] = counted.get(key, 0) + number * amount
    _count_claims(waiting, eligibility, counted)
    _count_non_preemptible(workload_set, waiting, eligibility, counted)
    found = {
        key: LeafTotals(used, non_preemptible, used + counted.pop(key, 0))
        for key, (used, non_preemptible) in workload_set.use.items()
    }
    found.update((key, LeafTotals(request=amount)) for key, amount in counted.items())
    return found


def _count_claims(
    waiting: CountedPending, eligibility: FlavorEligibility, counted: dict[FlavorResource, Amount]
) -> None:
    for workload, flavors in waiting.claims:
        for key, amount in amounts_in(workload, flavors):
            if not eligibility.covers(key):
                continue  # the group no longer covers this key; the claim will end
            counted[key] = counted.get(key, 0) + amount


def _count_non_preemptible(
    workload_set: WorkloadSet,
    waiting: CountedPending,
    eligibility: FlavorEligibility,
    counted: dict[FlavorResource, Amount],
) -> None:
    taken: dict[FlavorResource, Amount] = {}
    for preemptor, flavors in waiting.claims:
        if not preemptor.preemptible:
            for key, amount in amounts_in(preemptor, flavors):
                taken[key] = taken.get(key, 0) + amount
    for key, amount in _fitting_in_order(workload_set, waiting, eligibility, taken):
        taken[key] = taken.get(key, 0) + amount
        counted[key] = counted.get(key, 0) + amount


def _fitting_in_order(
    workload_set: WorkloadSet,
    waiting: CountedPending,
    eligibility: FlavorEligibility,
    taken: Mapping[FlavorResource, Amount],
) -> Iterator[tuple[FlavorResource, Amount]]:
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
        yield from fitting
        open_shapes[shape] -= 1
        if not open_shapes[shape] or not fitting:
            del open_shapes[shape]


def _fitting(
    workload: Workload,
    workload_set: WorkloadSet,
    taken: Mapping[FlavorResource, Amount],
    eligibility: FlavorEligibility,
) -> list[tuple[FlavorResource, Amount]]:
    """Every key in which `workload` fits what is left of effectiveMin; none when one of its sets fits nowhere."""
    options = eligibility.options(workload)
    found: list[tuple[FlavorResource, Amount]] = []
    for each in options.sets if options.could_fit else ():
        fitting: list[tuple[FlavorResource, Amount]] = []
        for flavor in each.flavors:
            keys = keys_of(workload, each, flavor)
            if all(amount <= _left(key, workload_set, taken, eligibility) for key, amount in keys):
                fitting.extend(keys)
        if not fitting:
            return []
        found.extend(fitting)
    return found


def _left(
    key: FlavorResource,
    workload_set: WorkloadSet,
    taken: Mapping[FlavorResource, Amount],
    eligibility: FlavorEligibility,
) -> Amount:
    return eligibility.effective_min(key) - workload_set.use.get(key, KeyUse()).non_preemptible - taken.get(key, 0)


def without_preemptors(
    shapes: Mapping[Shape, ShapeCount], preemptors: Mapping[PreemptorId, Workload]
) -> Mapping[Shape, ShapeCount]:
    """Return `shapes` without these workloads, which are among them."""
    left = dict(shapes)
    for preemptor in preemptors.values():
        shape = shape_of(preemptor)
        number, example = left.pop(shape)
        if number > 1:
            left[shape] = ShapeCount(number - 1, example)
    return left
