"""Which flavors the workloads of one leaf may take, and in which keys they count while pending; cached per shape.

See docs/specification.md §3.4 and §6.6.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from itertools import islice, repeat, tee
from types import MappingProxyType
from typing import Final, NamedTuple

from shared.api.core.placement import Placement
from shared.quota.measure.inputs.shapes import Shapes, SomeShapes
from shared.quota.measure.static.pod_set_choices import (
    MOST_ASSIGNMENTS,
    Counted,
    combinations,
    most_of,
    totals_of_each,
)
from shared.quota.measure.static.potential_available import UNBOUND, Bound
from shared.quota.model.devices.resources import DeviceResources, on_nodes
from shared.quota.model.eligibility import (
    ABSENT,
    Codependent,
    FlavorSet,
    Options,
    Shape,
    codependent_sets,
    flavor_of_name,
    placement_key,
    shape_of,
    why_not_named,
    why_not_placed,
)
from shared.quota.model.flavor import Flavor
from shared.quota.model.node import NOT_COMPARED, LargestNodes, NodeShortage, node_shortage, one_of
from shared.quota.model.settings import Uncovered
from shared.quota.model.tree import Group
from shared.quota.model.workload import PodSet, Workload
from shared.resources import Amount, FlavorResource, key_of, quantities_in, write_quantity

NO_SHORTAGES: Final[Mapping[str, NodeShortage]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, eq=False)
class FlavorOffer:
    """The flavors that exist, and their largest nodes."""

    flavors: Mapping[str, Flavor]
    uncovered: Uncovered
    nodes: LargestNodes = field(default_factory=lambda: NOT_COMPARED)
    devices: DeviceResources | None = None
    """Says as which resources devices count: nodes are not compared with these."""

    def compares_the_same(self, other: "FlavorOffer", names: Iterable[str]) -> bool:
        """Return whether both compare pods in these flavors with the same nodes, and resources likewise."""
        same_settings = self.uncovered is other.uncovered and self.devices == other.devices
        return same_settings and all(self.nodes.get(name) == other.nodes.get(name) for name in names)

    def why_not_placed(self, placement: Placement, name: str) -> str | None:
        """Why pods placed so cannot run on nodes of the flavor of that name; None when they can."""
        flavor = flavor_of_name(name, self.flavors)
        return ABSENT if flavor is None else why_not_placed(placement, flavor)

    def shortages(
        self, pod_set: PodSet, flavors: Sequence[str], resources: Iterable[str]
    ) -> Mapping[str, NodeShortage]:
        """Return the flavors of which no node takes one pod of the set, by these resources together, and why."""
        if not flavors or not pod_set.pods:
            return NO_SHORTAGES
        pod = one_of(pod_set.request, pod_set.pods, on_nodes(resources, self.devices))
        found = zip(flavors, map(node_shortage, repeat(pod), map(self.nodes.get, flavors)), strict=True)
        return {flavor: short for flavor, short in found if short is not None}


class CountedAmounts(NamedTuple):
    """What workloads of one shape count, and in which keys they count each amount; equal keys are mostly one object."""

    keys: tuple[tuple[FlavorResource, ...], ...]
    amounts: tuple[Amount, ...]


class CountedTogether(NamedTuple):
    """What workloads that count in the same keys count together, and when the oldest of them was queued."""

    keys: tuple[tuple[FlavorResource, ...], ...]
    amounts: tuple[Amount, ...]
    oldest: datetime


class _OpenFlavors(NamedTuple):
    """The flavors of one codependent set that a pod set may take if it requests little enough, and why no other."""

    choice: Codependent
    resources: tuple[str, ...]
    """The pod set requests these of `choice`."""
    flavors: tuple[str, ...]
    refused: Mapping[str, str]
    room: Mapping[str, Amount]
    """resource -> the most that the workload could get in each of `flavors`."""
    compared: tuple[str, ...]
    """The nodes of these of `flavors` are known."""


class _LeafRoom:
    """The most that workloads of one leaf could ever get, by its bounds, and which requests were compared with it."""

    __slots__ = ("_asks_for_min", "_largest", "bound_of")

    def __init__(self, bound_of: Mapping[FlavorResource, Bound]) -> None:
        self.bound_of = bound_of
        self._asks_for_min = False
        """Whether some answer depends on effectiveMin."""
        self._largest: dict[tuple[tuple[str, ...], str], Amount] = {}
        """flavors, resource → the largest request that was compared with what the leaf could get in these."""

    def take_over(self, other: "_LeafRoom") -> None:
        """Note what the other room was compared with."""
        self._asks_for_min, self._largest = other._asks_for_min, dict(other._largest)

    def note(self, flavors: tuple[str, ...], resources: Iterable[str], request: Mapping[str, Amount]) -> None:
        """Note that so much of each resource is compared with what the leaf could get in these flavors."""
        largest = self._largest
        for resource in resources:
            of = flavors, resource
            largest[of] = max(largest.get(of, 0), request[resource])

    def effective_min(self, key: FlavorResource) -> Amount:
        """Return the leaf's effectiveMin."""
        self._asks_for_min = True
        return self.bound_of.get(key, UNBOUND).effective_min

    def most(self, workload: Workload, key: FlavorResource) -> Amount:
        """Return the most of the key that the workload could ever get."""
        room = self.bound_of.get(key, UNBOUND).room
        return room if workload.preemptible else min(room, self.effective_min(key))

    def answers_alike(self, bound_of: Mapping[FlavorResource, Bound]) -> bool:
        """Return whether all comparisons so far have the same result with these bounds.

        The requests fit both, or a bound is as it was.
        """
        if self.bound_of.keys() != bound_of.keys():
            return False
        largest: dict[FlavorResource, Amount] = {}
        for (flavors, resource), amount in self._largest.items():
            for key in map(key_of, flavors, repeat(resource)):
                largest[key] = max(largest.get(key, 0), amount)
        for key, bound in bound_of.items():
            known = self.bound_of[key]
            if bound.room != known.room and largest.get(key, 0) > min(bound.room, known.room):
                return False
            if bound.effective_min != known.effective_min and self._asks_for_min:
                return False
        return True


