"""What is known about one group and one key: the words of the arithmetic, in base units.

See docs/specification.md §3.3.
"""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from shared.resources import Amount, FlavorResource


class Numbers(msgspec.Struct, frozen=True, gc=False):
    """One group's numbers for one flavor and resource. A parent's cover its whole subtree."""

    min: Amount = 0
    """What the group's spec says; absent counts 0."""
    effective_min: Amount = 0
    """min, scaled down where the siblings' mins together exceed their parent's effectiveMin."""
    guarantee: Amount = 0
    """The part of min that is kept for the group even while idle."""
    ceiling: Amount = 0
    """The lower of max and min + borrowingLimit: the group never uses more."""
    limit: Amount = 0
    """The most that charge can be: the ceiling; at root also the runtime."""
    weight: Amount = 0
    """The share of what is left over; an absent weight is inherited."""
    request: Amount = 0
    """used, plus pending workloads that count (leaf); the children's demand together (parent)."""
    used: Amount = 0
    """What admitted workloads request, until their pods have really ended."""
    non_preemptible: Amount = 0
    """The part of used that cannot be reclaimed."""
    kept: Amount = 0
    """The floor of the group, at least what its children keep together: no turn is at the cost of that."""
    kept_below: Amount = 0
    """What its children keep together."""
    charge: Amount = 0
    """What the group costs its parent: used, plus what it keeps for idle groups below."""
    idle_charge: Amount = 0
    """What the group costs its parent even while idle: the lower of guarantee and runtime without turns."""
    demand: Amount = 0
    """request, at least the guarantee, at most the ceiling."""
    runtime: Amount = 0
    """What the group may use now."""
    spared: Amount = 0
    """How much more than its runtime it may keep in use, but for a min of others: what turns of others take from it."""
    waiting_since: datetime | None = None
    """When the oldest of the pending workloads that count in its subtree was queued."""

    @property
    def floor(self) -> Amount:
        """What the group gets before anything is shared by weight."""
        return max(min(self.min, self.demand), self.non_preemptible, self.guarantee)

    @property
    def kept_idle(self) -> Amount:
        """What the guarantee keeps of what the group does not use: that need not be available above it."""
        return max(0, self.idle_charge - self.charge)

    @property
    def borrowed(self) -> Amount:
        """Return what is used above min."""
        return max(0, self.used - self.min)

    @property
    def lendable(self) -> Amount:
        """The part of min that others may use now."""
        return max(0, self.min - max(self.used, self.guarantee))


NO_NUMBERS = Numbers()
GroupNumbers = Mapping[FlavorResource, Numbers]
