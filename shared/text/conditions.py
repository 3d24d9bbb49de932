"""Says in a few words what is exceptional about a group."""

from collections.abc import Iterable
from typing import Final

from shared.api.conditions import Condition

AMENDED: Final = "Amended"
"""An override or a window of the group is in force."""


def note_of(written: Iterable[Condition]) -> str:
    """Return anything exceptional: the reasons of conditions, and a stop policy."""
    conditions = {condition.type: condition for condition in written}
    active = conditions.get("Active")
    notes = [active.reason] if active and active.status == "False" else []
    notes += [
        kind
        for kind in ("OverRuntime", "Stopped", "Drained", AMENDED)
        if kind in conditions and conditions[kind].status == "True"
    ]
    within = conditions.get("WithinBudget")
    notes += [f"BudgetSpent: {within.reason}"] if within is not None and within.status == "False" else []
    return ", ".join(notes)
