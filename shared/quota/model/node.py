"""What a node adds to the cluster's capacity."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from shared.quota.model.tree import NOTHING, Amounts


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """A node as far as capacity goes. `allocatable` is in base units, rounded down."""

    name: str
    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    allocatable: Amounts = field(default_factory=lambda: NOTHING)
    takes_pods: bool = True
    """Ready and schedulable; a node that is not adds nothing."""
