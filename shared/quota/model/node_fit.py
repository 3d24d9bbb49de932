"""Whether one pod of a workload fits a ready node of a flavor, all its resources together.

Of a flavor's nodes only the largest are kept: a node is left out if another one offers no less of any resource. A pod
fits some node if it fits one of these.

See docs/specification.md §6.6.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from shared.quota.model.tree import Amounts
from shared.resources import Amount, write_quantity

LargestNodes = Mapping[str, tuple[Amounts, ...]]
"""flavor -> what its largest ready nodes offer, none without a node; an absent flavor is not compared with nodes."""

NOT_COMPARED: Final[LargestNodes] = {}


class NodeShortage(NamedTuple):
    """What one pod requests, what the node that comes nearest offers, and the resource of which that is too little.

    `offer` None: there is no ready node.
    """

    resource: str
    pod: Amounts
    offer: Amounts | None

    @property
    def requested(self) -> Amount:
        """What the pod requests of the resource."""
        return self.pod[self.resource]

    @property
    def offered(self) -> Amount:
        """What the node offers of the resource."""
        return 0 if self.offer is None else self.offer.get(self.resource, 0)

    def __str__(self) -> str:
        pod = f"one pod requests {_words(self.pod, self.pod)}"
        if self.offer is None:
            return f"{pod}, and no node of it is ready"
        return f"{pod}; the largest ready node has {_words(self.offer, self.pod)}"


def one_of(request: Amounts, pods: int, resources: Iterable[str]) -> Amounts:
    """What one of `pods` equal pods requests of these resources, when they request `request` together."""
    return {name: -(-request[name] // pods) for name in sorted(resources) if request.get(name, 0) > 0}


def node_shortage(pod: Amounts, offers: tuple[Amounts, ...] | None) -> NodeShortage | None:
    """Why no node offers all that the pod requests; None when one does, or when nodes are not compared."""
    if offers is None or not pod:
        return None
    nearest: tuple[list[str], Amounts] | None = None
    for offer in offers:
        lacking = [name for name, amount in pod.items() if amount > offer.get(name, 0)]
        if not lacking:
            return None
        if nearest is None or len(lacking) < len(nearest[0]):
            nearest = lacking, offer
    if nearest is None:
        return NodeShortage(next(iter(pod)), pod, None)
    return NodeShortage(nearest[0][0], pod, nearest[1])


def largest_of(offers: Iterable[Amounts]) -> tuple[Amounts, ...]:
    """The offers that no other one equals or exceeds on every resource, the largest first."""
    found: list[Amounts] = []
    # Who exceeds another has the larger sum, so it is found first.
    for offer in sorted(offers, key=lambda each: (-sum(each.values()), sorted(each.items()))):
        if not is_within_any(offer, found):
            found.append(offer)
    return tuple(found)


def is_within_any(offer: Amounts, others: Iterable[Amounts]) -> bool:
    """Whether another one offers no less of any resource."""
    return any(all(amount <= other.get(name, 0) for name, amount in offer.items()) for other in others)


def _words(amounts: Mapping[str, Amount], resources: Iterable[str]) -> str:
    return ", ".join(f"{name} {write_quantity(name, amounts.get(name, 0))}" for name in resources)
