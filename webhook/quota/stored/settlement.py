"""What became of accepted edits: which might still be stored, and which can be forgotten.

An edit is forgotten only when what was read shows what became of it, and by which resourceVersion: that becomes the
floor of the coordination object. A replica whose watch has not reached the floor knows less, and reads the groups
consistently instead. Nothing that a review says ends a reservation or raises the floor.
"""

from collections.abc import Callable
from dataclasses import dataclass

from webhook.quota.edits import GROUP, number
from webhook.quota.stored.consistent_read import StoredState
from webhook.quota.stored.reservations import Reservation, Reservations, is_open


@dataclass(frozen=True, slots=True)
class Settlement:
    """`still`: might yet be stored. `kept`: cannot, but must not be dropped yet. `floor`: of what is dropped."""

    still: tuple[Reservation, ...]
    kept: tuple[Reservation, ...]
    floor: int


def resolve(recorded: Reservations, stored: StoredState, is_over: Callable[[Reservation], bool]) -> Settlement:
    """Compare the reservations with what is stored. `is_over`: so long ago that the API server no longer stores it.

    A watch that lags could take for over what was stored long ago: only a consistent read ends an edit by its age. It
    also corrects a floor that is above everything stored.

    Reserved: an update of vision, based on version 40. Stored is vision at 40: it might still be stored, so it counts.
    Stored at 47: some edit was stored since, this one or another that makes it a conflict; forgotten, floor 47.
    Not stored at all in a consistent read: deleted meanwhile; kept until it is over.
    """
    still, kept = [], []
    floor = min(recorded.floor, stored.revision) if stored.is_newest else recorded.floor
    for each in recorded.reservations:
        seen = stored.version(each.kind, each.name)
        over = stored.is_newest and is_over(each)
        if is_open(each, seen, stored.revision):
            if not over:
                still.append(each)
        elif seen is None and stored.is_newest and not over:
            kept.append(each)
        elif each.kind == GROUP:
            floor = max(floor, stored.revision if seen is None else number(seen.resource_version))
    return Settlement(tuple(still), tuple(kept), floor)
