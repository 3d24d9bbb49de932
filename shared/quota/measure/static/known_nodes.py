"""Which nodes there are, and until when what runs on a lost one counts.

See docs/specification.md §3.6.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Final

from shared.quota.measure.static.capacity import FlavorMatcher, with_default_flavor
from shared.quota.measure.static.node_shapes import NodeShapes
from shared.quota.model.flavor import Flavor
from shared.quota.model.node import ClusterNode, LargestNodes
from shared.quota.model.settings import QuotaSettings
from shared.resources import Amount

_START: Final = datetime.min.replace(tzinfo=UTC)

NodeChange = tuple[ClusterNode | None, ClusterNode | None]
"""A node before and after."""


class KnownNodes:
    """All nodes by name, and the flavor of each."""

    def __init__(self, settings: QuotaSettings) -> None:
        self._settings = settings
        self._nodes: dict[str, ClusterNode] = {}
        self._now = _START
        self._losses: dict[str, datetime] = {}
        """node → when the use of pods on it stops counting."""
        self.closed: set[str] = set()
        """The nodes that take no more pods."""
        self._frozen: tuple[ClusterNode, ...] | None = None
        self._shapes = NodeShapes(with_default_flavor({}), settings)
        self._matcher = FlavorMatcher(with_default_flavor({}))

    def observe(self, changes: Iterable[NodeChange]) -> set[str]:
        """Take nodes that appeared, changed or went; return their names."""
        found: set[str] = set()
        for before, after in changes:
            if before is not None:
                self._shapes.change(self._nodes.pop(before.name, None), None)
                self._losses.pop(before.name, None)
                self.closed.discard(before.name)
                found.add(before.name)
            if after is not None:
                self._shapes.change(self._nodes.get(after.name), after)
                self._nodes[after.name] = after
                self._set_loss(after)
                (self.closed.discard if after.takes_pods else self.closed.add)(after.name)
                found.add(after.name)
        self._frozen = None
        return found

    def _set_loss(self, node: ClusterNode) -> None:
        until = node.keeps_use_until(self._settings.node_grace_period)
        if until is not None and until > self._now:
            self._losses[node.name] = until

    def observe_flavors(self, flavors: Mapping[str, Flavor]) -> None:
        """Sort nodes into flavors again: these have changed."""
        self._matcher = FlavorMatcher(with_default_flavor(flavors))
        self._shapes = NodeShapes(with_default_flavor(flavors), self._settings)
        for node in self._nodes.values():
            self._shapes.change(None, node)
        self._frozen = None

    def observe_use(self, name: str) -> None:
        """Build the nodes again if this one is closed: what pods use on it has changed."""
        if name in self.closed:
            self._frozen = None

    @property
    def now(self) -> datetime | None:
        """The moment up to which time has passed; None before the first."""
        return None if self._now == _START else self._now

    @property
    def next_change(self) -> datetime | None:
        """When time alone changes what counts: the end of a node's grace period."""
        return min(self._losses.values(), default=None)

    def advance(self, now: datetime) -> set[str]:
        """Let time pass; return the nodes whose grace period has ended, which are lost."""
        self._now = now
        lost = {name for name, until in self._losses.items() if until <= now}
        for name in lost:
            del self._losses[name]
            self._frozen = None
        return lost

    @property
    def changed(self) -> bool:
        """Whether they are others than those that were returned last."""
        return self._frozen is None

    def all(self, use_on: Callable[[str], Mapping[str, Amount]]) -> tuple[ClusterNode, ...]:
        """Return all nodes by name, closed ones with what is used on them; the same object until one changes."""
        if self._frozen is None:
            self._frozen = tuple(self._with_use(self._nodes[name], use_on) for name in sorted(self._nodes))
        return self._frozen

    def _with_use(self, node: ClusterNode, use_on: Callable[[str], Mapping[str, Amount]]) -> ClusterNode:
        if node.takes_pods:
            return node
        return node.keeping(use_on(node.name)) if self._counts(node) else node.lost()

    def largest(self) -> LargestNodes:
        """Return the largest nodes that take pods, by flavor; the same object until they change."""
        return self._shapes.largest()

    def flavor_of(self, name: str) -> str | None:
        """Return the flavor in which use of this node counts; None: in no flavor, or there is no such node."""
        node = self._nodes.get(name)
        return self._matcher.flavor_of(node.labels) if node is not None and self._counts(node) else None

    def _counts(self, node: ClusterNode) -> bool:
        return node.counts_use(self._now, self._settings.node_grace_period)