class FlavorEligibility:
    """The answers for one leaf, one offer and one set of bounds; a change of these needs a new object."""

    __slots__ = (
        "_counted",
        "_counted_in",
        "_group",
        "_is_taken_over",
        "_known",
        "_offer",
        "_open",
        "_room",
        "_sets",
        "alike",
    )

    def __init__(self, group: Group, offer: FlavorOffer, bound_of: Mapping[FlavorResource, Bound]) -> None:
        self.alike: object = object()
        """The same in two of them: what both were asked, they answered alike, with the same objects."""
        self._is_taken_over = False
        """Whether another one has the same `alike`."""
        self._open: dict[tuple[object, ...], tuple[Sequence[_OpenFlavors], tuple[str, ...]]] = {}
        """What of a pod set decides about flavors, but amounts -> those open to it; resources without cover."""
        self._group = group
        self._offer = offer
        self._room = _LeafRoom(bound_of)
        self._sets = codependent_sets(group.quotas)
        self._known: dict[tuple[Shape, bool], Options] = {}
        self._counted: dict[Shape, CountedAmounts] = {}
        self._counted_in: dict[int, tuple[SomeShapes, Sequence[CountedTogether]]] = {}
        """identity of a part of the pending workloads -> that part, and what it counts; the latest parts only."""

    def revised(
        self, group: Group, offer: FlavorOffer, bound_of: Mapping[FlavorResource, Bound], most: int
    ) -> "FlavorEligibility":
        """Return one for these: itself if nothing differs; one that takes over its answers if they are the same.

        Of the group only the flavors and what they cover matter: its numbers are in the bounds.
        `most`: if it has more answers, nearly all are about workloads that are gone, and they are dropped.
        """
        names = [name for each in self._sets for name in each.flavors]
        other_flavors = [name for name in names if self._offer.flavors.get(name) != offer.flavors.get(name)]
        is_same = self._group is group or self._sets == codependent_sets(group.quotas)
        is_same = is_same and len(self._known) <= most
        is_same = is_same and (self._offer is offer or self._offer.compares_the_same(offer, names))
        if is_same and not other_flavors and self._room.bound_of == bound_of:
            return self
        found = FlavorEligibility(group, offer, bound_of)
        if is_same and self._room.answers_alike(bound_of) and self._places_alike(offer, other_flavors):
            found.alike, self._is_taken_over, found._is_taken_over = self.alike, True, True
            found._room.take_over(self._room)
            found._known, found._counted = dict(self._known), dict(self._counted)
            found._counted_in = self._counted_in
        return found

    def _places_alike(self, offer: FlavorOffer, flavors: Sequence[str]) -> bool:
        """Whether both offers let all pods so far take these flavors, or refuse them for the same reason.

        Of several codependent sets, the labels also decide which flavors go together.
        """
        if len(self._sets) > 1:
            return not flavors
        pod_sets = (each.pod_set for options in self._known.values() for each in options.sets) if flavors else ()
        placements = {placement_key(each.placement): each.placement for each in pod_sets}.values()
        return all(
            self._offer.why_not_placed(placement, name) == offer.why_not_placed(placement, name)
            for placement in placements
            for name in flavors
        )

    @property
    def flavors(self) -> Mapping[str, Flavor]:
        """The flavors that exist; of those that the leaf has no quota for as they were at some time."""
        return self._offer.flavors

    def options(self, workload: Workload) -> Options:
        """Return every codependent set that `workload` requests something of, with the flavors that it may take."""
        return self._options_of(shape_of(workload), workload)

    def _options_of(self, shape: Shape, example: Workload) -> Options:
        known = (shape, example.preemptible)
        found = self._known.get(known)
        if found is None:
            if self._is_taken_over:
                self.alike, self._is_taken_over = object(), False
            found = self._known[known] = self._options(example)
        return found

    def counted(self, shape: Shape, example: Workload) -> CountedAmounts:
        """Return the keys in which a preemptible workload of this shape counts; none when it could never start."""
        found = self._counted.get(shape)
        if found is None:
            found = self._counted[shape] = _counted(self._options_of(shape, example))
        return found

    def counted_in(self, shapes: Shapes) -> Sequence[CountedTogether]:
        """Return what preemptible workloads of these shapes count; costs a look at the parts that are not known yet."""
        known, self._counted_in = self._counted_in, {}
        counted: list[CountedTogether] = []
        for part in shapes.parts:
            found = self._counted_in[id(part)] = known.get(id(part)) or (part, self._sum(part))
            counted.extend(found[1])
        return counted

    def _sum(self, part: SomeShapes) -> Sequence[CountedTogether]:
        by_keys: dict[int, tuple[CountedAmounts, list[Sequence[Amount]], list[datetime]]] = {}
        for shape, (queued, example) in part.items():
            counted = self.counted(shape, example)
            _, amounts, oldest = by_keys.setdefault(id(counted.keys), (counted, [], []))
            amounts.append(
                counted.amounts if len(queued) == 1 else [len(queued) * amount for amount in counted.amounts]
            )
            oldest.append(queued[0])
        return [
            CountedTogether(counted.keys, tuple(map(sum, zip(*amounts, strict=True))), min(oldest))
            for counted, amounts, oldest in by_keys.values()
        ]

    def too_small(self, choice: FlavorSet, flavor: str) -> NodeShortage | None:
        """Why no node of the flavor takes one pod: by the set's resources, and those that no entry covers, together."""
        covered = frozenset[str]().union(*(each.resources for each in self._sets))
        uncovered = choice.pod_set.request.keys() - covered
        return self._offer.shortages(choice.pod_set, (flavor,), (*choice.resources, *uncovered)).get(flavor)

    def covers(self, key: FlavorResource) -> bool:
        """Return whether an entry of the leaf is about `key`."""
        return key in self._room.bound_of

    def effective_min(self, key: FlavorResource) -> Amount:
        """Return the leaf's effectiveMin."""
        return self._room.effective_min(key)

    def _options(self, workload: Workload) -> Options:
        uncovered: set[str] = set()
        sets: list[FlavorSet] = []
        for pod_set in workload.sets:
            opened, left = self._open_sets(workload, pod_set)
            uncovered.update(left)
            sets.extend([self._choose(workload, pod_set, each, left) for each in opened])
        denied = tuple(sorted(uncovered)) if self._offer.uncovered is Uncovered.DENY else ()
        together = self._together(workload, sets) if workload.pod_sets else None
        return Options(tuple(sets), denied, together)

    def _open_sets(self, workload: Workload, pod_set: PodSet) -> tuple[Sequence[_OpenFlavors], tuple[str, ...]]:
        """Return what is open to such pods of each set of which they request something, and what no entry covers."""
        requested = tuple([name for name, amount in pod_set.request.items() if amount > 0])
        of_pods = placement_key(pod_set.placement)
        question = (requested, of_pods, workload.only_flavor, workload.blocked_flavors, workload.preemptible)
        found = self._open.get(question)
        if found is None:
            wanted = [(choice, tuple(sorted(choice.resources.intersection(requested)))) for choice in self._sets]
            opened = [self._open_flavors(workload, pod_set, choice, own) for choice, own in wanted if own]
            left = frozenset(requested).difference(*(choice.resources for choice in self._sets))
            found = self._open[question] = opened, tuple(left)
        return found

    def _together(self, workload: Workload, sets: Sequence[FlavorSet]) -> tuple[tuple[str, ...], ...]:
        """Return the choices of a flavor for each set that all pod sets together could ever have."""
        choices, in_turn = tee(combinations(sets, self._offer.flavors))
        fitting = (
            chosen
            for chosen, total in zip(choices, totals_of_each(sets, in_turn), strict=True)
            if all(self._is_possible(workload, key, amount) for key, amount in total)
        )
        return tuple(islice(fitting, MOST_ASSIGNMENTS))

    def _is_possible(self, workload: Workload, key: FlavorResource, amount: Amount) -> bool:
        """Return whether the workload could ever get that much of the key."""
        self._room.note((key.flavor,), (key.resource,), {key.resource: amount})
        return amount <= self._room.most(workload, key)

    def _choose(
        self, workload: Workload, pod_set: PodSet, known: _OpenFlavors, uncovered: tuple[str, ...]
    ) -> FlavorSet:
        """`uncovered`: requested resources that no entry covers."""
        choice, resources = known.choice, known.resources
        request = pod_set.request
        self._room.note(known.flavors, resources, request)
        too_small = self._offer.shortages(pod_set, known.compared, (*resources, *uncovered))
        if not too_small and all(request[each] <= known.room[each] for each in resources):
            return FlavorSet(pod_set, resources, known.flavors, known.refused)
        too_large = {name: self._too_large(workload, pod_set, name, resources) for name in known.flavors}
        too_small = {name: short for name, short in too_small.items() if too_large[name] is None}
        refused: dict[str, str] = {}
        for name in choice.flavors:
            reason = known.refused.get(name) or too_large[name]
            if reason is not None:
                refused[name] = reason
            elif name in too_small:
                refused[name] = str(too_small[name])
        flavors = tuple([name for name in choice.flavors if name not in refused])
        return FlavorSet(pod_set, resources, flavors, refused, too_small)

    def _open_flavors(
        self, workload: Workload, pod_set: PodSet, choice: Codependent, resources: tuple[str, ...]
    ) -> _OpenFlavors:
        only = workload.only_flavor
        is_foreign = only is not None and self._group.entry(only) is None
        foreign = f"the workload takes flavor {only} only, which its group does not have" if is_foreign else None
        refused: dict[str, str] = {}
        for name in choice.flavors:
            reason = foreign or why_not_named(workload, name, choice)
            reason = reason or self._offer.why_not_placed(pod_set.placement, name)
            if reason is not None:
                refused[name] = reason
        flavors = tuple([name for name in choice.flavors if name not in refused])
        room = {
            resource: min([self._room.most(workload, key_of(name, resource)) for name in flavors], default=0)
            for resource in resources
        }
        compared = tuple([name for name in flavors if name in self._offer.nodes])
        return _OpenFlavors(choice, resources, flavors, refused, room, compared)

    def _too_large(self, workload: Workload, pod_set: PodSet, name: str, resources: tuple[str, ...]) -> str | None:
        for resource in resources:
            key = key_of(name, resource)
            requested = pod_set.request[resource]
            most = self._room.most(workload, key)
            if requested > most:
                by_min = not workload.preemptible and most == self._room.effective_min(key)
                limit = "the min in effect" if by_min else "the most it could get"
                wanted, has = write_quantity(resource, requested), write_quantity(resource, max(0, most))
                return f"requests {wanted} of {name}/{resource}, {limit} is {has}"
        return None


