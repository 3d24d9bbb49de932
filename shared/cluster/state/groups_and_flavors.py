"""QuotaGroups and ResourceFlavors as the watches report them: the tree in force, and whom a group admits. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from shared.api.core.metadata import LONG_AGO
from shared.cluster.state.faults.register import Faults
from shared.cluster.state.faults.tree_reading import read_tree
from shared.cluster.state.observed.projections import GroupStatusRecord
from shared.kube.watch.cache import Change, transitions
from shared.quota.measure.accounts.account_book import AccountBook
from shared.quota.measure.accounts.budgets.written import spent_as_shown, used_as_shown
from shared.quota.measure.inputs.world import World
from shared.quota.model.counts.entries import counts_on_path
from shared.quota.model.flavor import Flavor
from shared.quota.model.in_force import DatedTree
from shared.quota.model.membership import admits, has_own_label, is_bound_elsewhere, path_of, selector_of
from shared.quota.model.settings import QuotaSettings, UnlabelledNamespaces
from shared.quota.model.tree import ROOT, Group, Tree


class GroupsAndFlavors:
    """The groups and flavors that there are."""

    def __init__(self, settings: QuotaSettings, faults: Faults) -> None:
        self.groups: dict[str, GroupStatusRecord] = {}
        """By name."""
        self.flavors: dict[str, Flavor] = {}
        self.changed = True
        """Whether the tree must be read again."""
        self._settings = settings
        self._faults = faults
        self._tree = DatedTree(Tree.of(()), Tree.of(()), LONG_AGO, None)
        self._admittances: dict[str, tuple[object, ...]] = {}

    def advance(self, now: datetime) -> None:
        """Let time pass: another tree can be in force by `now`."""
        if not self._tree.holds(now):
            self.changed = True

    @property
    def border(self) -> datetime | None:
        """The moment from which another tree is in force."""
        return self._tree.border

    def put_into(self, world: World, now: datetime) -> World:
        """Return the world with the tree that is in force at `now`."""
        self._tree, flavors, inactive = read_tree(
            self.groups, self.flavors, self._faults, self._settings.max_depth, now
        )
        self.changed = False
        return replace(world, flavors=flavors, inactive=inactive).with_tree(self._tree)

    def put_spent_into(self, world: World, now: datetime, accounts: AccountBook | None) -> World:
        """Return the world with what follows from the budgets that are spent at that moment.

        Without accounts, because this process does not lead, the statuses say which.
        """
        tree = self._tree.in_force
        if accounts is None:
            statuses = [(name, each.status) for name, each in self.groups.items() if each.status.budgets]
            spent = spent_as_shown(tree, statuses, now)
            used = used_as_shown(spent, statuses)
        else:
            spent = accounts.spent(tree, world, now)
            used = accounts.budgets.used_of_spent
        world = world if spent == world.spent else world.with_tree(self._tree).with_spent(spent)
        return replace(world, budgets_used=used) if used else world

    def observe_groups(self, changes: Sequence[Change[GroupStatusRecord]]) -> bool:
        """Process changes of QuotaGroups; return whether other namespaces can be admitted than before.

        A change of status alone changes no decision. An edit that says the same in other words changes none either, but
        is shown: people wait for its generation.
        """
        is_moved = False
        for before, after in transitions(changes):
            old = None if before is None else before.group
            new = None if after is None else after.group
            if old is not None:
                self.groups.pop(old.name, None)
            if after is not None:
                self.groups[after.group.name] = after
            if old == new and _generation(before) == _generation(after):
                continue
            self.changed = True
            if _place_and_selector(old) != _place_and_selector(new):
                is_moved = True
        return is_moved

    def observe_flavors(self, changes: Sequence[Change[Flavor]]) -> bool:
        """Process changes of ResourceFlavors; return whether one says something else than before."""
        found = [(before, after) for before, after in transitions(changes) if before != after]
        for before, after in found:
            if before is not None:
                self.flavors.pop(before.name, None)
            if after is not None:
                self.flavors[after.name] = after
        self.changed = self.changed or bool(found)
        return bool(found)

    def admits(self, group: str, labels: Mapping[str, str]) -> bool:
        """Return whether the group takes workloads of a namespace with these labels."""
        if group not in self.groups:
            return True
        if self._settings.unlabelled_namespaces is UnlabelledNamespaces.DENY and not has_own_label(labels):
            return False
        if self._settings.namespace_label_binds and is_bound_elsewhere(self.group, group, labels):
            return False
        return admits(self.group, group, labels, open_groups=self._settings.open_groups)

    def group(self, name: str) -> Group | None:
        """Return the group of that name."""
        record = self.groups.get(name)
        return None if record is None else record.group

    def admitting_others(self) -> set[str]:
        """Return the groups whose admitted namespaces have changed since the last call."""
        before, self._admittances = self._admittances, {name: self._admittance(name) for name in self.groups}
        return {name for name in before | self._admittances if before.get(name) != self._admittances.get(name)}

    def _admittance(self, name: str) -> tuple[object, ...]:
        """Return what determines which namespaces and admissions the group admits."""
        path = [(group.name, *_flavors(group)) for group in path_of(self.group, name) if group.name != ROOT]
        return (selector_of(self.group, name), counts_on_path(self.group, name), *path)


def _generation(record: GroupStatusRecord | None) -> int:
    return 0 if record is None else record.generation


def _place_and_selector(group: Group | None) -> tuple[object, ...]:
    """Return the fields of a group that determine which namespaces and admissions it and its subtree admit."""
    return () if group is None else (group.parent, group.namespace_selector, _flavors(group))


def _flavors(group: Group) -> tuple[object, ...]:
    return tuple((entry.flavor, entry.covered) for entry in group.quotas)
