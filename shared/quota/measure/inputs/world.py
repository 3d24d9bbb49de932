"""The facts of one instant, as they are fed into the engine; immutable, and cheap to change by one workload.

Two worlds that share a part (the same tree object, the same bucket object) are known to agree there: measuring again
costs what changed. So build a changed world from the previous one with `with_changes` or `replace`, never from scratch.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from shared.quota.measure.inputs.workload_set import EMPTY, Change, WorkloadSet
from shared.quota.model.flavor import Flavor
from shared.quota.model.lifecycle import Inactive
from shared.quota.model.node import ClusterNode
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Tree
from shared.quota.model.workload import PreemptorId, Workload
from shared.resources import Amount, FlavorResource

OverSince = Mapping[tuple[str, FlavorResource], datetime]
"""(leaf, key) -> since when that leaf has been over its runtime there without a break."""


_REMEMBERED: Final = 64


@dataclass(frozen=True)
class World:
    """What there is: the tree, the flavors, the nodes and all work."""

    tree: Tree
    flavors: Mapping[str, Flavor]
    buckets: Mapping[str, WorkloadSet]
    nodes: tuple[ClusterNode, ...] = ()
    unmanaged: Mapping[FlavorResource, Amount] = field(default_factory=dict)
    """What pods that Quotree does not manage use, on nodes of the flavor."""
    system: Mapping[FlavorResource, Amount] = field(default_factory=dict)
    """What pods of the group `system` use beside its workloads."""
    settings: QuotaSettings = field(default_factory=QuotaSettings)
    over_since: OverSince = field(default_factory=dict)
    inactive: Mapping[str, Inactive] = field(default_factory=dict)
    """Groups in which nothing new starts; groups that do not reach root need not be named."""
    watched_since: datetime | None = None
    """Nobody can tell whether pods that are not ready now were ready before that; None: it has always been seen."""

    victims: Mapping[PreemptorId, tuple[Workload, ...]] = field(default_factory=dict)
    """Work that carries a claim, by whose claim it is; kept up by `of` and `with_changes`."""
    preemptors: Mapping[PreemptorId, Workload] = field(default_factory=dict)
    """Those for whom `victims` names a claim, in whatever state they are, if they exist."""

    version: object = field(default_factory=object)
    """Changes with the buckets."""
    history: tuple[tuple[object, frozenset[str]], ...] = ()
    """(previous version, the groups whose work changed right after it), the latest first; not indefinitely."""

    @staticmethod
    def of(
        tree: Tree,
        flavors: Iterable[Flavor] = (),
        workloads: Iterable[Workload] = (),
        nodes: Iterable[ClusterNode] = (),
        settings: QuotaSettings | None = None,
    ) -> "World":
        """Build a world from plain collections, in any order; what else there is goes in with `dataclasses.replace`."""
        empty = World(
            tree=tree,
            flavors={flavor.name: flavor for flavor in flavors},
            buckets={},
            nodes=tuple(nodes),
            settings=settings or QuotaSettings(),
        )
        return empty.with_changes((None, workload) for workload in workloads)

    def with_changes(self, changes: Iterable[Change]) -> "World":
        """This world after each workload of `changes` went from what it was to what it is."""
        by_group: dict[str, list[Change]] = {}
        listed = list(changes)
        for before, after in listed:
            if before is not None:
                by_group.setdefault(before.group, []).append((before, None))
            if after is not None:
                by_group.setdefault(after.group, []).append((None, after))
        buckets = dict(self.buckets)
        for group, own in by_group.items():
            buckets[group] = self.workloads_of(group).with_changes(own)
        victims = _victims(self.victims, listed)
        return replace(
            self,
            buckets=buckets,
            victims=victims,
            preemptors=_preemptors(self, buckets, victims, listed),
            version=object(),
            history=((self.version, frozenset(by_group)), *self.history)[:_REMEMBERED],
        )

    def changed_since(self, previous: "World") -> set[str]:
        """The groups whose work may differ from that in `previous`."""
        if self.buckets is previous.buckets:
            return set()
        changed: set[str] = set()
        for version, groups in self.history:
            changed |= groups
            if version is previous.version:
                return changed
        return set(self.buckets.keys() | previous.buckets.keys())

    def workloads_of(self, group: str) -> WorkloadSet:
        """That group's work; empty for a group without."""
        return self.buckets.get(group, EMPTY)


def _victims(
    previous: Mapping[PreemptorId, tuple[Workload, ...]], changes: Sequence[Change]
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
    buckets: Mapping[str, WorkloadSet],
    victims: Mapping[PreemptorId, tuple[Workload, ...]],
    changes: Sequence[Change],
) -> Mapping[PreemptorId, Workload]:
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
    for preemptor in victims.keys() - previous.victims.keys() - found.keys():
        waiting = next(filter(None, (bucket.find(preemptor) for bucket in buckets.values())), None)
        if waiting is not None:
            found[preemptor] = waiting
    return found
