"""One group's numbers for one key while they are computed."""

from shared.quota.measure.group_usage import Numbers
from shared.quota.model.limits import Limits
from shared.quota.model.tree import ROOT
from shared.resources import Amount


class GroupDraft:
    """One group's numbers while they are computed; `previous` are those it had, NO_NUMBERS when it had none."""

    __slots__ = (
        "charge",
        "demand",
        "kept",
        "kept_below",
        "limits",
        "name",
        "non_preemptible",
        "previous",
        "request",
        "runtime",
        "used",
        "waiting_since",
    )

    def __init__(self, name: str, limits: Limits, previous: Numbers) -> None:
        self.name = name
        self.limits = limits
        self.previous = previous
        self.used, self.non_preemptible, self.request = previous.used, previous.non_preemptible, previous.request
        self.demand, self.runtime, self.charge = previous.demand, previous.runtime, previous.charge
        self.waiting_since, self.kept, self.kept_below = previous.waiting_since, previous.kept, previous.kept_below

    def resolve_demand(self) -> None:
        """Compute the demand from the request and the limits, and what the group keeps from turns of others."""
        limits = self.limits
        self.demand = max(limits.guarantee, min(limits.ceiling, self.request))
        floor = max(min(limits.min, self.demand), self.non_preemptible, limits.guarantee)
        self.kept = max(floor, self.kept_below)

    def contribution(self) -> Amount:
        """Return what it costs its parent."""
        return max(min(self.limits.guarantee, self.runtime), self.charge)

    def previous_contribution(self) -> Amount:
        """Return what it cost its parent."""
        return max(self.previous.idle_charge, self.previous.charge)

    def numbers(self, effective_min: Amount) -> Numbers:
        """Return the finished numbers."""
        ceiling = self.limits.ceiling
        return Numbers(
            min=self.limits.min,
            effective_min=effective_min,
            guarantee=self.limits.guarantee,
            ceiling=ceiling,
            limit=min(ceiling, self.runtime) if self.name == ROOT else ceiling,
            weight=self.limits.weight,
            request=self.request,
            used=self.used,
            non_preemptible=self.non_preemptible,
            kept=self.kept,
            kept_below=self.kept_below,
            charge=self.charge,
            idle_charge=min(self.limits.guarantee, self.runtime),
            demand=self.demand,
            runtime=self.runtime,
            waiting_since=self.waiting_since,
        )
