"""The facts of one instant, as they are fed into the engine; immutable, and cheap to change by one workload.

Two worlds that share a part (the same tree object, the same bucket object) are known to agree there: measuring again
costs what changed. So build a changed world from the former one with `with_changes` or `replace`, never from scratch.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from shared.quota.measure.buckets import EMPTY, Bucket, Change
from shared.quota.model.flavor import Flavor
from shared.quota.model.lifecycle import Inactive
from shared.quota.model.node import Node
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Tree
from shared.quota.model.workload import AskerId, Workload
from shared.resources import Amount, FlavorResource

OverSince = Mapping[tuple[str, FlavorResource], datetime]
"""(leaf, key) -> since when that leaf has been over its runtime there without a break."""


_REMEMBERED: Final = 64


@dataclass(frozen=True)
class World:
    """What there is: the tree, the flavors, the nodes and all work."""

    tree: Tree
    flavors: Mapping[str, Flavor]
    buckets: Mapping[str, Bucket]
    nodes: tuple[Node, ...] = ()
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

    victims: Mapping[AskerId, tuple[Workload, ...]] = field(default_factory=dict)
    """Work that carries a claim, by whose claim it is; kept up by `of` and `with_changes`."""
    askers: Mapping[AskerId, Workload] = field(default_factory=dict)
    """Those for whom `victims` names a claim, in whatever state they are, if they exist."""

    version: object = field(default_factory=object)
    """Changes with the buckets."""
    history: tuple[tuple[object, frozenset[str]], ...] = ()
    """(former version, the groups whose work changed right after it), the latest first; not for ever."""

    @staticmethod
    def of(
        tree: Tree,
        flavors: Iterable[Flavor] = (),
        workloads: Iterable[Workload] = (),
        nodes: Iterable[Node] = (),
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
            askers=_askers(self, buckets, victims, listed),
            version=object(),
            history=((self.version, frozenset(by_group)), *self.history)[:_REMEMBERED],
        )

    def changed_since(self, former: "World") -> set[str]:
        """The groups whose work may differ from that in `former`."""
        if self.buckets is former.buckets:
            return set()
        changed: set[str] = set()
        for version, groups in self.history:
            changed |= groups
            if version is former.version:
                return changed
        return set(self.buckets.keys() | former.buckets.keys())

    def workloads_of(self, group: str) -> Bucket:
        """That group's work; empty for a group without."""
        return self.buckets.get(group, EMPTY)


def _victims(
    former: Mapping[AskerId, tuple[Workload, ...]], changes: Sequence[Change]
) -> Mapping[AskerId, tuple[Workload, ...]]:
    if all(workload is None or workload.claim is None for change in changes for workload in change):
        return former
    found = dict(former)
    for before, after in changes:
        if before is not None and before.claim is not None:
            asker = before.claim.asker_id
            left = tuple(each for each in found.pop(asker, ()) if each.id != before.id)
            if left:
                found[asker] = left
        if after is not None and after.claim is not None:
            asker = after.claim.asker_id
            others = (each for each in found.get(asker, ()) if each.id != after.id)
            found[asker] = tuple(sorted((*others, after), key=lambda each: each.id))
    return found


def _askers(
    former: World,
    buckets: Mapping[str, Bucket],
    victims: Mapping[AskerId, tuple[Workload, ...]],
    changes: Sequence[Change],
) -> Mapping[AskerId, Workload]:
    named = {workload.asker_id for change in changes for workload in change if workload is not None} if victims else ()
    if victims is former.victims and not any(asker in victims for asker in named):
        return former.askers
    found = {asker: workload for asker, workload in former.askers.items() if asker in victims}
    for before, after in changes:
        if before is not None:
            found.pop(before.asker_id, None)
        if after is not None and after.asker_id in victims:
            found[after.asker_id] = after
    for asker in victims.keys() - former.victims.keys() - found.keys():
        waiting = next(filter(None, (bucket.find(asker) for bucket in buckets.values())), None)
        if waiting is not None:
            found[asker] = waiting
    return found
