"""Ends deletions of groups and flavors that wait until nothing uses them: takes the finalizer off.

The webhook judges the removal of the finalizer as the deletion itself, so what is in use again meanwhile stays.
"""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from typing import Final, NamedTuple, NoReturn

from shared.api.core.metadata import QuotaMetadata
from shared.api.json.patches import add, test
from shared.api.json.reading import View
from shared.api.names import IN_USE
from shared.kube.client import Client
from shared.kube.errors import ApiError, NotFound
from shared.kube.resources import QUOTA_GROUPS, RESOURCE_FLAVORS, Resource
from shared.quota.measure.inputs.world import World
from shared.telemetry import get_logger

_AGAIN: Final = timedelta(seconds=2)
"""After a removal that was refused, or had no answer."""

log = get_logger(__name__)


class Unused(NamedTuple):
    """A group or flavor that was deleted and that nothing uses any more."""

    resource: Resource
    name: str
    uid: str


class _Object(View, frozen=True):
    metadata: QuotaMetadata = QuotaMetadata()


def unused_in(world: World) -> Iterator[Unused]:
    """Yield the groups under deletion that hold neither groups nor workloads, and the flavors that no group uses."""
    tree = world.tree
    for group in tree.groups.values():
        if group.deleting and not tree.children(group.name) and not world.workloads_of(group.name).by_id:
            yield Unused(QUOTA_GROUPS, group.name, group.uid)
    flavors = [flavor for flavor in world.flavors.values() if flavor.deleting]
    used = {entry.flavor for group in tree.groups.values() for entry in group.quotas} if flavors else ()
    yield from (Unused(RESOURCE_FLAVORS, each.name, each.uid) for each in flavors if each.name not in used)


class Deletions:
    """Ends them as of the latest world."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._latest: World | None = None
        self._changed = asyncio.Event()

    def show(self, world: World) -> None:
        """Set the latest world."""
        self._latest = world
        self._changed.set()

    async def run(self) -> NoReturn:
        """End deletions, indefinitely."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            for each in () if self._latest is None else list(unused_in(self._latest)):
                await self._end(each)

    async def _end(self, unused: Unused) -> None:
        """Take the finalizer off."""
        resource, name, uid = unused
        try:
            found = (await self._client.get(resource, name, into=_Object)).metadata
            if found.uid != uid or not found.waits_to_go:
                return
            left = [each for each in found.finalizers if each != IN_USE]
            kept = test(("metadata", "finalizers"), found.finalizers)
            operations = [test(("metadata", "uid"), uid), kept, add(("metadata", "finalizers"), left)]
            await self._client.patch_json(resource, name, operations)
        except NotFound:
            return
        except ApiError as error:
            log.info("Not deleted yet", kind=resource.kind, name=name, error=str(error))
            asyncio.get_running_loop().call_later(_AGAIN.total_seconds(), self._changed.set)
        else:
            log.info("Deleted, as nothing uses it any more", kind=resource.kind, name=name)
