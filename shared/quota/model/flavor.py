"""A kind of capacity: its nodes, and what a workload must tolerate to run on them.

See docs/specification.md §2.4.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from shared.api.annotations import InjectedAnnotation
from shared.api.core.placement import Placement, Taint, Toleration, write_toleration
from shared.api.json.unread import Unread
from shared.quota.model.tree import DEFAULT_FLAVOR


@dataclass(frozen=True, slots=True)
class Flavor:
    """A ResourceFlavor. Without labels it matches every node."""

    name: str
    node_labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    node_taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    uid: str = ""
    deleting: bool = False
    """Its deletion was requested, and waits until no group uses it."""
    unread: tuple[Unread, ...] = ()


def nodes_taken_by(flavors: Iterable[Flavor]) -> dict[str, str]:
    """Return flavor -> the flavor for which its nodes count: of flavors with equal labels the first by name has all."""
    named = {flavor.name: flavor for flavor in flavors}
    first: dict[frozenset[tuple[str, str]], str] = {}
    for name in sorted({DEFAULT_FLAVOR, *named}):  # `default` exists also before its object does
        labels = named[name].node_labels if name in named else {}
        first.setdefault(frozenset(labels.items()), name)
    takers = {name: first[frozenset(flavor.node_labels.items())] for name, flavor in named.items()}
    return {name: taker for name, taker in takers.items() if taker != name}


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
