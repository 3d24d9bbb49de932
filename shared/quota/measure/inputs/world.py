"""The engine's input: what exists at one instant; immutable, and cheap to change by one workload.

Two worlds that share a part (the same tree object, the same WorkloadSet object) agree there, so measuring again costs
only what changed. Build a changed world from the previous one with `with_changes` or `replace`, never from scratch.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from shared.quota.measure.identity import changed_names
from shared.quota.measure.inputs.requester_use import RequesterUse
from shared.quota.measure.inputs.workload_set import EMPTY, WorkloadChange, WorkloadSet
from shared.quota.model.budgets.in_force import NONE_SPENT, Spent, tree_with_spent
from shared.quota.model.budgets.raised import BudgetsUsed
from shared.quota.model.flavor import Flavor
from shared.quota.model.in_force import DatedTree, tree_in_force
from shared.quota.model.lifecycle import Inactive
from shared.quota.model.node import ClusterNode, LargestNodes
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Tree
from shared.quota.model.workload import PreemptorId, Workload
from shared.resources import Amount, FlavorResource

OverSince = Mapping[tuple[str, FlavorResource], datetime]
"""(leaf, key) -> since when that leaf has been over its runtime there without a break."""

PastUse = Mapping[str, Mapping[FlavorResource, Amount]]
"""group -> key -> decayed use of the past; a group's mapping is another object when one of its amounts changed."""


@dataclass(frozen=True)
class World:
    """The tree in force, the flavors, the nodes and all workloads."""

    tree: Tree
    flavors: Mapping[str, Flavor]
    workload_sets: Mapping[str, WorkloadSet]
    nodes: tuple[ClusterNode, ...] = ()
    largest_nodes: LargestNodes | None = None
    """The largest of `nodes`, kept by who knows what has changed; None: they are looked for when needed."""
    unmanaged: Mapping[FlavorResource, Amount] = field(default_factory=dict)
    """key -> what pods that Quotree does not manage use, on nodes of the flavor."""
    system: Mapping[FlavorResource, Amount] = field(default_factory=dict)
    """key -> what pods of the group `system` use beside its workloads."""
    settings: QuotaSettings = field(default_factory=QuotaSettings)
    over_since: OverSince = field(default_factory=dict)
    past_use: PastUse = field(default_factory=dict)
    """Who has used little gets a unit that no whole share covers first; `past_use.UseHistory` keeps it."""
    requester_use: RequesterUse = field(default_factory=dict)
    """Past use of namespaces or users in leaves whose order is by these, in base units times milliseconds."""
    inactive: Mapping[str, Inactive] = field(default_factory=dict)
    """Groups in which nothing new starts; groups that do not reach root need not be named."""
    watched_since: datetime | None = None
    """Whether pods that are not ready now were ready before this moment is unknown; None: every change was observed."""

    on_closed_nodes: Mapping[FlavorResource, Amount] = field(default_factory=dict)
    """key -> what pods of workloads hold on nodes that take no more pods: part of capacity; kept like `victims`."""
    victims: Mapping[PreemptorId, tuple[Workload, ...]] = field(default_factory=dict)
    """Workloads that carry a claim, by the claim's preemptor; `of` and `with_changes` keep it up to date."""
    preemptors: Mapping[PreemptorId, Workload] = field(default_factory=dict)
    """The preemptors of `victims` that exist, in whatever state they are."""

    written: Tree | None = None
    """The tree as it is written, of which `tree` is in force; None: no group says what is different for a time."""
    spent: Spent = field(default_factory=lambda: NONE_SPENT)
    """The budgets that are spent; `tree` has what follows from them."""
    budgets_used: BudgetsUsed = field(default_factory=dict)
    """What is used of the budgets that are spent; no decision reads it."""

    @staticmethod
    def of(
        tree: Tree,
        flavors: Iterable[Flavor] = (),
        workloads: Iterable[Workload] = (),
        nodes: Iterable[ClusterNode] = (),
        settings: QuotaSettings | None = None,
    ) -> "World":
        """Build a world from plain collections, in any order; set other fields with `dataclasses.replace`."""
        empty = World(
            tree=tree,
            flavors={flavor.name: flavor for flavor in flavors},
            workload_sets={},
            nodes=tuple(nodes),
            settings=settings or QuotaSettings(),
        )
        return empty.with_changes((None, workload) for workload in workloads)

    def with_tree(self, tree: DatedTree) -> "World":
        """Return this world with another tree, as it is in force."""
        is_timed = any(group.overrides or group.windows for group in tree.written.groups.values())
        written = tree.written if is_timed else None
        return replace(self, tree=tree.in_force, written=written, spent=NONE_SPENT, budgets_used={})

    def at(self, now: datetime) -> "World":
        """Return this world with what is in force of its tree at `now`."""
        if self.written is None:
            return self
        tree = tree_with_spent(tree_in_force(self.written, now), self.spent)
        return self if tree.groups == self.tree.groups else replace(self, tree=tree)

    def with_spent(self, spent: Spent) -> "World":
        """Return this world, in which no budget counts as spent, with what follows from these."""
        tree = tree_with_spent(self.tree, spent)
        return self if tree is self.tree else replace(self, tree=tree, written=self.written or self.tree, spent=spent)

    def with_changes(self, changes: Iterable[WorkloadChange]) -> "World":
        """Return this world after `changes`, each a workload before and after."""
        by_group: dict[str, list[WorkloadChange]] = {}
        listed = list(changes)
        for before, after in listed:
            if before is not None:
                by_group.setdefault(before.group, []).append((before, None))
            if after is not None:
                by_group.setdefault(after.group, []).append((None, after))
        workload_sets = dict(self.workload_sets)
        for group, own in by_group.items():
            workload_sets[group] = self.workloads_of(group).with_changes(own)
        victims = _victims(self.victims, listed)
        return replace(
            self,
            workload_sets=workload_sets,
            victims=victims,
            preemptors=_preemptors(self, workload_sets, victims, listed),
            on_closed_nodes=_on_closed_nodes(self.on_closed_nodes, listed),
        )

    def only(self, groups: Container[str]) -> "World":
        """Return this world with no workloads but those of these groups."""
        sets = {name: found for name, found in self.workload_sets.items() if name in groups}
        listed = [each for found in self.victims.values() for each in found if each.group in groups]
        victims = _victims({}, [(None, each) for each in listed])
        closed = ((None, each) for found in sets.values() for each in found.by_id.values())
        return replace(
            self,
            workload_sets=sets,
            victims=victims,
            preemptors={
                each: found for each, found in self.preemptors.items() if each in victims and found.group in groups
            },
            on_closed_nodes=_on_closed_nodes({}, closed) if self.on_closed_nodes else {},
        )

    def changed_since(self, previous: "World") -> set[str]:
        """Return the groups whose workloads may differ from those in `previous`."""
        return changed_names(self.workload_sets, previous.workload_sets)

    def workloads_of(self, group: str) -> WorkloadSet:
        """That group's workloads; empty for a group without any."""
        return self.workload_sets.get(group, EMPTY)


