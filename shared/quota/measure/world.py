"""The facts of one instant, as they are fed into the engine; immutable, and cheap to change by one workload.

Two worlds that share a part (the same tree object, the same bucket object) are known to agree there: measuring again
costs what changed. So build a changed world from the former one with `with_changes` or `replace`, never from scratch.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from shared.quota.measure.buckets import EMPTY, Bucket
from shared.quota.model.flavor import Flavor
from shared.quota.model.lifecycle import Inactive
from shared.quota.model.node import Node
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Tree
from shared.quota.model.workload import Workload
from shared.resources import Amount, FlavorResource

Change = tuple[Workload | None, Workload | None]
"""(before, after) of one workload: None before it appeared, None after it has gone."""

OverSince = Mapping[tuple[str, FlavorResource], datetime]
"""(leaf, key) -> since when that leaf has been over its runtime there without a break."""


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

    @staticmethod
    def of(
        tree: Tree,
        flavors: Iterable[Flavor] = (),
        workloads: Iterable[Workload] = (),
        nodes: Iterable[Node] = (),
        settings: QuotaSettings | None = None,
    ) -> "World":
        """Build a world from plain collections, in any order; what else there is goes in with `dataclasses.replace`."""
        by_group: dict[str, list[Workload]] = {}
        for workload in workloads:
            by_group.setdefault(workload.group, []).append(workload)
        return World(
            tree=tree,
            flavors={flavor.name: flavor for flavor in flavors},
            buckets={group: Bucket.of(found) for group, found in by_group.items()},
            nodes=tuple(nodes),
            settings=settings or QuotaSettings(),
        )

    def workloads_of(self, group: str) -> Bucket:
        """That group's work; empty for a group without."""
        return self.buckets.get(group, EMPTY)
