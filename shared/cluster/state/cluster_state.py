"""The cluster as the watches report it, overlaid with what was decided but is not yet seen. Pure.

The cost of `world()` is proportional to the changes since its last call.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from shared.api.core.job import Job
from shared.api.core.limitrange import LimitRange
from shared.api.core.metadata import LONG_AGO
from shared.api.core.namespace import Namespace
from shared.api.core.priority import PriorityClass
from shared.api.core.resource_claim import ClaimDevices
from shared.api.core.runtimeclass import RuntimeClass
from shared.cluster.state.faults.register import NODE, WORKLOAD, Fault, Faults, Subject
from shared.cluster.state.faults.tree_reading import set_aside_in_tree
from shared.cluster.state.faults.worlds import WorldPart, with_each
from shared.cluster.state.groups_and_flavors import GroupsAndFlavors
from shared.cluster.state.observed.kind_projection import KindRecord
from shared.cluster.state.observed.projections import FinishedOwner, GroupStatusRecord, PodRecord
from shared.cluster.state.owners_and_pods import OwnersAndPods
from shared.kube.watch.cache import Change, transitions
from shared.quota.measure.accounts.account_book import AccountBook
from shared.quota.measure.inputs.past_use import UseHistory
from shared.quota.measure.inputs.world import OverSince, World
from shared.quota.model.devices.claims import DeviceSource
from shared.quota.model.flavor import Flavor
from shared.quota.model.namespace_context import NamespaceContexts
from shared.quota.model.node import ClusterNode
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Tree
from shared.quota.model.workload import Workload

MOST_ASIDE: Final = 8
"""So many workloads of one leaf are set aside one by one; each takes a search."""


class ClusterState:
    """The input of every decision cycle. Used on one event loop; no method waits."""

    def __init__(self, settings: QuotaSettings) -> None:
        self.settings = settings
        self.faults = Faults()
        self.tree = GroupsAndFlavors(settings, self.faults)
        self._namespaces = NamespaceContexts(settings.devices)
        self.objects = OwnersAndPods(settings, self._namespaces, self.faults, self.tree.admits, self.tree.group)
        self.work = self.objects.work
        self._use = self.objects.use
        self._world = World(Tree.of(()), {}, {}, settings=settings)
        self._over_since: OverSince | None = None
        self.history = UseHistory(settings.fairness_half_life)
        """The past use of every group."""
        self.accounts: AccountBook | None = None
        """The accounts of all groups; None: this process does not lead."""

    def advance(self, now: datetime) -> None:
        """Let time pass: by `now`, what annotations say is read, and nodes are lost."""
        self._use.advance(now)
        self.tree.advance(now)

    def watched_since(self, now: datetime) -> None:
        """Since when every change is observed."""
        self._world = replace(self._world, watched_since=now)

    @property
    def changed(self) -> bool:
        """Whether the next `world()` may differ from the last."""
        return self.tree.changed or self._use.changed or self.work.changed

    def observe_jobs(self, changes: Sequence[Change[Job | FinishedOwner]]) -> None:
        """Process changes of Jobs, including finished and deleted ones."""
        seen = [*transitions(changes)]
        if self.accounts is not None:
            for _, after in seen:
                if isinstance(after, FinishedOwner) and after.end is not None:
                    self.accounts.uses.finish(after.key, after.end)
        self.objects.observe_owners(seen)

    def observe_kind_objects(self, changes: Sequence[Change[KindRecord]]) -> None:
        """Process changes of objects of governed kinds, including finished and deleted ones."""
        self.objects.observe_owners(transitions(changes))

    def observe_pods(self, changes: Sequence[Change[PodRecord]]) -> None:
        """Process changes of pods, including ended and deleted ones."""
        self.objects.observe_pods(transitions(changes))

    def observe_claims(self, source: DeviceSource, changes: Sequence[Change[ClaimDevices]]) -> None:
        """Process changes of ResourceClaims and their templates."""
        self.objects.observe_claims(source, changes)

    def observe_groups(self, changes: Sequence[Change[GroupStatusRecord]]) -> None:
        """Process changes of QuotaGroups."""
        if self.tree.observe_groups(changes):
            self.work.observed.read_again(self.work.index.keys_in(self.tree.admitting_others()))

    def observe_flavors(self, changes: Sequence[Change[Flavor]]) -> None:
        """Process changes of ResourceFlavors."""
        if self.tree.observe_flavors(changes):
            self._use.observe_flavors(self.tree.flavors)

    def observe_nodes(self, changes: Sequence[Change[ClusterNode]]) -> None:
        """Process changes of nodes."""
        for before, after in transitions(changes):
            for each in (before, after):
                if each is not None:
                    self.faults.drop(NODE, each.name)
            self._use.observe_nodes([(before, after)])

    def observe_namespaces(self, changes: Sequence[Change[Namespace]]) -> None:
        """Process changes of namespaces."""
        touched = self._namespaces.observe_namespaces(transitions(changes))
        self.objects.read_again(touched)
        self._use.observe_namespaces(touched)

    def observe_limit_ranges(self, changes: Sequence[Change[LimitRange]]) -> None:
        """Process changes of LimitRanges."""
        self.objects.read_again(self._namespaces.observe_limit_ranges(transitions(changes)))

    def observe_priority_classes(self, changes: Sequence[Change[PriorityClass]]) -> None:
        """Process changes of PriorityClasses."""
        self._namespaces.observe_priority_classes(transitions(changes))
        self.objects.read_again()

    def observe_runtime_classes(self, changes: Sequence[Change[RuntimeClass]]) -> None:
        """Process changes of RuntimeClasses."""
        self._namespaces.observe_runtime_classes(transitions(changes))
        self.objects.read_again()

    def remember_over(self, over_since: OverSince) -> None:
        """Set since when leaves have been over their runtime, for the next world."""
        self._over_since = over_since

    def world(self) -> World:
        """Return the frozen input of the engine.

        Parts that have not changed are the same objects as in the previous world.
        """
        world = self._world
        self.objects.read_moved()
        if self.tree.changed:
            world = self.tree.put_into(world, self._use.now or LONG_AGO)
        if self._use.changed:
            world = self.objects.put_use_into(world)
        if self._over_since is not None:
            world = replace(world, over_since=self._over_since)
        while changes := self.work.changes():
            world, failed = with_each(world, changes)
            for workload, error in failed:
                self.set_aside(workload, error)
        self._over_since = None
        self._world = world
        return world

    def world_at(self, now: datetime) -> World:
        """`world()` at that moment: without lost nodes, with past use added up, and with what follows from budgets."""
        self.advance(now)
        world = self.tree.put_spent_into(self.world(), now, self.accounts)
        self.history = self.history.after(world, now)
        self._world = self.history.put_into(world)
        return self._world

    def set_aside(self, part: WorldPart, error: Exception) -> bool:
        """Let this object count as little as possible until it changes; False: it is another one by now.

        Of a leaf with many such workloads, the leaf is set aside.
        """
        if isinstance(part, Workload):
            key, leaf = self.work.index.key_of(part), self.tree.group(part.group)
            if key is None or self.work.index.workload(key) is not part:
                return False
            self.work.readings.set_aside(key, part, error)
            beside = sum(each.subject.group == part.group for each in self.faults.of_kind(WORKLOAD).values())
            return leaf is None or beside < MOST_ASIDE or self.set_aside(leaf, error)
        if isinstance(part, ClusterNode):
            fault = Fault.of(Subject(NODE, part.name), error)
            self.faults.set_aside(NODE, part.name, fault, part, None)
            self._use.observe_nodes([(part, None)])
        else:
            set_aside_in_tree(self.faults, part, error)
            self.tree.changed = True
        return True

    @property
    def next_change(self) -> datetime | None:
        """The next moment at which time alone changes the world."""
        accounts = None if self.accounts is None else self.accounts.next_change
        moments = (self._use.next_change, self.history.next_change, accounts, self.tree.border)
        return min(filter(None, moments), default=None)
