"""What is known about one group and one key: the words of the arithmetic, in base units."""

from collections.abc import Mapping

import msgspec

from shared.resources import Amount, FlavorResource


class Numbers(msgspec.Struct, frozen=True, gc=False):
    """One group's numbers for one flavor and resource. A parent's cover its whole subtree."""

    min: Amount = 0
    """Promised, as written; absent counts 0."""
    effective_min: Amount = 0
    """min, scaled down where the siblings' mins together exceed what their parent can promise."""
    guarantee: Amount = 0
    """The part of min that is kept for the group even while idle."""
    ceiling: Amount = 0
    """Never more than this."""
    weight: Amount = 0
    """The share of what is left over, inheritance of an absent weight applied."""
    request: Amount = 0
    """used, plus pending work that counts (leaf); the children's demand together (parent)."""
    used: Amount = 0
    """What admitted work asks for, until its pods have really ended."""
    non_preemptible: Amount = 0
    """The part of used that may not be taken back."""
    charge: Amount = 0
    """What the group costs its parent: used, plus what it keeps for idle groups below."""
    demand: Amount = 0
    """request, at least the guarantee, at most the ceiling."""
    runtime: Amount = 0
    """What the group may use now."""

    @property
    def borrowed(self) -> Amount:
        """What is used above min."""
        return max(0, self.used - self.min)

    @property
    def lendable(self) -> Amount:
        """The part of min that others may use now."""
        return max(0, self.min - max(self.used, self.guarantee))


NO_NUMBERS = Numbers()
GroupNumbers = Mapping[FlavorResource, Numbers]
