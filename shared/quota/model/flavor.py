"""What a kind of capacity is: the nodes it means, and what a workload must tolerate to run on them.

See docs/specification.md §2.4.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from shared.api.core.placement import Taint, Toleration
from shared.api.unread import Unread


@dataclass(frozen=True, slots=True)
class Flavor:
    """A ResourceFlavor. Without labels it matches every node."""

    name: str
    node_labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    node_taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    uid: str = ""
    unread: tuple[Unread, ...] = ()
