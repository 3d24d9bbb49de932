"""The coming week: at which moments another tree is in force, and what its groups say then."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from dashboard.view.frame import Frame
from shared.api.json.reading import write_moment
from shared.json_data import Json
from shared.percents import write_percent
from shared.quota.model.in_force import amendments_at, group_in_force, next_border
from shared.quota.model.tree import Group, Tree
from shared.resources import FlavorResource
from shared.text.amendments import amended_text
from shared.text.quantities import readable

AHEAD: Final = timedelta(days=7)
MOST_BORDERS: Final = 300


def week(frame: Frame, key: FlavorResource) -> Json:
    """Return each span of the week in which one tree is in force: since when, and what groups with times say then."""
    timed = [each.group for each in frame.groups.values() if each.group.overrides or each.group.windows]
    timed.sort(key=lambda group: group.name)
    starts = [frame.now, *_borders(Tree.of(timed), frame.now)]
    return {
        "frame": frame.number,
        "from": write_moment(frame.now),
        "until": write_moment(frame.now + AHEAD),
        "spans": [
            {"from": write_moment(at), "groups": [_said(group, key, at, frame.now) for group in timed]} for at in starts
        ],
    }


def _borders(tree: Tree, now: datetime) -> Iterator[datetime]:
    border = next_border(tree, now)
    for _ in range(MOST_BORDERS):
        if border is None or border > now + AHEAD:
            return
        yield border
        border = next_border(tree, border)


def _said(group: Group, key: FlavorResource, at: datetime, now: datetime) -> Json:
    """Return the group's numbers of that key then, and whether they differ from those that are in force now."""
    then, today = group_in_force(group, at), group_in_force(group, now)
    return {
        "group": group.name,
        "amended": amended_text(amendments_at(group, at)),
        "stopPolicy": then.stop_policy.value,
        "differs": (then.quotas, then.stop_policy) != (today.quotas, today.stop_policy),
        "text": {word: _text(then, key, word) for word in ("min", "max")},
    }


def _text(group: Group, key: FlavorResource, word: str) -> str:
    """Return one number; empty where the group has none of its own."""
    entry = group.entry(key.flavor)
    if entry is None:
        return ""
    percent, amount = entry.percents.get(word, {}).get(key.resource), getattr(entry, word).get(key.resource)
    if percent is not None:
        return write_percent(percent)
    return "" if amount is None else readable(key.resource, amount)
