"""Says which overrides and windows are in force in a group, and until when, or which is next."""

from collections.abc import Iterable
from datetime import datetime

from shared.api.json.reading import write_moment
from shared.quota.model.in_force import Amendment, amendments_at
from shared.quota.model.in_force.amendments import amendments_after
from shared.quota.model.tree import Group


def amended_text(amendments: Iterable[Amendment]) -> str:
    """Return them with their ends and reasons, the strongest first; empty if there is none."""
    return "; ".join(f"{each.field} until {write_moment(each.end)}{_reason(each)}" for each in amendments)


def next_text(group: Group, now: datetime) -> str:
    """Return the amendment that begins next; empty if there is none."""
    ahead = [each for each in amendments_after(group, now) if each.start > now]
    if not ahead:
        return ""
    first = min(ahead, key=lambda each: each.start)
    return f"{first.field} from {write_moment(first.start)} until {write_moment(first.end)}{_reason(first)}"


def timed_text(group: Group, now: datetime) -> str:
    """Return what amends the group now, else what does so next; empty for a group that is never amended again."""
    return amended_text(amendments_at(group, now)) or next_text(group, now)


def _reason(amendment: Amendment) -> str:
    return f" ({amendment.said.reason})" if amendment.said.reason else ""
