"""Which objects exist from the first start: the groups root, system and default, and the flavor default."""

from typing import Any, Final

from shared.api.names import API_VERSION
from shared.kube.client import Client
from shared.kube.errors import AlreadyExists
from shared.kube.resources import QUOTA_GROUPS, RESOURCE_FLAVORS, Resource
from shared.quota.model.tree import DEFAULT, DEFAULT_FLAVOR, ROOT, SYSTEM
from shared.telemetry import get_logger

log = get_logger(__name__)

GROUPS: Final[dict[str, dict[str, Any]]] = {
    ROOT: {"isParent": True},
    SYSTEM: {"parent": ROOT, "isParent": False},
    DEFAULT: {"parent": ROOT, "isParent": False},
}


async def create_absent(client: Client, groups: set[str], flavors: set[str]) -> None:
    """Create those that are not among the known ones; one that exists already is left alone. Raises ApiError."""
    for name, spec in GROUPS.items():
        if name not in groups:
            await _create(client, QUOTA_GROUPS, name, spec)
    if DEFAULT_FLAVOR not in flavors:
        await _create(client, RESOURCE_FLAVORS, DEFAULT_FLAVOR, {})


async def _create(client: Client, resource: Resource, name: str, spec: dict[str, Any]) -> None:
    body = {"apiVersion": API_VERSION, "kind": resource.kind, "metadata": {"name": name}, "spec": spec}
    try:
        await client.create(resource, body)
    except AlreadyExists:
        return
    log.info("Built-in object created", kind=resource.kind, name=name)
