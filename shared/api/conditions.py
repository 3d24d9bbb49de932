"""What an object's status says about it in conditions, and how a condition changes."""

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from shared.api.reading import View


class Condition(View, frozen=True):
    """One condition as Kubernetes wants it written; times in UTC, whole seconds."""

    type: str
    status: str
    reason: str
    message: str = ""
    last_transition_time: datetime | None = None
    observed_generation: int = 0


def updated(present: Sequence[Condition], wanted: Iterable[Condition], now: datetime) -> tuple[Condition, ...]:
    """`wanted`, sorted by type, each with the time since when its status is what it is; others of `present` stay."""
    before = {condition.type: condition for condition in present}
    after = dict(before)
    for condition in wanted:
        old = before.get(condition.type)
        unchanged = old is not None and old.status == condition.status and old.last_transition_time is not None
        since = old.last_transition_time if old is not None and unchanged else now.replace(microsecond=0)
        after[condition.type] = msgspec.structs.replace(condition, last_transition_time=since)
    return tuple(after[kind] for kind in sorted(after))
