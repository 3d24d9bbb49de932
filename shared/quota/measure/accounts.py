"""What one leaf uses, holds and requests of each key: the sums over its own work.

Preemptible pending work counts by shape, whatever its place. Work that is not preemptible counts in the leaf's order,
as long as it fits what is left of effectiveMin; claims come before all other work and always count.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from shared.quota.measure.buckets import Alike, Bucket, Use, amounts_in
from shared.quota.measure.choosing import Chooser, keys_of
from shared.quota.model.eligibility import Shape, shape_of
from shared.quota.model.workload import AskerId, Flavors, Workload
from shared.resources import Amount, FlavorResource


class Account(NamedTuple):
    """One key of one leaf."""

    used: Amount = 0
    held: Amount = 0
    request: Amount = 0


NO_ACCOUNT: Final = Account()
Tally = Mapping[FlavorResource, Account]


class Asking(NamedTuple):
    """A pending workload and the flavors that its claim names."""

    workload: Workload
    flavors: Flavors


class Waiting(NamedTuple):
    """Pending work that counts, as one leaf has it at one moment."""

    shapes: Mapping[Shape, Alike]
    """Preemptible work without a claim."""
    firm: Iterable[Workload]
    """Work that is not preemptible and has no claim, in the leaf's order."""
    firm_shapes: Mapping[Shape, Alike]
    """The same by shape."""
    claims: Iterable[Asking]


NOTHING_WAITS: Final = Waiting({}, (), {}, ())


def tally(bucket: Bucket, waiting: Waiting, chooser: Chooser) -> dict[FlavorResource, Account]:
    """Add up the leaf's accounts; only keys of which anything is used or requested."""
    counted: dict[FlavorResource, Amount] = {}
    for shape, (number, example) in waiting.shapes.items():
        for key, amount in chooser.counted(shape, example):
            counted[key] = counted.get(key, 0) + number * amount
    _count_claims(waiting, chooser, counted)
    _count_firm(bucket, waiting, chooser, counted)
    found = {key: Account(used, held, used + counted.pop(key, 0)) for key, (used, held) in bucket.use.items()}
    found.update((key, Account(request=amount)) for key, amount in counted.items())
    return found


def _count_claims(waiting: Waiting, chooser: Chooser, counted: dict[FlavorResource, Amount]) -> None:
    for workload, flavors in waiting.claims:
        for key, amount in amounts_in(workload, flavors):
            if not chooser.covers(key):
                continue  # its quota was taken out of the group since; the claim will end
            counted[key] = counted.get(key, 0) + amount


def _count_firm(bucket: Bucket, waiting: Waiting, chooser: Chooser, counted: dict[FlavorResource, Amount]) -> None:
    taken: dict[FlavorResource, Amount] = {}
    for asker, flavors in waiting.claims:
        if not asker.preemptible:
            for key, amount in amounts_in(asker, flavors):
                taken[key] = taken.get(key, 0) + amount
    for key, amount in _fitting_in_order(bucket, waiting, chooser, taken):
        taken[key] = taken.get(key, 0) + amount
        counted[key] = counted.get(key, 0) + amount


def _fitting_in_order(
    bucket: Bucket, waiting: Waiting, chooser: Chooser, taken: Mapping[FlavorResource, Amount]
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
    workload: Workload, bucket: Bucket, taken: Mapping[FlavorResource, Amount], chooser: Chooser
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


def _left(key: FlavorResource, bucket: Bucket, taken: Mapping[FlavorResource, Amount], chooser: Chooser) -> Amount:
    return chooser.promised(key) - bucket.use.get(key, Use()).held - taken.get(key, 0)


def without_askers(shapes: Mapping[Shape, Alike], askers: Mapping[AskerId, Workload]) -> Mapping[Shape, Alike]:
    """`shapes` less these workloads, which are among them."""
    left = dict(shapes)
    for asker in askers.values():
        shape = shape_of(asker)
        number, example = left.pop(shape)
        if number > 1:
            left[shape] = Alike(number - 1, example)
    return left
