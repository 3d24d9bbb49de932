"""What a node says: its labels, its taints, whether it takes pods, and what it offers them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from shared.api.conditions import ObservedCondition, is_true
from shared.api.core.metadata import Metadata
from shared.api.core.placement import Taint
from shared.api.json.reading import ResourceList, View, aware, reader
from shared.resources import Amount, read_amount

_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)


class TaintView(View, frozen=True):
    """A taint as written."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(View, frozen=True):
    """The spec of a node; `unschedulable` is a cordon."""

    unschedulable: bool = False
    taints: list[TaintView] = []


class NodeStatus(View, frozen=True):
    """The status of a node; `allocatable` is what pods can use; a manifest may give `capacity` alone."""

    allocatable: ResourceList = {}
    capacity: ResourceList = {}
    conditions: list[ObservedCondition] = []


class NodeObject(View, frozen=True):
    """A node."""

    metadata: Metadata = Metadata()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def is_ready(self) -> bool:
        """Ready is True; a node that has no conditions at all, as in a file, counts as ready."""
        return not self.status.conditions or is_true(self.status.conditions, "Ready")

    @property
    def not_ready_since(self) -> datetime | None:
        """Since when Ready is not True; None while it is. Without a time the node counts as lost long ago."""
        if self.is_ready:
            return None
        times = [each.last_transition_time for each in self.status.conditions if each.type == "Ready"]
        return aware(times[0]) if times and times[0] is not None else _LONG_AGO

    @property
    def takes_pods(self) -> bool:
        """Ready, not cordoned, not being deleted: its allocatable is capacity."""
        return self.is_ready and not self.spec.unschedulable and not self.metadata.is_deleting

    @property
    def taints(self) -> tuple[Taint, ...]:
        """Its taints."""
        return tuple(Taint(taint.key, taint.effect, taint.value) for taint in self.spec.taints)


def allocatable(node: NodeObject) -> Mapping[str, Amount]:
    """Return what it offers, in base units, rounded down. Raises QuantityError on text that is no quantity."""
    offered = node.status.allocatable or node.status.capacity
    return {resource: read_amount(resource, amount, up=False) for resource, amount in offered.items()}


read_node = reader(NodeObject)