def _counted(options: Options) -> CountedAmounts:
    """Return what a workload with these options counts: nothing if one of its pod sets can never start."""
    if not options.could_fit:
        return CountedAmounts((), ())
    if options.together is None:
        keys = _keys_of_each(tuple([(each.flavors, each.resources) for each in options.sets]))
        return CountedAmounts(keys, tuple([amount for each in options.sets for amount in each.amounts]))
    pairs = most_of(totals_of_each(options.sets, options.together))
    return CountedAmounts(_one_each(tuple([key for key, _ in pairs])), tuple([amount for _, amount in pairs]))


@lru_cache(maxsize=1024)
def _keys_of_each(sets: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]) -> tuple[tuple[FlavorResource, ...], ...]:
    """Return the keys in which each resource of these sets counts; one object for equal sets of flavors, resources."""
    return tuple([tuple([key_of(name, each) for name in flavors]) for flavors, resources in sets for each in resources])


@lru_cache(maxsize=1024)
def _one_each(keys: tuple[FlavorResource, ...]) -> tuple[tuple[FlavorResource, ...], ...]:
    """Return each key alone; one object for equal keys."""
    return tuple([(key,) for key in keys])


def keys_of(choice: FlavorSet, flavor: str) -> Counted:
    """Return what is requested of the set `choice`, in that flavor."""
    return quantities_in(choice.pod_set.request, choice.resources, flavor)
