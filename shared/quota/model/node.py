"""What a node adds to the cluster's capacity, and whether a pod fits one node, all its resources together.

Of a flavor's nodes only the largest are compared with pods: a node is left out if another one offers no less of any
resource. A pod fits some node if it fits one of these.

See docs/specification.md §3.6 and §6.6.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final, NamedTuple

from shared.api.durations import later
from shared.quota.model.tree import NOTHING, Amounts
from shared.resources import Amount, write_quantity

LargestNodes = Mapping[str, tuple[Amounts, ...]]
"""flavor -> what its largest ready nodes offer, none without a node; an absent flavor is not compared with nodes."""

NOT_COMPARED: Final[LargestNodes] = {}


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """A node as far as capacity goes. `allocatable` is in base units, rounded down."""

    name: str
    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    allocatable: Amounts = field(default_factory=lambda: NOTHING)
    takes_pods: bool = True
    """Ready and schedulable."""
    not_ready_since: datetime | None = None
    """None: it is ready; then a node that takes no pods is cordoned or being deleted."""
    kept: Amounts = field(default_factory=lambda: NOTHING)
    """What pods on it that are part of no workload still use while it takes no more of them."""
    is_lost: bool = False
    """Not ready for longer than the grace period."""

    @property
    def size(self) -> Amounts:
        """The amounts of which percents are shares: all of it until it is lost."""
        return NOTHING if self.is_lost else self.allocatable

    @property
    def offer(self) -> Amounts:
        """The amounts that it adds to capacity."""
        return self.allocatable if self.takes_pods else self.kept

    def keeps_use_until(self, grace: timedelta) -> datetime | None:
        """The time until which the use of pods on it counts, as capacity and as use; None: no end is known.

        A cordoned node offers nothing new and stops nothing; a node that is not ready might return within the grace
        period.
        """
        return None if self.not_ready_since is None else later(self.not_ready_since, grace)

    def counts_use(self, now: datetime, grace: timedelta) -> bool:
        """Return whether pods on it count at `now`; those on a lost node do not, and neither does the node."""
        until = self.keeps_use_until(grace)
        return self.takes_pods or until is None or now < until

    def keeping(self, use: Amounts) -> "ClusterNode":
        """Return the node when pods on it that count use that much; it matters only while it takes no pods."""
        return self if self.takes_pods or use == self.kept else replace(self, kept=use)

    def lost(self) -> "ClusterNode":
        """Return the node once nothing of it counts."""
        return self if self.is_lost else replace(self, is_lost=True)


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
    """Return what one of `pods` equal pods requests of these resources, when they request `request` together."""
    return {name: -(-request[name] // pods) for name in sorted(resources) if request.get(name, 0) > 0}


def node_shortage(pod: Amounts, offers: tuple[Amounts, ...] | None) -> NodeShortage | None:
    """Return why no node offers all that the pod requests; None when one does, or when nodes are not compared."""
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
    """Return the offers that no other one equals or exceeds on every resource, the largest first."""
    found: list[Amounts] = []
    # An offer that exceeds another one has the larger sum, so it comes first.
    for offer in sorted(offers, key=lambda each: (-sum(each.values()), sorted(each.items()))):
        if not is_within_any(offer, found):
            found.append(offer)
    return tuple(found)


def is_within_any(offer: Amounts, others: Iterable[Amounts]) -> bool:
    """Return whether another one offers no less of any resource."""
    return any(all(amount <= other.get(name, 0) for name, amount in offer.items()) for other in others)


def _words(amounts: Mapping[str, Amount], resources: Iterable[str]) -> str:
    return ", ".join(f"{name} {write_quantity(name, amounts.get(name, 0))}" for name in resources)
