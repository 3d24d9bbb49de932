"""A kind of capacity: its nodes, and what a workload must tolerate to run on them.

See docs/specification.md §2.4.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from shared.api.annotations import InjectedAnnotation
from shared.api.core.placement import Placement, Taint, Toleration, write_toleration
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


def injection(placement: Placement, flavors: Iterable[Flavor]) -> InjectedAnnotation:
    """Return the flavors' labels and tolerations that the placement lacks. `conflicts` reports labels that differ."""
    selector: dict[str, str] = {}
    tolerations: list[dict[str, Any]] = []
    for flavor in flavors:
        for key, value in flavor.node_labels.items():
            if key not in placement.node_selector:
                selector.setdefault(key, value)
        for toleration in flavor.tolerations:
            written = write_toleration(toleration)
            if toleration not in placement.tolerations and written not in tolerations:
                tolerations.append(written)
    return InjectedAnnotation(selector, tolerations)
