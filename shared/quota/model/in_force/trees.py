"""The tree in force at a moment, and the next moment at which it can be another one."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import NamedTuple

from shared.api.durations import earlier
from shared.api.json.reading import write_moment
from shared.quota.model.in_force.amendments import amendments_after, group_in_force
from shared.quota.model.tree import Group, Tree


def tree_in_force(tree: Tree, now: datetime) -> Tree:
    """Return the tree as it is at `now`, of the tree as it is written; the same object if nothing amends it."""
    amended = {group.name: group_in_force(group, now) for group in _timed(tree)}
    return tree.with_same_parents({name: group for name, group in amended.items() if group is not tree[name]})


def next_border(tree: Tree, now: datetime) -> datetime | None:
    """Return the first moment after `now` at which an override or window begins or ends; None: never again.

    The tree in force is one and the same from `now` until then.
    """
    return min((border for group in _timed(tree) for border in _borders(group, now)), default=None)


@dataclass(frozen=True, slots=True)
class DatedTree:
    """A tree as it is `written`, and the one that is in force of it from `since` until before `border`.

    A moment at which notice of a border is due is one, too.
    """

    written: Tree
    in_force: Tree
    since: datetime
    border: datetime | None

    @classmethod
    def at(cls, written: Tree, now: datetime) -> "DatedTree":
        """Return what is in force at `now`."""
        due = (each for group in _timed(written) for each in _notices_due(group, now) if each > now)
        moments = (*due, next_border(written, now))
        return cls(written, tree_in_force(written, now), now, min(filter(None, moments), default=None))

    def holds(self, now: datetime) -> bool:
        """Return whether this is still what is in force. A clock that went back ends it, too."""
        return self.since <= now and (self.border is None or now < self.border)


def _timed(tree: Tree) -> Iterator[Group]:
    return (group for group in tree.groups.values() if group.overrides or group.windows)


def _borders(group: Group, now: datetime) -> Iterator[datetime]:
    for amendment in amendments_after(group, now):
        yield amendment.start if now < amendment.start else amendment.end


class Announcement(NamedTuple):
    """A border of which notice is due, and what begins or ends then."""

    at: datetime
    said: str


def announced(tree: Tree, since: datetime, now: datetime) -> list[Announcement]:
    """Return the borders after `since` of which notice is due by `now`, the nearest first, each moment once.

    A window that has closed since then tells of that, and of its next beginning and end.
    """
    found: dict[datetime, str] = {}
    for group in _timed(tree):
        for amendment in chain.from_iterable(amendments_after(group, moment) for moment in dict.fromkeys((since, now))):
            before = amendment.said.notice_before
            for at, word in ((amendment.start, "begins"), (amendment.end, "ends")):
                if before and since < at and earlier(at, before) <= now:
                    found.setdefault(at, f"{amendment.field} of group {group.name!r} {word} at {write_moment(at)}")
    return [Announcement(at, found[at]) for at in sorted(found)]


def _notices_due(group: Group, now: datetime) -> Iterator[datetime]:
    for amendment in amendments_after(group, now):
        for border in (amendment.start, amendment.end):
            if amendment.said.notice_before:
                yield earlier(border, amendment.said.notice_before)
