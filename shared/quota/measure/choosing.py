"""Which flavors the work of one leaf may take, and in which keys it counts while it waits; remembered per shape."""

from collections.abc import Mapping

from shared.quota.measure.bounds import UNBOUND, Bound
from shared.quota.model.eligibility import Codependent, FlavorSet, Options, Shape, codependent_sets, shape_of, why_not
from shared.quota.model.flavor import Flavor
from shared.quota.model.settings import Uncovered
from shared.quota.model.tree import Group
from shared.quota.model.workload import Workload
from shared.resources import Amount, FlavorResource

Counted = tuple[tuple[FlavorResource, Amount], ...]
"""Key and amount, for every key in which a workload counts."""


class Chooser:
    """Answers for one leaf under one set of flavors and bounds; a change of these needs a new one."""

    __slots__ = ("_about", "_bound_of", "_counted", "_denies", "_flavors", "_known", "_sets")

    def __init__(
        self,
        group: Group,
        flavors: Mapping[str, Flavor],
        uncovered: Uncovered,
        bound_of: Mapping[FlavorResource, Bound],
    ) -> None:
        self._about = group, flavors, uncovered
        self._sets = codependent_sets(group.quotas)
        self._flavors = flavors
        self._denies = uncovered is Uncovered.DENY
        self._bound_of = bound_of
        self._known: dict[tuple[Shape, bool], Options] = {}
        self._counted: dict[Shape, Counted] = {}

    def answers(
        self,
        group: Group,
        flavors: Mapping[str, Flavor],
        uncovered: Uncovered,
        bound_of: Mapping[FlavorResource, Bound],
    ) -> bool:
        """Whether a chooser made from these would answer as this one does."""
        same = self._about[0] is group and self._about[1] is flavors and self._about[2] is uncovered
        return same and self._bound_of == bound_of

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
        return Options(tuple(sets), tuple(sorted(asked)) if self._denies else ())

    def _choose(self, workload: Workload, choice: Codependent, resources: tuple[str, ...]) -> FlavorSet:
        refused: dict[str, str] = {}
        for name in choice.flavors:
            reason = why_not(workload, name, choice, self._flavors) or self._too_large(workload, name, resources)
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
