"""Whether flavors have nodes: the condition HasNodes of flavors, and of the groups whose quota is in them.

Only with `capacity.source: Nodes`: else nodes do not decide what starts. See docs/specification.md §9.1.
"""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from shared.api.conditions import Condition
from shared.api.flavor import ResourceFlavor, ResourceFlavorStatus
from shared.api.json.patches import add, test
from shared.kube.client import Client
from shared.kube.errors import ApiError, Conflict, NotFound
from shared.kube.resources import RESOURCE_FLAVORS
from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.flavor import Flavor, nodes_taken_by
from shared.telemetry import get_logger

HAS_NODES = "HasNodes"
log = get_logger(__name__)


def flavors_without_nodes(snapshot: Snapshot) -> Mapping[str, str]:
    """Return flavor -> why no ready node counts for it."""
    empty = [flavor for flavor, largest in snapshot.largest_nodes.items() if not largest]
    takers = nodes_taken_by(snapshot.world.flavors.values()) if empty else {}
    return {flavor: _why_empty(flavor, takers.get(flavor), snapshot.world.flavors) for flavor in empty}


def _why_empty(flavor: str, taker: str | None, flavors: Mapping[str, Flavor]) -> str:
    if taker is not None:
        return f"a node counts for one flavor, and all that could be of {flavor} count for {taker}"
    if flavor in flavors and flavors[flavor].node_labels:
        return "no ready node has its nodeLabels and counts for it"
    return "every ready node has the nodeLabels of another flavor, or there is none"


def nodes_of_flavor(name: str, snapshot: Snapshot, empty: Mapping[str, str]) -> Condition | None:
    """Return the condition of a flavor; None where it is not compared with nodes."""
    if name not in snapshot.largest_nodes:
        return None
    if name in empty:
        return Condition(HAS_NODES, "False", "NoNode", empty[name])
    return Condition(HAS_NODES, "True", "NodesFound", "")


def nodes_of_group(group: str, snapshot: Snapshot, empty: Mapping[str, str]) -> Condition:
    """Return the condition of a group: whether each flavor of its quotas has nodes."""
    flavors = [entry.flavor for entry in snapshot.world.tree[group].quotas]
    if not any(flavor in snapshot.largest_nodes for flavor in flavors):
        return Condition(HAS_NODES, "Unknown", "NotCompared", "")
    missing = [f"{flavor}: {empty[flavor]}" for flavor in flavors if flavor in empty]
    if missing:
        return Condition(HAS_NODES, "False", "FlavorWithoutNodes", "; ".join(missing))
    return Condition(HAS_NODES, "True", "NodesFound", "")


class FlavorStatusWriter:
    """Writes the status of each flavor when it has changed. What is stored is read once, for the time it says."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._written: dict[str, Condition] = {}
        """uid of a flavor -> its condition as it is stored."""

    async def write(self, snapshot: Snapshot, now: datetime) -> int:
        """Write what has changed, and return how many statuses that were. Raises ApiError."""
        empty, number = flavors_without_nodes(snapshot), 0
        for flavor in snapshot.world.flavors.values():
            wanted = nodes_of_flavor(flavor.name, snapshot, empty)
            if wanted is not None and flavor.uid and await self._is_new(flavor, wanted):
                number += await self._write(flavor, wanted, now)
        return number

    async def _is_new(self, flavor: Flavor, wanted: Condition) -> bool:
        if flavor.uid not in self._written:
            try:
                stored = await self._client.get(RESOURCE_FLAVORS, flavor.name, into=ResourceFlavor)
            except NotFound:
                return False
            found = [each for each in stored.status.conditions if each.type == HAS_NODES]
            if found:
                self._written[flavor.uid] = found[0]
        known = self._written.get(flavor.uid)
        return known is None or _content(known) != _content(wanted)

    async def _write(self, flavor: Flavor, wanted: Condition, now: datetime) -> int:
        known = self._written.get(flavor.uid)
        is_same = known is not None and known.status == wanted.status
        since = known.last_transition_time if known is not None and is_same else now.replace(microsecond=0)
        condition = msgspec.structs.replace(wanted, last_transition_time=since)
        status = ResourceFlavorStatus([condition])
        operations = [test(("metadata", "uid"), flavor.uid), add(("status",), status)]
        try:
            await self._client.patch_json(RESOURCE_FLAVORS, flavor.name, operations, subresource="status")
        except (NotFound, Conflict):
            return 0
        except ApiError:
            self._written.pop(flavor.uid, None)
            raise
        self._written[flavor.uid] = condition
        return 1


def _content(condition: Condition) -> tuple[str, str, str]:
    return condition.status, condition.reason, condition.message
