"""Why a workload could never start in its leaf: no flavor may serve it, or it is too large for those that may.

What no number changes comes first: NeverFits, with the missing amount, is said only where that amount would do.

See docs/specification.md §9.2.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Final, NamedTuple

from shared.api.names import MAIN_POD_SET
from shared.quota.decide.decisions import WaitReason
from shared.quota.measure.group_usage import NO_NUMBERS
from shared.quota.measure.snapshot import LeafSnapshot, Snapshot
from shared.quota.measure.static.pod_set_choices import MOST_ASSIGNMENTS, agrees, totals
from shared.quota.model.eligibility import FlavorSet, codependent_sets, why_not
from shared.quota.model.node import NodeShortage
from shared.quota.model.workload import Workload
from shared.quota.outlook.explain.shortage import Shortage, below_node, worst
from shared.resources import key_of, write_quantity

ChosenFlavors = Sequence[tuple[FlavorSet, str]]
NOTHING: Final[Mapping[str, NodeShortage]] = {}


class Misfit(NamedTuple):
    """The reason, its group and key, the missing amount if there is one, and the message."""

    reason: WaitReason
    short: Shortage | None
    text: str


def never(snapshot: Snapshot, leaf: LeafSnapshot, workload: Workload) -> Misfit:
    """Return why `workload`, which cannot start in `leaf` whatever runs, cannot."""
    options = leaf.options(workload)
    if options.uncovered:
        text = f"no quota entry covers {', '.join(options.uncovered)}"
        return _no_flavor(leaf, workload, options.uncovered, text)
    placeable = [(each, tuple(_placeable(snapshot, leaf, workload, each))) for each in options.sets]
    for each, flavors in placeable:
        if not flavors:
            text = f"no flavor may serve {', '.join(each.resources)}: {_refusals(each)}"
            return _no_flavor(leaf, workload, each.resources, text)
    for each, _ in placeable:
        too_small = nodes_too_small(snapshot, leaf, workload, each)
        if not each.flavors and too_small:
            flavor, node = next(iter(too_small.items()))
            text = f"no node could run its pods ({_refusals(each, too_small)})"
            return Misfit(WaitReason.NO_NODE_FITS, below_node(flavor, node), text)
    chosen = _together(snapshot, [(each, _with_nodes(leaf, each, flavors)) for each, flavors in placeable])
    if chosen is None:
        return Misfit(WaitReason.NO_ELIGIBLE_FLAVOR, None, "no node could have flavors for all that it requests")
    short = worst(_shortages(snapshot, leaf, workload, list(zip(options.sets, chosen, strict=True))))
    refused = "; ".join(_refusals(each) for each in options.sets if not each.flavors)
    return Misfit(WaitReason.NEVER_FITS, short, f"it could never fit ({refused or _sum_of_sets(short)})")


def nodes_too_small(
    snapshot: Snapshot, leaf: LeafSnapshot, workload: Workload, choice: FlavorSet
) -> Mapping[str, NodeShortage]:
    """Return flavor -> what its largest node lacks for one pod of the set.

    Where no flavor is left for the set, and no node of any could run its pods, nodes come before quota: more quota
    alone would not let it start.
    """
    if choice.flavors or choice.too_small:
        return choice.too_small
    return _too_small(leaf, choice, tuple(_placeable(snapshot, leaf, workload, choice)))


def _no_flavor(leaf: LeafSnapshot, workload: Workload, resources: Sequence[str], text: str) -> Misfit:
    """Return the reason for the flavor that it accepts, or that its group would try first."""
    covering = (each for each in codependent_sets(leaf.group.quotas) if each.resources.issuperset(resources))
    first = next((each.flavors[0] for each in covering), "")
    key = key_of(workload.only_flavor or first, resources[0])
    requested = workload.request[resources[0]]
    return Misfit(WaitReason.NO_ELIGIBLE_FLAVOR, Shortage(0, leaf.group.name, key, requested, 0, 0), text)


def _placeable(snapshot: Snapshot, leaf: LeafSnapshot, workload: Workload, choice: FlavorSet) -> Iterator[str]:
    """Yield the flavors that at most its size keeps this workload from, in the group's order."""
    if workload.only_flavor is not None and leaf.group.entry(workload.only_flavor) is None:
        return
    for covered in codependent_sets(leaf.group.quotas):
        if covered.resources.issuperset(choice.resources):
            for flavor in covered.flavors:
                if why_not(workload, choice.pod_set.placement, flavor, covered, snapshot.world.flavors) is None:
                    yield flavor


def _too_small(leaf: LeafSnapshot, choice: FlavorSet, flavors: Sequence[str]) -> Mapping[str, NodeShortage]:
    """Return the flavors whose nodes are too small, if all are; whatever their quota, it could not start there."""
    found = {flavor: leaf.eligibility.too_small(choice, flavor) for flavor in flavors}
    short = {flavor: node for flavor, node in found.items() if node is not None}
    return short if len(short) == len(found) else {}


def _with_nodes(leaf: LeafSnapshot, choice: FlavorSet, flavors: Sequence[str]) -> Sequence[str]:
    """Return those of the flavors with a node for one of its pods."""
    return [each for each in flavors if leaf.eligibility.too_small(choice, each) is None]


def _together(snapshot: Snapshot, sets: Sequence[tuple[FlavorSet, Sequence[str]]]) -> tuple[str, ...] | None:
    """Return the first combination of one flavor per set that a node could have; None if there is none."""
    known = snapshot.world.flavors
    for chosen in islice(product(*(flavors for _, flavors in sets)), MOST_ASSIGNMENTS):
        if agrees([each for each, _ in sets], chosen, known):
            return chosen
    return None


def _shortages(snapshot: Snapshot, leaf: LeafSnapshot, workload: Workload, chosen: ChosenFlavors) -> Iterator[Shortage]:
    """Yield what is missing of each key in these flavors, of all sets together."""
    for key, amount in totals([each for each, _ in chosen], [flavor for _, flavor in chosen]):
        most, group = snapshot.largest_fit(leaf.group.name, key)
        promised = snapshot.numbers[leaf.group.name].get(key, NO_NUMBERS).effective_min
        if not workload.preemptible and promised <= most:
            most, group = promised, leaf.group.name
        yield Shortage(amount - max(0, most), group, key, amount, most, most)


def _sum_of_sets(short: Shortage | None) -> str:
    """Return what all pod sets would take of the key that binds, and the most that they could get."""
    if short is None:
        return "its pod sets together"
    wanted, has = (write_quantity(short.key.resource, amount) for amount in (short.asked, max(0, short.limit)))
    return f"its pod sets together: {wanted} of {short.key}, the most it could get is {has}"


def _refusals(choice: FlavorSet, too_small: Mapping[str, NodeShortage] = NOTHING) -> str:
    """Return why each flavor is refused; of those that are `too_small`, what their nodes lack."""
    own = "" if choice.pod_set.name == MAIN_POD_SET else f"pod set {choice.pod_set.name}, "
    return "; ".join(f"{own}flavor {name}: {too_small.get(name, why)}" for name, why in choice.refused.items())
