"""What is said about a pending workload: changes that would let it start, and when it starts without them."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from shared.quota.model.budgets.budget import Budget
from shared.quota.outlook.advise.smallest import SmallestNumber
from shared.resources import Amount, FlavorResource


class RemedyAction(StrEnum):
    """What a person could do."""

    RAISE_MIN = "RaiseMin"
    RAISE_MAX = "RaiseMax"
    RAISE_BUDGET = "RaiseBudget"
    ADD_CAPACITY = "AddCapacity"
    ADD_NODE = "AddNode"
    WAIT_FOR = "WaitFor"
    EVICT = "Evict"
    RESUME = "Resume"
    SHRINK_REQUEST = "ShrinkRequest"
    FEWER_PODS = "FewerPods"
    OTHER_FLAVOR = "OtherFlavor"
    RAISE_LENDING_LIMIT = "RaiseLendingLimit"
    RAISE_PRIORITY = "RaisePriority"
    ALLOW_PREEMPTION = "AllowPreemption"


@dataclass(frozen=True, slots=True)
class Remedy:
    """One change, and the changes that it requires; fields that do not apply to the action are empty or 0."""

    do: RemedyAction
    group: str = ""
    flavor: str = ""
    resource: str = ""
    by: Amount = 0
    is_sure: bool = True
    """Whether no smaller number was seen to be possible; else it is an example."""
    percent: str = ""
    """What to write instead of an amount, where the limit is a percent."""
    priority: int | None = None
    """For RaisePriority: the least priority that suffices."""
    workload: str = ""
    pod_set: str = ""
    """For ShrinkRequest and FewerPods of a workload with several pod sets: the one to shrink."""
    like: str = ""
    """For AddNode: the node that the new ones are like."""
    budget: Budget | None = None
    """For RaiseBudget: the budget as it would be written."""
    also: tuple["Remedy", ...] = ()
    """To be done before, in this order."""


@dataclass(frozen=True, slots=True)
class Advice:
    """Remedies, and when the workload starts if nothing is done; None: never."""

    starts_at: datetime | None
    remedies: tuple[Remedy, ...]


NO_ADVICE: Final = Advice(None, ())
"""Where remedies are not searched for."""


def raise_by(do: RemedyAction, group: str, key: FlavorResource, found: SmallestNumber) -> Remedy:
    """Raise a group's limit for one key."""
    return Remedy(do, group=group, flavor=key.flavor, resource=key.resource, by=found.number, is_sure=found.is_sure)
