"""The cluster as the watches report it, overlaid with what was decided but is not yet seen. Pure.

The cost of `world()` is proportional to the changes since its last call.
"""

from collections.abc import Iterable, Mapping, Sequence
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
from shared.cluster.state.device_users import DeviceOwner, DeviceUsers, PodTransitions
from shared.cluster.state.faults.register import NODE, WORKLOAD, Fault, Faults, Subject
from shared.cluster.state.faults.tree_reading import read_tree, set_aside_in_tree
from shared.cluster.state.faults.worlds import WorldPart, with_each
from shared.cluster.state.made_objects import MadeObjects
from shared.cluster.state.observed.job_pods import JobPods
from shared.cluster.state.observed.kind_projection import KindRecord
from shared.cluster.state.observed.projections import (
    FinishedOwner,
    GroupStatusRecord,
    PodRecord,
    identify_owner,
    identify_pod,
    pod_alone,
    pod_of_another,
)
from shared.cluster.state.workloads.cache import WorkloadCache
from shared.cluster.state.workloads.reader import WorkloadReader
from shared.kube.watch.cache import Change, transitions
from shared.quota.measure.accounts.account_book import AccountBook
from shared.quota.measure.inputs.past_use import UseHistory
from shared.quota.measure.inputs.world import OverSince, World
from shared.quota.measure.static.node_usage import NodeUsage, UsingPod
from shared.quota.model.devices import DeviceSource
from shared.quota.model.flavor import Flavor
from shared.quota.model.in_force import DatedTree
from shared.quota.model.membership import admits, has_own_label, is_bound_elsewhere, path_of, selector_of
from shared.quota.model.namespace_context import NamespaceContexts, Transition
from shared.quota.model.node import ClusterNode
from shared.quota.model.settings import CapacitySource, QuotaSettings, UnlabelledNamespaces
from shared.quota.model.tree import ROOT, Group, Tree
from shared.quota.model.workload import Workload

MOST_ASIDE: Final = 8
"""So many workloads of one leaf are set aside one by one; each takes a search."""


