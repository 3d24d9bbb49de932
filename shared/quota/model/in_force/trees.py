"""The tree in force at a moment, and the next moment at which it can be another one."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

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
    """A tree as it is `written`, and the one that is in force of it from `since` until before `border`."""

    written: Tree
    in_force: Tree
    since: datetime
    border: datetime | None

    @classmethod
    def at(cls, written: Tree, now: datetime) -> "DatedTree":
        """Return what is in force at `now`."""
        return cls(written, tree_in_force(written, now), now, next_border(written, now))

    def holds(self, now: datetime) -> bool:
        """Return whether this is still what is in force. A clock that went back ends it, too."""
        return self.since <= now and (self.border is None or now < self.border)


def _timed(tree: Tree) -> Iterator[Group]:
    return (group for group in tree.groups.values() if group.overrides or group.windows)


def _borders(group: Group, now: datetime) -> Iterator[datetime]:
    for amendment in amendments_after(group, now):
        yield amendment.start if now < amendment.start else amendment.end