def _on_closed_nodes(
    previous: Mapping[FlavorResource, Amount], changes: Iterable[WorkloadChange]
) -> Mapping[FlavorResource, Amount]:
    found: dict[FlavorResource, Amount] | None = None
    for change in changes:
        for workload, sign in zip(change, (-1, 1), strict=True):
            for key, amount in () if workload is None else workload.on_closed_nodes.items():
                found = dict(previous) if found is None else found
                found[key] = found.get(key, 0) + sign * amount
    return previous if found is None else {key: amount for key, amount in found.items() if amount}


def _victims(
    previous: Mapping[PreemptorId, tuple[Workload, ...]], changes: Sequence[WorkloadChange]
) -> Mapping[PreemptorId, tuple[Workload, ...]]:
    if all(workload is None or workload.claim is None for change in changes for workload in change):
        return previous
    found = dict(previous)
    for before, after in changes:
        if before is not None and before.claim is not None:
            preemptor = before.claim.preemptor_id
            left = tuple(each for each in found.pop(preemptor, ()) if each.id != before.id)
            if left:
                found[preemptor] = left
        if after is not None and after.claim is not None:
            preemptor = after.claim.preemptor_id
            others = (each for each in found.get(preemptor, ()) if each.id != after.id)
            found[preemptor] = tuple(sorted((*others, after), key=lambda each: each.id))
    return found


def _preemptors(
    previous: World,
    workload_sets: Mapping[str, WorkloadSet],
    victims: Mapping[PreemptorId, tuple[Workload, ...]],
    changes: Sequence[WorkloadChange],
) -> Mapping[PreemptorId, Workload]:
    """Return every preemptor that some victim's claim names, as the changes leave it; costs what changed.

    x is evicted with a claim for y: y is searched for once and kept. y changes: the new record takes its place.
    y starts, the claim is removed: nothing names y any more, and it is dropped.
    """
    named = (
        {workload.preemptor_id for change in changes for workload in change if workload is not None} if victims else ()
    )
    if victims is previous.victims and not any(preemptor in victims for preemptor in named):
        return previous.preemptors
    found = {preemptor: workload for preemptor, workload in previous.preemptors.items() if preemptor in victims}
    for before, after in changes:
        if before is not None:
            found.pop(before.preemptor_id, None)
        if after is not None and after.preemptor_id in victims:
            found[after.preemptor_id] = after
    missing = victims.keys() - previous.victims.keys() - found.keys()
    for preemptor in list(missing):
        waiting = _find_named(workload_sets, preemptor, victims[preemptor])
        if waiting is not None:
            found[preemptor] = waiting
            missing.remove(preemptor)
    if any(preemptor.uid for preemptor in missing):
        every = (each for workload_set in workload_sets.values() for each in workload_set.by_id.values())
        found |= {each.preemptor_id: each for each in every if each.preemptor_id in missing and not each.is_left_over}
    return found


def _find_named(
    workload_sets: Mapping[str, WorkloadSet], preemptor: PreemptorId, victims: Iterable[Workload]
) -> Workload | None:
    """Find a preemptor that a claim names: no search through all workloads."""
    names = {each.claim.preemptor for each in victims if each.claim is not None and each.claim.preemptor}
    found = (workload_set.find(name, preemptor) for workload_set in workload_sets.values() for name in names)
    return next(filter(None, found), None)
