"""One group's numbers for one key while they are computed, and what the division of its parent sees of them."""

from datetime import datetime
from typing import Final, NamedTuple

from shared.quota.measure.fair_share import Sibling, floor_of
from shared.quota.measure.group_usage import NO_NUMBERS, Numbers
from shared.quota.model.limits import Limits
from shared.resources import Amount


class Family(NamedTuple):
    """The children of one parent, for one key: their wants together, and what the last division showed."""

    wants: Amount = 0
    depends_on_order: bool = False
    """Whether their runtimes depend on use, past use and waiting times."""


NO_FAMILY: Final = Family()


def floor_in(numbers: Numbers) -> Amount:
    """Return what the group got before anything was shared by weight."""
    return floor_of(numbers.min, numbers.guarantee, numbers.non_preemptible, numbers.demand)


def want_in(numbers: Numbers) -> Amount:
    """Return what the group would have got if there had been enough for all."""
    floor = floor_in(numbers)
    return max(floor, numbers.demand) if numbers.weight else floor


def sibling_in(name: str, numbers: Numbers, past_use: Amount, waiting_since: datetime | None) -> Sibling:
    """Return a group whose numbers are known, as the division of its parent sees it."""
    return Sibling(
        name=name,
        min=numbers.min,
        weight=numbers.weight,
        guarantee=numbers.guarantee,
        non_preemptible=numbers.non_preemptible,
        demand=numbers.demand,
        used=numbers.used,
        past_use=past_use,
        waiting_since=waiting_since,
    )


class GroupDraft:
    """One group's numbers while they are computed; `previous` are those it had, NO_NUMBERS when it had none."""

    __slots__ = (
        "charge",
        "demand",
        "depends_on_order",
        "floor",
        "is_new",
        "limits",
        "name",
        "non_preemptible",
        "past_use_changed",
        "previous",
        "previous_waiting_since",
        "request",
        "runtime",
        "touched",
        "used",
        "waiting_since",
        "want",
        "wants",
    )

    def __init__(
        self, name: str, limits: Limits, previous: Numbers | None, family: Family, waiting_since: datetime | None
    ) -> None:
        self.name = name
        self.limits = limits
        self.is_new = previous is None
        self.previous = previous = NO_NUMBERS if previous is None else previous
        self.used, self.non_preemptible, self.request = previous.used, previous.non_preemptible, previous.request
        self.demand, self.runtime, self.charge = previous.demand, previous.runtime, previous.charge
        self.floor, self.want = floor_in(previous), want_in(previous)
        self.wants, self.depends_on_order = family
        self.waiting_since = self.previous_waiting_since = waiting_since
        self.past_use_changed = False
        self.touched: list[GroupDraft] = []

    def resolve_demand(self) -> None:
        """Compute what follows from the sums and the limits."""
        limits = self.limits
        self.demand = max(limits.guarantee, min(limits.ceiling, self.request))
        self.floor = floor_of(limits.min, limits.guarantee, self.non_preemptible, self.demand)
        self.want = max(self.floor, self.demand) if limits.weight else self.floor

    @property
    def is_touched(self) -> bool:
        """Whether its parent might have to be divided again because of it."""
        return self.want != want_in(self.previous) or not self.divides_as_before() or not self.is_ordered_as_before()

    def divides_as_before(self) -> bool:
        """Whether the division sees no difference but in what it wants, and in the order of the remaining units."""
        previous, limits = self.previous, self.limits
        return (
            not self.is_new
            and self.floor == floor_in(previous)
            and self.non_preemptible == previous.non_preemptible
            and limits.min == previous.min
            and limits.weight == previous.weight
        )

    def is_ordered_as_before(self) -> bool:
        """Return whether its place in the order of the remaining units depends on the same values."""
        return (
            self.used == self.previous.used
            and not self.past_use_changed
            and self.waiting_since == self.previous_waiting_since
        )

    def stays_hungry(self) -> bool:
        """Return whether it wanted more than it got and still does: then how much more makes no difference."""
        return self.divides_as_before() and min(self.want, want_in(self.previous)) > self.previous.runtime

    def contribution(self) -> Amount:
        """Return what it costs its parent."""
        return max(min(self.limits.guarantee, self.runtime), self.charge)

    def previous_contribution(self) -> Amount:
        """Return what it cost its parent."""
        return max(min(self.previous.guarantee, self.previous.runtime), self.previous.charge)

    def numbers(self, effective_min: Amount) -> Numbers:
        """Return the finished numbers."""
        return Numbers(
            min=self.limits.min,
            effective_min=effective_min,
            guarantee=self.limits.guarantee,
            ceiling=self.limits.ceiling,
            weight=self.limits.weight,
            request=self.request,
            used=self.used,
            non_preemptible=self.non_preemptible,
            charge=self.charge,
            demand=self.demand,
            runtime=self.runtime,
        )
