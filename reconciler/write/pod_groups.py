"""Keeps the PodGroups of started Jobs: makes each after the start, and deletes it with the eviction.

kube-scheduler places no pod that names a PodGroup before the PodGroup exists, so what is made late delays, and nothing
else. All follows from the Jobs and the PodGroups as they are: a process that ends at any step leaves nothing that the
next does not put right. See docs/specification.md §8.6.
"""

import asyncio
from collections.abc import Awaitable, Iterator
from datetime import timedelta
from typing import Any, Final, NoReturn

from shared.api.json.patches import add, test
from shared.api.json.reading import write_moment
from shared.api.names import ADMISSION, UNIT_LABEL
from shared.cluster.state.observed.gangs import SeenPodGroup, WantedPodGroup
from shared.cluster.state.workloads.follow_ups import FollowUps
from shared.kube.client import Client
from shared.kube.errors import AlreadyExists, ApiError, Conflict, NotFound
from shared.kube.resources import POD_GROUPS
from shared.kube.watch.watching import Watch
from shared.telemetry import get_logger

_AGAIN: Final = timedelta(seconds=2)
"""After a write that was refused, or had no answer."""
_PAUSE: Final = timedelta(milliseconds=20)
"""Between two looks, so that many changes are one."""

log = get_logger(__name__)


class PodGroups:
    """Writes while this process leads. `made`: those that exist."""

    def __init__(self, client: Client, follow_ups: FollowUps, made: Watch[SeenPodGroup]) -> None:
        self._client = client
        self._follow_ups = follow_ups
        self._made = made
        self._changed = asyncio.Event()

    def look(self) -> None:
        """Look at what is wanted and what exists, soon."""
        self._changed.set()

    async def run(self) -> NoReturn:
        """Keep the PodGroups, indefinitely."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            if not self._made.is_absent:
                await asyncio.gather(*map(self._try, self._writes()))
            await asyncio.sleep(_PAUSE.total_seconds())

    def _writes(self) -> Iterator[Awaitable[None]]:
        seen = {(each.namespace, each.name): each for each in self._made.records.values()}
        for wanted in self._follow_ups.pod_groups.values():
            found = seen.pop((wanted.namespace, wanted.name), None)
            if found is None:
                yield self._create(wanted)
            elif found.is_deleting:
                continue
            elif (found.owner, found.started) != (wanted.uid, write_moment(wanted.since)):
                yield self._delete(found)
            elif found.pods > wanted.pods:
                yield self._lower(found, wanted.pods)
        yield from (self._delete(each) for each in seen.values() if not each.is_deleting)

    async def _try(self, write: Awaitable[None]) -> None:
        try:
            await write
        except (AlreadyExists, Conflict, NotFound):
            return  # The watch shows what it is now.
        except ApiError as error:
            log.warning("PodGroup not written", error=str(error))
            asyncio.get_running_loop().call_later(_AGAIN.total_seconds(), self._changed.set)

    async def _create(self, wanted: WantedPodGroup) -> None:
        await self._client.create(POD_GROUPS, pod_group(wanted), wanted.namespace)

    async def _lower(self, found: SeenPodGroup, pods: int) -> None:
        operations = [
            test(("metadata", "uid"), found.uid),
            add(("spec", "schedulingPolicy", "gang", "minCount"), pods),
        ]
        await self._client.patch_json(POD_GROUPS, found.name, operations, found.namespace)

    async def _delete(self, found: SeenPodGroup) -> None:
        await self._client.delete(POD_GROUPS, found.name, found.namespace, uid=found.uid)


def pod_group(wanted: WantedPodGroup) -> dict[str, Any]:
    """Return the object: it goes with its Job."""
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": wanted.job, "uid": wanted.uid, "controller": True}
    spec: dict[str, Any] = {"schedulingPolicy": {"gang": {"minCount": wanted.pods}}}
    if wanted.priority_class:
        spec["priorityClassName"] = wanted.priority_class
    return {
        "apiVersion": POD_GROUPS.api_version,
        "kind": POD_GROUPS.kind,
        "metadata": {
            "name": wanted.name,
            "labels": {UNIT_LABEL: wanted.uid},
            "annotations": {ADMISSION: write_moment(wanted.since)},
            "ownerReferences": [owner],
        },
        "spec": spec,
    }
