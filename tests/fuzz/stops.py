"""What must hold of groups that are different for a time: what is stopped starts nothing, and no group is illegal."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from shared.api.annotations import read_annotations
from shared.api.names import GROUP_LABEL
from shared.quota.model.in_force import tree_in_force
from shared.quota.model.lifecycle import STARTS_NOTHING
from shared.quota.model.read.groups import read_group
from shared.quota.model.rules import Context
from shared.quota.model.rules.over_time import check_tree_over_time
from shared.quota.model.tree import Group, Tree
from tests.chaos.judging.at_rest import Rest

KNOWN_WITHIN: Final = timedelta(seconds=15)
"""How long a decision and its write lag behind an edit, on a loaded machine."""
JUDGED_EVERY: Final = timedelta(seconds=10)


def tree_at(rest: Rest, now: datetime) -> Tree:
    """The tree in force."""
    return tree_in_force(Tree.of(read_group(each) for each in rest.lists["groups"]), now)


@dataclass(slots=True)
class Stops:
    """Keeps since when each group has been stopped, as far as was seen, without a break."""

    _since: dict[str, datetime] = field(default_factory=dict)
    _generations: dict[str, int] = field(default_factory=dict)
    _reported: set[str] = field(default_factory=set)

    def started(self, rest: Rest, now: datetime) -> Iterator[str]:
        """Yield each Job, once, that was started in a group that had been stopped.

        A group that was edited twice between two looks, or an override that began and ended, may have been open.
        """
        tree, edited_twice = tree_at(rest, now), self._edited_twice(rest)
        stopped = {name for name in tree.groups if _is_stopped(tree, name)}
        self._since = {
            name: since
            for name, since in self._since.items()
            if not any(each.name in edited_twice for each in _path(tree, name))
        }
        for body in rest.lists["jobs"]:
            group, uid = body["metadata"].get("labels", {}).get(GROUP_LABEL, ""), body["metadata"]["uid"]
            since, at = self._since.get(group), _admitted_at(body)
            if group not in stopped or not since or not at or uid in self._reported:
                continue
            if since + KNOWN_WITHIN < at <= now and _is_stopped(tree_at(rest, at), group):
                self._reported.add(uid)
                name = f"{body['metadata']['namespace']}/{body['metadata']['name']}"
                yield f"{name} was started at {at} in {group}, which has been stopped since {since}"
        self._since = {name: self._since.get(name, now) for name in stopped}

    def _edited_twice(self, rest: Rest) -> set[str]:
        """Return the groups of which a version between this look and the last one was not seen."""
        before = self._generations
        self._generations = {
            each["metadata"]["name"]: each["metadata"].get("generation", 1) for each in rest.lists["groups"]
        }
        return {name for name, each in self._generations.items() if each > before.get(name, each) + 1}


def has_budget(tree: Tree, name: str) -> bool:
    """Return whether the group or one above it has a budget."""
    return any(group.budgets for group in _path(tree, name))


def _is_stopped(tree: Tree, name: str) -> bool:
    return any(group.stop_policy in STARTS_NOTHING for group in _path(tree, name))


def _path(tree: Tree, name: str) -> Iterator[Group]:
    while (group := tree.get(name)) is not None:
        yield group
        name = group.parent or ""


def _admitted_at(body: dict[str, Any]) -> datetime | None:
    if body["spec"].get("suspend"):
        return None
    admission = read_annotations(body["metadata"].get("annotations", {})).admission
    return None if admission is None or admission.adopted else admission.time


@dataclass(slots=True)
class Legality:
    """Whether the stored groups are legal at every moment from now on, looked at when they have changed."""

    _looked: datetime | None = None
    _versions: list[Any] = field(default_factory=list)

    def broken(self, rest: Rest, now: datetime) -> Iterator[str]:
        """Yield each broken rule."""
        versions = [(each["metadata"]["name"], each["metadata"].get("generation")) for each in rest.lists["groups"]]
        if versions == self._versions or (self._looked and now - self._looked < JUDGED_EVERY):
            return
        self._looked, self._versions = now, versions
        stored = Tree.of(read_group(each) for each in rest.lists["groups"])
        yield from (f"stored: {each.text}" for each in check_tree_over_time(stored, Context(now=now)).violations)
