"""The order of a leaf's pending workloads, where it is by namespace or by user.

Each requester has a sum: decayed past use, and SPAN times what they use now, of the resource of which that is the
largest part of the capacity, divided by their weight. Who has the least sum is next; each place in the queue then
adds SPAN times its own request to its requester's sum, so that requesters alternate instead of one of them getting
everything that is free. So one sort gives the whole order.

See docs/specification.md §6.7.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from math import lcm
from typing import Final

from shared.quota.measure.inputs.requester_use import requester_of
from shared.quota.model.tree import WHOLE_WEIGHT, Amounts, QueueOrder
from shared.quota.model.workload import Workload
from shared.resources import Amount, FlavorResource

SPAN: Final = timedelta(minutes=6)
"""Current use counts as if it had lasted for so long: what has just started is past use only later."""
_SPAN: Final = SPAN // timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class _Scale:
    """Makes shares whole numbers, so that they are compared exactly: all have the same denominator."""

    parts: Amounts
    """resource -> what one base unit of it counts, as a part of the capacity."""
    factors: Mapping[str, int]
    """requester -> what its part is multiplied by for its weight; 0: weight 0."""
    factor: int
    """That of every other requester."""

    def factor_of(self, requester: str) -> int:
        """Return what the requester's part is multiplied by; 0: it comes after all others."""
        return self.factors.get(requester, self.factor)

    def parts_of(self, use: Amounts) -> dict[str, int]:
        """Return the parts that such a use is, by resource; only of what there is capacity of."""
        return {resource: self.parts[resource] * amount for resource, amount in use.items() if resource in self.parts}


@dataclass(frozen=True, slots=True)
class RequesterOrder:
    """Sorts the workloads of one leaf."""

    order: QueueOrder
    weights: Amounts
    past_use: Mapping[str, Amounts]
    """requester -> resource -> decayed past use, in base units times milliseconds."""
    current_use: Mapping[str, Amounts]
    """requester -> resource -> what they use now, in base units."""
    capacity: Amounts
    """resource -> what root has of it, over all flavors; only where it has some."""

    def sort(self, pending: Iterable[Workload]) -> tuple[Workload, ...]:
        """Return these workloads in the leaf's order; they are given by priority, then age."""
        found = list(pending)
        if self.order is QueueOrder.AGE or len(found) < 2:
            return tuple(found)
        scale = self._scale
        step = {resource: _SPAN * factor for resource, factor in scale.parts.items()}
        sums: dict[str, dict[str, int]] = {}
        places: list[tuple[int, bool, int, int]] = []
        for number, workload in enumerate(found):
            requester = requester_of(self.order, workload)
            own = sums.get(requester)
            if own is None:
                own = sums[requester] = scale.parts_of(self.use_of(requester))
            factor = scale.factor_of(requester)
            places.append((-workload.priority, not factor, factor * max(own.values(), default=0), number))
            for resource, amount in workload.request.items():
                if resource in step:
                    own[resource] = own.get(resource, 0) + step[resource] * amount
        places.sort()
        return tuple([found[number] for *_, number in places])

    @property
    def _scale(self) -> "_Scale":
        whole = lcm(*self.capacity.values())
        parts = {resource: whole // amount for resource, amount in self.capacity.items()}
        weights = lcm(WHOLE_WEIGHT, *(each for each in self.weights.values() if each > 0))
        factors = {name: weights // each if each > 0 else 0 for name, each in self.weights.items()}
        return _Scale(parts, factors, weights // WHOLE_WEIGHT)

    def share_of(self, requester: str) -> tuple[bool, int]:
        """Return what requesters are compared by before anything that waits: the least comes first."""
        scale = self._scale
        factor = scale.factor_of(requester)
        return not factor, factor * max(scale.parts_of(self.use_of(requester)).values(), default=0)

    def leading_resource(self, requester: str) -> str:
        """Return the resource of which the requester's part is the largest; empty if it has used nothing."""
        parts = {name: part for name, part in self._scale.parts_of(self.use_of(requester)).items() if part}
        return min(parts, key=lambda name: (-parts[name], name), default="")

    def use_of(self, requester: str) -> Amounts:
        """resource -> what counts for this requester before anything that waits, in base units times milliseconds."""
        past, now = self.past_use.get(requester, {}), self.current_use.get(requester, {})
        return {resource: past.get(resource, 0) + now.get(resource, 0) * _SPAN for resource in {**past, **now}}


BY_AGE: Final = RequesterOrder(QueueOrder.AGE, {}, {}, {}, {})


def capacity_by_resource(capacity: Mapping[FlavorResource, Amount]) -> Amounts:
    """Return root's capacity over all flavors; only of what it has."""
    found: dict[str, Amount] = {}
    for key, amount in capacity.items():
        if amount > 0:
            found[key.resource] = found.get(key.resource, 0) + amount
    return found
