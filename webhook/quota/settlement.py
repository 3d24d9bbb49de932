"""What became of accepted edits: which may still be stored, and which the recorded may forget.

An edit is forgotten only when it is known what became of it, and by which resourceVersion. That becomes the recorded's
floor: a replica whose watch has not come so far knows less, and reads the groups consistently instead.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from webhook.quota.consistent_read import StoredState
from webhook.quota.edit_round import Ordered
from webhook.quota.quotagroups import KIND as GROUP
from webhook.quota.reservations import Reservation, Reservations, is_open, number


@dataclass(frozen=True, slots=True)
class Settlement:
    """`still`: may yet be stored. `kept`: will not, but is not to be forgotten yet. `floor`: for what is forgotten."""

    still: tuple[Reservation, ...]
    kept: tuple[Reservation, ...]
    floor: int


def resolve(recorded: Reservations, stored: StoredState, is_over: Callable[[Reservation], bool]) -> Settlement:
    """Compare the recorded with what is stored. `is_over`: so long ago that the API server no longer stores it.

    A watch that lags could take for over what was stored long ago: only a consistent read ends an edit by its age.
    """
    still, kept, floor = [], [], recorded.floor
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


def without_superseded(resolved: Settlement, accepted: Iterable[Ordered]) -> Settlement:
    """An edit that starts from a state shows what became of all earlier edits of its object: they are forgotten."""
    bases: dict[tuple[str, str], int] = {}
    for edit in accepted:
        if edit.base:
            bases[edit.kind, edit.name] = max(number(edit.base), bases.get((edit.kind, edit.name), 0))
    if not bases:
        return resolved
    known = [each for each in resolved.still if number(each.base) < bases.get((each.kind, each.name), 0)]
    floor = max([resolved.floor, *(bases[each.kind, each.name] for each in known if each.kind == GROUP)])
    return Settlement(tuple(each for each in resolved.still if each not in known), resolved.kept, floor)
