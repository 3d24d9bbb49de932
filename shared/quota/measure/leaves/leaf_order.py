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
from typing import Final

from shared.quota.measure.inputs.requester_use import requester_of
from shared.quota.model.tree import WHOLE_WEIGHT, Amounts, QueueOrder
from shared.quota.model.workload import Workload
from shared.resources import Amount, FlavorResource

SPAN: Final = timedelta(minutes=6)
"""Current use counts as if it had lasted for so long: what has just started is past use only later."""
_SPAN: Final = SPAN // timedelta(milliseconds=1)
_SHARP: Final = 320
"""Shares are in units of 2^-_SHARP: amounts have 63 bits, so two that differ are never equal."""


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
        sums: dict[str, dict[str, int]] = {}
        places: list[tuple[int, bool, int, int]] = []
        for number, workload in enumerate(found):
            requester = requester_of(self.order, workload)
            own = sums.get(requester)
            if own is None:
                own = sums[requester] = dict(self.use_of(requester))
            places.append((-workload.priority, *self._share(requester, own), number))
            for resource, amount in workload.request.items():
                own[resource] = own.get(resource, 0) + amount * _SPAN
        places.sort()
        return tuple([found[number] for *_, number in places])

    def _share(self, requester: str, use: Amounts) -> tuple[bool, int]:
        """Return (weight 0, the largest part of the capacity of some resource, for the requester's weight)."""
        weight = self.weights.get(requester, WHOLE_WEIGHT)
        if weight <= 0:
            return True, 0
        parts = [(use[name] << _SHARP) // (whole * weight) for name, whole in self.capacity.items() if name in use]
        return False, max(parts, default=0)

    def share_of(self, requester: str) -> tuple[bool, int]:
        """Return what requesters are compared by before anything that waits: the least comes first."""
        return self._share(requester, self.use_of(requester))

    def leading_resource(self, requester: str) -> str:
        """Return the resource of which the requester's part is the largest; empty if it has used nothing."""
        use = {name: amount for name, amount in self.use_of(requester).items() if amount and name in self.capacity}
        return min(use, key=lambda name: (-(use[name] << _SHARP) // self.capacity[name], name), default="")

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
