"""Keeps the PodGroups of started Jobs: makes each after the start, and deletes it with the eviction.

kube-scheduler places no pod that names a PodGroup before the PodGroup exists, so what is made late delays, and nothing
else. What is refused is told to the owner of the Job, and tried again. All follows from the Jobs and the PodGroups as
they are: a process that ends at any step leaves nothing that the next does not put right.
See docs/specification.md §8.6.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NoReturn

from shared.api.json.patches import add, test
from shared.api.json.reading import write_moment
from shared.api.names import ADMISSION, UNIT_LABEL
from shared.cluster.state.observed.gangs import SeenPodGroup, WantedPodGroup
from shared.cluster.state.workloads.follow_ups import FollowUps
from shared.kube.client import Client
from shared.kube.errors import AlreadyExists, ApiError, Conflict, Forbidden, Invalid, NotFound
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
        self._refused: set[tuple[str, str]] = set()
        """(namespace, name) of those that are not tried again before the next pause has ended."""
        self.say_refused: Callable[[str, str, datetime], None] = _say_nothing
        """Says on a Job, by its key, why its PodGroup is refused; empty: it is not any more."""

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
        for key, wanted in self._follow_ups.pod_groups.items():
            place = (wanted.namespace, wanted.name)
            found = seen.pop(place, None)
            if found is None:
                if place not in self._refused:
                    yield self._create(key, wanted)
            elif found.is_deleting:
                continue
            elif (found.owner, found.started) != (wanted.uid, write_moment(wanted.since)):
                yield self._delete(found)
            else:
                if wanted.refusal:
                    self.say_refused(key, "", datetime.now(UTC))
                if found.pods > wanted.pods:
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

    async def _create(self, key: str, wanted: WantedPodGroup) -> None:
        try:
            await self._client.create(POD_GROUPS, pod_group(wanted), wanted.namespace)
        except (Forbidden, Invalid) as error:
            log.warning("PodGroup refused", error=str(error))
            if not wanted.refusal:
                self.say_refused(key, error.message, datetime.now(UTC))
            if not self._refused:
                asyncio.get_running_loop().call_later(_AGAIN.total_seconds(), self._try_refused)
            self._refused.add((wanted.namespace, wanted.name))

    def _try_refused(self) -> None:
        self._refused.clear()
        self._changed.set()

    async def _lower(self, found: SeenPodGroup, pods: int) -> None:
        operations = [
            test(("metadata", "uid"), found.uid),
            add(("spec", "schedulingPolicy", "gang", "minCount"), pods),
        ]
        await self._client.patch_json(POD_GROUPS, found.name, operations, found.namespace)

    async def _delete(self, found: SeenPodGroup) -> None:
        await self._client.delete(POD_GROUPS, found.name, found.namespace, uid=found.uid)


def _say_nothing(_key: str, _refusal: str, _now: datetime) -> None:
    """Until someone is there who says it."""


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
