"""The groups below which workloads wait, and a bound for the requests of each, kept from cycle to cycle."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from shared.quota.decide.state.smallest_requests import SmallestRequests, merge, merged
from shared.quota.decide.state.usage import GroupPath
from shared.quota.measure.group_usage import GroupNumbers
from shared.quota.model.tree import ROOT

_FEW: Final = 16
"""A group's bound is computed again after as many changes below it as it has children, and at least so many."""


class WaitingTree:
    """Parents and children on the paths of leaves with pending workloads that may start."""

    __slots__ = ("_guaranteed", "_guaranteed_below", "_merges", "children", "outdated", "paths", "requests")

    def __init__(self, numbers: Mapping[str, GroupNumbers], parents: Mapping[str, str | None]) -> None:
        self.children: dict[str, set[str]] = {}
        self.paths: dict[str, GroupPath] = {}
        """By parent: names from it up to root; also of parents below which nothing waits any more."""
        self.requests: dict[str, SmallestRequests] = {}
        """By group: a bound for all that waits there."""
        self.outdated: set[str] = set()
        """Leaves that are not as they were when `update` saw them last."""
        self._merges: dict[str, int] = {}
        self._guaranteed: set[str] = set()
        self._guaranteed_below: set[str] = set()
        for name, by_key in numbers.items():
            if any(each.guarantee > 0 for each in by_key.values()):
                self._guaranteed.add(name)
                self._mark(parents.get(name), parents)

    def _mark(self, group: str | None, parents: Mapping[str, str | None]) -> None:
        while group is not None and group not in self._guaranteed_below:
            self._guaranteed_below.add(group)
            group = parents.get(group) or (None if group == ROOT else ROOT)

    def has_guarantee(self, group: str) -> bool:
        """Return whether the group itself keeps a guarantee."""
        return group in self._guaranteed

    def has_guarantee_below(self, group: str) -> bool:
        """Return whether a group below keeps a guarantee, so that more is available there than in `group` itself."""
        return group in self._guaranteed_below

    def bounds(self, group: str) -> tuple[GroupPath, ...]:
        """Paths to judge by what is available in `group`: its parent's, where that has no less, and then its own.

        What is available in the parent is the same for all siblings, so that most of them are judged by known numbers.
        """
        path = self.paths[group]
        return (path,) if len(path) == 1 or group in self._guaranteed else (path[1:], path)

    def add(self, path: GroupPath) -> None:
        """Workloads wait in the leaf at the start of `path`."""
        for place, (child, parent) in enumerate(pairwise(path), start=1):
            self.children.setdefault(parent, set()).add(child)
            if parent not in self.paths:
                self.paths[parent] = path[place:]

    def discard(self, path: GroupPath) -> None:
        """None wait there any more."""
        self.requests.pop(path[0], None)
        self.outdated.discard(path[0])
        for child, parent in pairwise(path):
            if not self.children.get(child) and parent in self.children:
                self.children[parent].discard(child)

    def update(self, path: GroupPath, requests: SmallestRequests) -> None:
        """Set the leaf's requests, and lower the bounds of the groups above it, or compute them again."""
        self.outdated.discard(path[0])
        if self.requests.get(path[0]) is requests:
            return
        self.requests[path[0]] = requests
        for parent in path[1:]:
            changes = self._merges.get(parent, 0) + 1
            if changes > max(_FEW, len(self.children[parent])):
                changes = 0
                known = (self.requests.get(child) for child in self.children[parent])
                self.requests[parent] = merged(each for each in known if each is not None)
            else:
                merge(self.requests.setdefault(parent, {}), requests)
            self._merges[parent] = changes
