"""The tree and the flavors as the watches report them: used for everything but serialised edits.

It might lag behind what is stored; `edit_serializer` uses it only up to its `revision`.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import suppress
from datetime import datetime

import msgspec

from shared.api.core.metadata import LONG_AGO
from shared.api.json.reading import ResourceList, Unreadable
from shared.api.quotagroup import read_quota_group
from shared.kube.client import Client
from shared.kube.resources import QUOTA_GROUPS, RESOURCE_FLAVORS
from shared.kube.watch.cache import Change, transitions
from shared.kube.watch.watches import Watches
from shared.kube.watch.watching import Watch
from shared.quota.model.flavor import Flavor
from shared.quota.model.in_force import DatedTree
from shared.quota.model.node import LargestNodes
from shared.quota.model.read.groups import group_of, read_flavor, read_group
from shared.quota.model.tree import ROOT, Amounts, Group, Tree
from shared.resources import Amount, FlavorResource, QuantityError, read_amount
from webhook.quota.edits import GROUP, number, read_version
from webhook.quota.stored.consistent_read import StoredState
from webhook.quota.stored.reservations import StoredVersion

Keyed = Mapping[FlavorResource, Amount]


class StoredGroup(msgspec.Struct, frozen=True):
    """A group, its version, and its last status: `non_preemptible` of every group, `capacity` and `nodes` of root."""

    group: Group
    resource_version: str = ""
    leaving: bool = False
    non_preemptible: Keyed = {}
    capacity: Keyed = {}
    nodes: LargestNodes = {}
    measured: frozenset[str] = frozenset()
    """The flavors in the status."""


class QuotaCache:
    """Read from the same event loop; updated by the two watches it adds. `changed` is set at every change."""

    def __init__(self, client: Client, watches: Watches) -> None:
        self.tree = Tree.of(())
        self.flavors: Mapping[str, Flavor] = {}
        self.changed = asyncio.Event()
        self._records: dict[str, StoredGroup] = {}
        self._versions: dict[tuple[str, str], StoredVersion] = {}
        self._leaving: set[str] = set()
        self._dated = DatedTree(self.tree, self.tree, LONG_AGO, None)
        self._groups = watches.add(Watch(client, QUOTA_GROUPS, group_record, self.observe_groups))
        watches.add(Watch(client, RESOURCE_FLAVORS, read_flavor, self._observe_flavors))

    @property
    def revision(self) -> int:
        """The resourceVersion up to which the tree is true; 0 before the first list is complete."""
        return number(self._groups.version) if self._groups.synced.is_set() else 0

    def tree_at(self, now: datetime) -> Tree:
        """Return what is in force of the tree."""
        if self._dated.written is not self.tree or not self._dated.holds(now):
            self._dated = DatedTree.at(self.tree, now)
        return self._dated.in_force

    def stored(self) -> StoredState:
        """Return the groups as they are known now, without flavors."""
        return StoredState(self.tree, self._versions, frozenset(self._leaving), self.revision, is_newest=False)

    @property
    def capacity(self) -> Keyed | None:
        """The capacity of root from its status; None before the reconciler has written it."""
        record = self._records.get(ROOT)
        return record.capacity if record is not None and record.capacity else None

    @property
    def measured(self) -> frozenset[str]:
        """The flavors whose capacity the status of root has."""
        record = self._records.get(ROOT)
        return frozenset() if record is None else record.measured

    @property
    def largest_nodes(self) -> LargestNodes:
        """The largest nodes of each flavor from the status of root."""
        record = self._records.get(ROOT)
        return record.nodes if record is not None else {}

    def non_preemptible(self, group: str) -> Keyed:
        """Return what non-preemptible workloads use in the group."""
        record = self._records.get(group)
        return {} if record is None else record.non_preemptible

    def observe_groups(self, changes: Sequence[Change[StoredGroup]]) -> None:
        """Process changes of QuotaGroups, in their order: a group can appear and go within one read of the watch."""
        names = set()
        for before, after in transitions(changes):
            if before is not None:
                self._forget(before.group.name)
                names.add(before.group.name)
            if after is not None:
                self._remember(after)
                names.add(after.group.name)
        self._rebuild(names)
        self.changed.set()

    def _forget(self, name: str) -> None:
        self._records.pop(name, None)
        self._versions.pop((GROUP, name), None)
        self._leaving.discard(name)

    def _remember(self, record: StoredGroup) -> None:
        name = record.group.name
        self._records[name] = record
        self._versions[GROUP, name] = StoredVersion(record.group.uid, record.resource_version)
        if record.leaving:
            self._leaving.add(name)

    def _rebuild(self, names: Set[str]) -> None:
        if len(names) > 8:
            self.tree = Tree.of(record.group for record in self._records.values())
            return
        for name in names:
            record = self._records.get(name)
            if record is None:
                self.tree = self.tree.without(name)
            elif self.tree.get(name) != record.group:
                self.tree = self.tree.with_group(record.group)
        if ROOT not in self.tree:
            self.tree = Tree.of(self.tree.groups.values())

    def _observe_flavors(self, changes: Sequence[Change[Flavor]]) -> None:
        flavors = dict(self.flavors)
        for before, after in transitions(changes):
            if before is not None:
                flavors.pop(before.name, None)
            if after is not None:
                flavors[after.name] = after
        self.flavors = flavors
        self.changed.set()


def group_record(raw: bytes) -> StoredGroup:
    """Return the part of a QuotaGroup that is kept."""
    stored = read_version(raw)
    version = stored.resource_version
    try:
        view = read_quota_group(raw)
    except Unreadable:
        return StoredGroup(read_group(raw), version)
    quotas = view.status.quotas
    non_preemptible = _keyed((each.flavor, each.non_preemptible) for each in quotas)
    capacity = _keyed((each.flavor, each.capacity) for each in quotas)
    nodes = {
        each.flavor: tuple(map(_read_amounts, each.largest_nodes)) for each in quotas if each.largest_nodes is not None
    }
    measured = frozenset(each.flavor for each in quotas)
    return StoredGroup(group_of(view), version, stored.is_leaving, non_preemptible, capacity, nodes, measured)


def _keyed(by_flavor: Iterable[tuple[str, ResourceList]]) -> Keyed:
    found: dict[FlavorResource, Amount] = {}
    for flavor, quantities in by_flavor:
        amounts = _read_amounts(quantities).items()
        found.update((FlavorResource(flavor, resource), amount) for resource, amount in amounts)
    return found


def _read_amounts(quantities: ResourceList) -> Amounts:
    """Return the amounts, without unreadable ones."""
    found: dict[str, Amount] = {}
    for resource, quantity in quantities.items():
        with suppress(QuantityError):
            found[resource] = read_amount(resource, quantity)
    return found
