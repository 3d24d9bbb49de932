"""Conditions in the status of objects: those that Quotree writes, and what it reads of other kinds' conditions."""

from collections.abc import Iterable
from datetime import datetime

from shared.api.json.reading import View


class Condition(View, frozen=True):
    """One condition of a QuotaGroup, whole as it is written."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None
    observed_generation: int = 0


class ObservedCondition(View, frozen=True):
    """What is read of a condition of a pod, Job or node; `status` is True, False or Unknown."""

    type: str = ""
    status: str = ""
    reason: str = ""
    last_transition_time: datetime | None = None


def is_true(conditions: Iterable[ObservedCondition], kind: str) -> bool:
    """Return whether the condition of that type is there with status True."""
    return any(condition.type == kind and condition.status == "True" for condition in conditions)
