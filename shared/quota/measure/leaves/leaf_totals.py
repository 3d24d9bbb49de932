"""What one leaf uses, holds and requests of each key: the sums over its own work.

Preemptible pending work counts by shape, whatever its place. Work that is not preemptible counts in the leaf's order,
as long as it fits what is left of effectiveMin; claims come before all other work and always count.
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
    """Pending work that counts, as one leaf has it at one moment."""

    shapes: Mapping[Shape, ShapeCount]
    """Preemptible work without a claim."""
    firm: Iterable[Workload]
    """Work that is not preemptible and has no claim, in the leaf's order."""
    firm_shapes: Mapping[Shape, ShapeCount]
    """The same by shape."""
    claims: Iterable[ClaimedWorkload]


NOTHING_COUNTED: Final = CountedPending({}, (), {}, ())


def sum_leaf(
    bucket: WorkloadSet, waiting: CountedPending, chooser: FlavorEligibility
) -> dict[FlavorResource, LeafTotals]:
    """Add up the leaf's accounts; only keys of which anything is used or requested."""
    counted: dict[FlavorResource, Amount] = {}
    for shape, (number, example) in waiting.shapes.items():
        for key, amount in chooser.counted(shape, example):
            counted[key] = counted.get(key, 0) + number * amount
    _count_claims(waiting, chooser, counted)
    _count_firm(bucket, waiting, chooser, counted)
    found = {
        key: LeafTotals(used, non_preemptible, used + counted.pop(key, 0))
        for key, (used, non_preemptible) in bucket.use.items()
    }
    found.update((key, LeafTotals(request=amount)) for key, amount in counted.items())
    return found


def _count_claims(waiting: CountedPending, chooser: FlavorEligibility, counted: dict[FlavorResource, Amount]) -> None:
    for workload, flavors in waiting.claims:
        for key, amount in amounts_in(workload, flavors):
            if not chooser.covers(key):
                continue  # its quota was taken out of the group since; the claim will end
            counted[key] = counted.get(key, 0) + amount


def _count_firm(
    bucket: WorkloadSet, waiting: CountedPending, chooser: FlavorEligibility, counted: dict[FlavorResource, Amount]
) -> None:
    taken: dict[FlavorResource, Amount] = {}
    for preemptor, flavors in waiting.claims:
        if not preemptor.preemptible:
            for key, amount in amounts_in(preemptor, flavors):
                taken[key] = taken.get(key, 0) + amount
    for key, amount in _fitting_in_order(bucket, waiting, chooser, taken):
        taken[key] = taken.get(key, 0) + amount
        counted[key] = counted.get(key, 0) + amount


def _fitting_in_order(
    bucket: WorkloadSet, waiting: CountedPending, chooser: FlavorEligibility, taken: Mapping[FlavorResource, Amount]
) -> Iterator[tuple[FlavorResource, Amount]]:
    """What counts of each workload in turn; what is yielded is added to `taken` before the next one is looked at.

    A shape that does not fit will not fit later, for what is left only shrinks: the walk ends with the last shape.
    """
    open_shapes = {shape: alike.number for shape, alike in waiting.firm_shapes.items()}
    for workload in waiting.firm:
        if not open_shapes:
            return
        shape = shape_of(workload)
        if shape not in open_shapes:
            continue
        fitting = _fitting(workload, bucket, taken, chooser)
        yield from fitting
        open_shapes[shape] -= 1
        if not open_shapes[shape] or not fitting:
            del open_shapes[shape]


def _fitting(
    workload: Workload, bucket: WorkloadSet, taken: Mapping[FlavorResource, Amount], chooser: FlavorEligibility
) -> list[tuple[FlavorResource, Amount]]:
    """Every key in which `workload` fits what is left of effectiveMin; none when some set of it fits nowhere."""
    options = chooser.options(workload)
    found: list[tuple[FlavorResource, Amount]] = []
    for each in options.sets if options.could_fit else ():
        fitting: list[tuple[FlavorResource, Amount]] = []
        for flavor in each.flavors:
            keys = keys_of(workload, each, flavor)
            if all(amount <= _left(key, bucket, taken, chooser) for key, amount in keys):
                fitting.extend(keys)
        if not fitting:
            return []
        found.extend(fitting)
    return found


def _left(
    key: FlavorResource, bucket: WorkloadSet, taken: Mapping[FlavorResource, Amount], chooser: FlavorEligibility
) -> Amount:
    return chooser.promised(key) - bucket.use.get(key, KeyUse()).non_preemptible - taken.get(key, 0)


def without_preemptors(
    shapes: Mapping[Shape, ShapeCount], preemptors: Mapping[PreemptorId, Workload]
) -> Mapping[Shape, ShapeCount]:
    """`shapes` less these workloads, which are among them."""
    left = dict(shapes)
    for preemptor in preemptors.values():
        shape = shape_of(preemptor)
        number, example = left.pop(shape)
        if number > 1:
            left[shape] = ShapeCount(number - 1, example)
    return left
