"""What is said about a pending workload: changes that would let it start, and when it starts without them."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from shared.resources import Amount, FlavorResource


class RemedyAction(StrEnum):
    """What a person could do."""

    RAISE_MIN = "RaiseMin"
    RAISE_MAX = "RaiseMax"
    ADD_CAPACITY = "AddCapacity"
    ADD_NODE = "AddNode"
    WAIT_FOR = "WaitFor"
    EVICT = "Evict"
    RESUME = "Resume"
    SHRINK_REQUEST = "ShrinkRequest"


@dataclass(frozen=True, slots=True)
class Remedy:
    """One change, and the changes that it requires; fields that do not apply to the action are empty or 0."""

    do: RemedyAction
    group: str = ""
    flavor: str = ""
    resource: str = ""
    by: Amount = 0
    workload: str = ""
    pod_set: str = ""
    """For ShrinkRequest of a workload with several: which one."""
    like: str = ""
    """For AddNode: the node that the new ones are like."""
    also: tuple["Remedy", ...] = ()


@dataclass(frozen=True, slots=True)
class Advice:
    """Remedies, and when the workload starts if nothing is done; None: never."""

    starts_at: datetime | None
    remedies: tuple[Remedy, ...]


NO_ADVICE: Final = Advice(None, ())
"""Where remedies are not searched for."""


def raise_by(do: RemedyAction, group: str, key: FlavorResource, by: Amount) -> Remedy:
    """Raise a group's limit for one key."""
    return Remedy(do, group=group, flavor=key.flavor, resource=key.resource, by=by)
