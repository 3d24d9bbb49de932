"""Which flavors the work of one leaf may take, and in which keys it counts while it waits; remembered per shape."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from shared.quota.measure.static.potential_available import UNBOUND, Bound
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
from shared.quota.model.settings import Uncovered
from shared.quota.model.tree import Group
from shared.quota.model.workload import Workload
from shared.resources import Amount, FlavorResource

Counted = tuple[tuple[FlavorResource, Amount], ...]
"""Key and amount, for every key in which a workload counts."""


@dataclass(frozen=True, slots=True, eq=False)
class FlavorOffer:
    """The flavors there are, and which of them a placement bars; the latter is remembered for all leaves together."""

    flavors: Mapping[str, Flavor]
    uncovered: Uncovered
    _barred: dict[tuple[object, str], str | None] = field(default_factory=dict, repr=False)

    def why_not(self, workload: Workload, name: str, choice: Codependent) -> str | None:
        """Why `workload` may not take the flavor of that name out of `choice`; None when it may."""
        reason = why_not_named(workload, name, choice)
        if reason is not None:
            return reason
        asked = (placement_key(workload.placement), name)
        if asked not in self._barred:
            flavor = flavor_of_name(name, self.flavors)
            self._barred[asked] = ABSENT if flavor is None else why_not_placed(workload.placement, flavor)
        return self._barred[asked]


class FlavorEligibility:
    """Answers for one leaf under one offer and one set of bounds; a change of these needs a new one."""

    __slots__ = ("_bound_of", "_counted", "_group", "_known", "_offer", "_sets")

    def __init__(self, group: Group, offer: FlavorOffer, bound_of: Mapping[FlavorResource, Bound]) -> None:
        self._group = group
        self._offer = offer
        self._bound_of = bound_of
        self._sets = codependent_sets(group.quotas)
        self._known: dict[tuple[Shape, bool], Options] = {}
        self._counted: dict[Shape, Counted] = {}

    def answers(self, group: Group, offer: FlavorOffer, bound_of: Mapping[FlavorResource, Bound]) -> bool:
        """Whether a chooser made from these would answer as this one does."""
        return self._group is group and self._offer is offer and self._bound_of == bound_of

    def options(self, workload: Workload) -> Options:
        """Every codependent set that `workload` asks something of, with the flavors that it may take."""
        shape = (shape_of(workload), workload.preemptible)
        found = self._known.get(shape)
        if found is None:
            found = self._known[shape] = self._options(workload)
        return found

    def counted(self, shape: Shape, example: Workload) -> Counted:
        """The keys in which preemptible work of this shape counts; none when it could never start."""
        found = self._counted.get(shape)
        if found is None:
            options = self.options(example)
            sets = options.sets if options.could_fit else ()
            found = tuple(pair for each in sets for name in each.flavors for pair in keys_of(example, each, name))
            self._counted[shape] = found
        return found

    def covers(self, key: FlavorResource) -> bool:
        """Whether an entry of the leaf is about `key`."""
        return key in self._bound_of

    def promised(self, key: FlavorResource) -> Amount:
        """The leaf's effectiveMin."""
        return self._bound_of.get(key, UNBOUND).effective_min

    def _options(self, workload: Workload) -> Options:
        asked = {resource for resource, amount in workload.request.items() if amount > 0}
        sets = []
        for choice in self._sets:
            resources = tuple(sorted(asked & choice.resources))
            asked -= choice.resources
            if resources:
                sets.append(self._choose(workload, choice, resources))
        return Options(tuple(sets), tuple(sorted(asked)) if self._offer.uncovered is Uncovered.DENY else ())

    def _choose(self, workload: Workload, choice: Codependent, resources: tuple[str, ...]) -> FlavorSet:
        refused: dict[str, str] = {}
        only = workload.only_flavor
        is_foreign = only is not None and self._group.entry(only) is None
        foreign = f"the work takes flavor {only} only, which its group does not have" if is_foreign else None
        for name in choice.flavors:
            reason = foreign or self._offer.why_not(workload, name, choice)
            reason = reason or self._too_large(workload, name, resources)
            if reason is not None:
                refused[name] = reason
        return FlavorSet(resources, tuple(name for name in choice.flavors if name not in refused), refused)

    def _too_large(self, workload: Workload, name: str, resources: tuple[str, ...]) -> str | None:
        for resource in resources:
            bound = self._bound_of.get(FlavorResource(name, resource), UNBOUND)
            most = bound.room if workload.preemptible else min(bound.room, bound.effective_min)
            asked = workload.request[resource]
            if asked > most:
                by_min = not workload.preemptible and most == bound.effective_min
                limit = f"the {'min in effect' if by_min else 'most it could get'} is {max(0, most)}"
                return f"asks for {asked} of {name}/{resource}, {limit}"
        return None


def keys_of(workload: Workload, choice: FlavorSet, flavor: str) -> Counted:
    """What `workload` asks of the set `choice`, in that flavor."""
    return tuple((FlavorResource(flavor, resource), workload.request[resource]) for resource in choice.resources)
