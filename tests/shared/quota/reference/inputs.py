"""What the reference engine is told: a tree, work, and root's capacity as plain amounts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from shared.quota.model.flavor import Flavor
from shared.quota.model.node import ClusterNode
from shared.quota.model.settings import CapacitySource, QuotaSettings
from shared.quota.model.tree import Tree
from shared.quota.model.workload import Workload
from shared.resources import FlavorResource

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class ReferenceInputs:
    """One world. `capacity` is given by hand, before root's max and what is taken off; for other keys, nodes count."""

    tree: Tree
    workloads: tuple[Workload, ...] = ()
    capacity: Mapping[FlavorResource, int] = field(default_factory=dict)
    nodes: tuple[ClusterNode, ...] = ()
    unmanaged: Mapping[FlavorResource, int] = field(default_factory=dict)
    flavors: Mapping[str, Flavor] = field(default_factory=dict)
    settings: QuotaSettings = field(default_factory=QuotaSettings)
    now: datetime = EPOCH
    past_use: Mapping[str, Mapping[FlavorResource, int]] = field(default_factory=dict)
    requester_use: Mapping[str, Mapping[str, Mapping[str, int]]] = field(default_factory=dict)
    """leaf -> namespace or user -> resource -> past use, in base units times milliseconds."""

    @property
    def from_groups(self) -> bool:
        """Whether root's capacity is what the first level was promised."""
        return self.settings.capacity_source is CapacitySource.GROUPS