class ClusterState:
    """The input of every decision cycle. Used on one event loop; no method waits."""

    def __init__(self, settings: QuotaSettings) -> None:
        self.settings = settings
        self.groups: dict[str, GroupStatusRecord] = {}
        """By name."""
        self._admittances: dict[str, tuple[object, ...]] = {}
        self.flavors: dict[str, Flavor] = {}
        self._namespaces = NamespaceContexts(settings.devices)
        self._device_users = DeviceUsers(self._namespaces)
        self._job_pods = JobPods(settings.ignored_resources)
        reader = WorkloadReader(
            settings,
            self._namespaces,
            self._admits,
            self._job_pods.by_set,
            self._group,
            lambda: self._use.now,
            self._job_pods.sums,
        )
        self.faults = Faults()
        self.work = WorkloadCache(reader, self._job_pods, self.faults)
        self._made_owners = MadeObjects[DeviceOwner](self._governs, identify_owner, _itself, _nothing)
        self._made_pods = MadeObjects(self._governs, identify_pod, pod_alone, pod_of_another)
        self._use = NodeUsage(self.work.owners.accounts_for, self._namespaces.labels, settings)
        self._world = World(Tree.of(()), {}, {}, settings=settings)
        self._tree_changed = True
        self._tree = DatedTree(Tree.of(()), Tree.of(()), LONG_AGO, None)
        self._over_since: OverSince | None = None
        self.history = UseHistory(settings.fairness_half_life)
        """The past use of every group."""
        self.accounts: AccountBook | None = None
        """The accounts of all groups; None: this process does not lead."""

    def advance(self, now: datetime) -> None:
        """Let time pass: by `now`, what annotations say is read, and nodes are lost."""
        self._use.advance(now)
        if not self._tree.holds(now):
            self._tree_changed = True

    def watched_since(self, now: datetime) -> None:
        """Since when every change is observed."""
        self._world = replace(self._world, watched_since=now)

    @property
    def changed(self) -> bool:
        """Whether the next `world()` may differ from the last."""
        return self._tree_changed or self._use.changed or self.work.changed

    def observe_jobs(self, changes: Sequence[Change[Job | FinishedOwner]]) -> None:
        """Process changes of Jobs, including finished and deleted ones."""
        seen = [*transitions(changes)]
        if self.accounts is not None:
            for _, after in seen:
                if isinstance(after, FinishedOwner) and after.end is not None:
                    self.accounts.finish(after.key, after.end)
        self._observe_owned(self._made_owners.seen(seen))

    def observe_kind_objects(self, changes: Sequence[Change[KindRecord]]) -> None:
        """Process changes of objects of governed kinds, including finished and deleted ones."""
        self._observe_owned(self._made_owners.seen(transitions(changes)))

    def _observe_owned(self, changes: Iterable[Transition[DeviceOwner]]) -> None:
        for before, after in changes:
            self._device_users.observe_owner(before, after)
            self.work.observed.owner(before, after)
        self._observe_owners()

    def observe_pods(self, changes: Sequence[Change[PodRecord]]) -> None:
        """Process changes of pods, including ended and deleted ones."""
        self._observe_made_pods(self._made_pods.seen(transitions(changes)))

    def _observe_made_pods(self, changes: Iterable[Transition[PodRecord]]) -> None:
        self._observe_pods(self._device_users.with_devices([*changes]))

    def observe_claims(self, source: DeviceSource, changes: Sequence[Change[ClaimDevices]]) -> None:
        """Process changes of ResourceClaims and their templates."""
        touched = self._namespaces.observe_claims(source, transitions(changes))
        self.work.observed.read_again(self._device_users.owners_naming(touched))
        self._observe_pods(self._device_users.pods_naming(touched))

    def _observe_pods(self, changed: PodTransitions) -> None:
        self._use.observe_pods([(old.using if old else None, new.using if new else None) for old, new in changed])
        owners = self._job_pods.see((_covered(old), _covered(new)) for old, new in changed)
        succeeded = [
            (old.succeeded if old else None, new.succeeded if new else None)
            for old, new in changed
            if (old is not None and old.succeeded) or (new is not None and new.succeeded)
        ]
        if succeeded:
            owners |= self._job_pods.observe_succeeded(succeeded)
        for owner in owners:
            self.work.observed.job_pods(owner)
        for old, new in changed:
            self.work.observed.pod(old.work if old else None, new.work if new else None)
        self._observe_owners()

    def stop_waiting_for_pods(self, job: str) -> None:
        """The time limit has passed for the watch to report pods of this deleted owner."""
        self.work.observed.job_pods(job)

    def stop_waiting_for_strays(self, owner: str) -> None:
        """The time limit has passed for pods to end whose controller does not account for them."""
        self.work.owners.stop_waiting_for_strays(owner)
        self._observe_owners()

    def observe_groups(self, changes: Sequence[Change[GroupStatusRecord]]) -> None:
        """Process changes of QuotaGroups; a change of status alone changes no decision.

        An edit that says the same in other words changes none either, but is shown: people wait for its generation.
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
            self._tree_changed = True
            if _place_and_selector(old) != _place_and_selector(new):
                is_moved = True
        if is_moved:
            self.work.observed.read_again(self.work.index.keys_in(self._admitting_others()))

    def observe_flavors(self, changes: Sequence[Change[Flavor]]) -> None:
        """Process changes of ResourceFlavors."""
        found = [(before, after) for before, after in transitions(changes) if before != after]
        if not found:
            return  # only a status has changed
        for before, after in found:
            if before is not None:
                self.flavors.pop(before.name, None)
            if after is not None:
                self.flavors[after.name] = after
        self._use.observe_flavors(self.flavors)
        self._tree_changed = True

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
        self._read_again(touched)
        self._use.observe_namespaces(touched)

    def observe_limit_ranges(self, changes: Sequence[Change[LimitRange]]) -> None:
        """Process changes of LimitRanges."""
        self._read_again(self._namespaces.observe_limit_ranges(transitions(changes)))

    def observe_priority_classes(self, changes: Sequence[Change[PriorityClass]]) -> None:
        """Process changes of PriorityClasses."""
        self._namespaces.observe_priority_classes(transitions(changes))
        self._read_again()

    def observe_runtime_classes(self, changes: Sequence[Change[RuntimeClass]]) -> None:
        """Process changes of RuntimeClasses."""
        self._namespaces.observe_runtime_classes(transitions(changes))
        self._read_again()

    def remember_over(self, over_since: OverSince) -> None:
        """Set since when leaves have been over their runtime, for the next world."""
        self._over_since = over_since

    def world(self) -> World:
        """Return the frozen input of the engine.

        Parts that have not changed are the same objects as in the previous world.
        """
        world = self._world
        if self._tree_changed:
            now = self._use.now or LONG_AGO
            self._tree, flavors, inactive = read_tree(
                self.groups, self.flavors, self.faults, self.settings.max_depth, now
            )
            world = replace(world, flavors=flavors, inactive=inactive).with_tree(self._tree)
        if self._use.changed:
            world = self._with_use(world)
        if self._over_since is not None:
            world = replace(world, over_since=self._over_since)
        while changes := self.work.changes():
            world, failed = with_each(world, changes)
            for workload, error in failed:
                self.set_aside(workload, error)
        self._tree_changed = False
        self._over_since = None
        self._world = world
        return world

    def world_at(self, now: datetime) -> World:
        """`world()` at that moment: without lost nodes, and with the past use of every group added up."""
        self.advance(now)
        world = self.world()
        self.history = self.history.after(world, now)
        self._world = self.history.put_into(world)
        return self._world

    def set_aside(self, part: WorldPart, error: Exception) -> bool:
        """Let this object count as little as possible until it changes; False: it is another one by now.

        Of a leaf with many such workloads, the leaf is set aside.
        """
        if isinstance(part, Workload):
            key, leaf = self.work.index.key_of(part), self._group(part.group)
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
            self._tree_changed = True
        return True

    @property
    def next_change(self) -> datetime | None:
        """The next moment at which time alone changes the world."""
        accounts = None if self.accounts is None else self.accounts.next_change
        moments = (self._use.next_change, self.history.next_change, accounts, self._tree.border)
        return min(filter(None, moments), default=None)

    def _read_again(self, namespaces: set[str] | None = None) -> None:
        self.work.observed.read_namespaces_again(namespaces)
        self._observe_owners()

    def _observe_owners(self) -> None:
        keys = set(self.work.index.added_or_removed)
        self._use.observe_owners(keys)
        self.work.index.added_or_removed.clear()
        owners, pods = self._made_owners.judge_again(keys), self._made_pods.judge_again(keys)
        if owners:
            self._observe_owned(owners)
        if pods:
            self._observe_made_pods(pods)

    def _governs(self, key: str) -> bool:
        """Return whether what was made for the object with this key counts for it."""
        return self.work.owners.knows(key) and not self.work.owners.is_made(key)

    def _with_use(self, world: World) -> World:
        self._use.count()
        while self._use.unjudged:
            uid, error = self._use.unjudged.popitem()
            self.faults.note(Subject("Pod", self._use.name_of(uid), uid), error)
        world = replace(world, nodes=self._use.nodes(), largest_nodes=self._use.largest_nodes())
        if self.settings.capacity_source is not CapacitySource.NODES:
            return world
        return replace(world, system=self._use.system, unmanaged=self._use.others)

    def _admits(self, group: str, labels: Mapping[str, str]) -> bool:
        if group not in self.groups:
            return True
        if self.settings.unlabelled_namespaces is UnlabelledNamespaces.DENY and not has_own_label(labels):
            return False
        if self.settings.namespace_label_binds and is_bound_elsewhere(self._group, group, labels):
            return False
        return admits(self._group, group, labels, open_groups=self.settings.open_groups)

    def _group(self, name: str) -> Group | None:
        record = self.groups.get(name)
        return None if record is None else record.group

    def _admitting_others(self) -> set[str]:
        """Return the groups whose admitted namespaces have changed since the last call."""
        before, self._admittances = self._admittances, {name: self._admittance(name) for name in self.groups}
        return {name for name in before | self._admittances if before.get(name) != self._admittances.get(name)}

    def _admittance(self, name: str) -> tuple[object, ...]:
        """Return what determines which namespaces and admissions the group admits."""
        path = [(group.name, *_flavors(group)) for group in path_of(self._group, name) if group.name != ROOT]
        return (selector_of(self._group, name), *path)


def _itself(record: DeviceOwner) -> DeviceOwner:
    return record


def _nothing(_: DeviceOwner) -> None:
    return None


def _generation(record: GroupStatusRecord | None) -> int:
    return 0 if record is None else record.generation


def _place_and_selector(group: Group | None) -> tuple[object, ...]:
    """Return the fields of a group that determine which namespaces and admissions it and its subtree admit."""
    return () if group is None else (group.parent, group.namespace_selector, _flavors(group))


def _flavors(group: Group) -> tuple[object, ...]:
    return tuple((entry.flavor, entry.covered) for entry in group.quotas)


def _covered(pod: PodRecord | None) -> UsingPod | None:
    """Return the pod as one of its Job; None if it has none or is a workload of its own."""
    return None if pod is None or pod.work is not None else pod.using
