"""The victims of a round, their preemptors, and the room reserved until delayed victims can be evicted."""

from dataclasses import dataclass, field

from shared.quota.decide.decisions import EvictionRule
from shared.quota.decide.recycling_order import RunningWorkload
from shared.quota.decide.state.leaf_usage import LeafUsage
from shared.quota.decide.state.round_usage import RoundUsage
from shared.quota.decide.state.usage import GroupKey, Quantities
from shared.quota.model.workload import EvictionReason, Flavors, Workload, WorkloadId
from shared.resources import Amount, FlavorResource


@dataclass(slots=True, eq=False)
class Preemptor:
    """Describes a pending workload for which victims are evicted, or capacity is reserved."""

    workload: Workload
    leaf_usage: LeafUsage
    flavors: Flavors
    quantities: Quantities
    victims: list["Victim"] = field(default_factory=list)
    bounds: Quantities = ()
    """key -> the most that the leaf's charge can become by a swap. Empty for an entitled preemptor."""

    @property
    def swaps(self) -> bool:
        """Whether it replaces workloads of its own leaf without being entitled."""
        return bool(self.bounds)


@dataclass(slots=True, eq=False)
class Victim:
    """Describes a running workload that this cycle plans to evict: for whom, by which rule, for which group and key."""

    running: RunningWorkload
    leaf_usage: LeafUsage
    reason: EvictionReason
    rule: EvictionRule
    group: str
    key: FlavorResource | None = None
    preemptor: Preemptor | None = None

    @property
    def workload(self) -> Workload:
        """The victim itself."""
        return self.running.workload

    @property
    def id(self) -> WorkloadId:
        """The id of the victim."""
        return self.running.id


class EvictionPlan:
    """Lists the victims and preemptors of one round. The steps that plan them change the usage."""

    __slots__ = ("_counted", "delayed", "forced", "most_used", "preemptors", "victims")

    def __init__(self) -> None:
        self.victims: list[Victim] = []
        """Victims for a preemptor or against an excess; those that turn out not to be needed stay (`fill_back`)."""
        self.forced: list[Victim] = []
        """Victims that go in any case: in stopped groups, after failed starts, by Strict mode."""
        self.most_used: dict[GroupKey, Amount] = {}
        """(group, key) -> the most that used can be: the limits for which workloads are evicted."""
        self.preemptors: list[Preemptor] = []
        self.delayed: list[Preemptor] = []
        """Preemptors whose capacity is reserved, although their victims cannot be evicted yet."""
        self._counted: list[Preemptor] | None = None

    def commit(self, preemptor: Preemptor) -> None:
        """Carry out the plan of this preemptor: its victims go."""
        self.victims.extend(preemptor.victims)
        self.preemptors.append(preemptor)

    def delay(self, usage: RoundUsage, preemptor: Preemptor) -> None:
        """Reserve capacity that is only delayed: counted in its leaf at once, elsewhere while others borrow."""
        preemptor.leaf_usage.reserve(preemptor.quantities, preemptor.workload)
        self.delayed.append(preemptor)
        if self._counted is not None:
            self._counted.append(preemptor)
            usage.planned.add(preemptor.leaf_usage.path, preemptor.quantities)

    def count_delayed(self, usage: RoundUsage) -> None:
        """Count delayed reservations in `planned`, so that no borrower takes their capacity."""
        self._counted = list(self.delayed)
        for preemptor in self._counted:
            usage.planned.add(preemptor.leaf_usage.path, preemptor.quantities)

    def uncount_delayed(self, usage: RoundUsage) -> None:
        """Undo `count_delayed`: victims are selected on what is used and claimed only."""
        for preemptor in self._counted or ():
            usage.planned.remove(preemptor.leaf_usage.path, preemptor.quantities)
        self._counted = None
