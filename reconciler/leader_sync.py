"""Whether a new leader knows all that the previous one wrote: its watches may lag behind the last starts.

See docs/specification.md §5.8.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from shared.api.names import ADMISSION, EVICTION, GROUP_LABEL, UNIT_LABEL
from shared.cluster.state.observed.projections import FinishedOwner, PodRecord
from shared.cluster.watches import LIVE, WorkloadWatches
from shared.kube.client import Client, ObjectMetadata, WrittenMetadata
from shared.kube.errors import ApiError, NotFound
from shared.kube.resources import JOBS, PODS, Resource
from shared.kube.watch.watching import Watch
from shared.telemetry import get_logger

_POLL: Final = timedelta(milliseconds=20)
_RETRY: Final = timedelta(seconds=1)

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Listed:
    jobs: list[WrittenMetadata]
    pods: list[WrittenMetadata]
    kinds: list[list[WrittenMetadata]]
    """The watches of objects of governed kinds."""

    def __len__(self) -> int:
        return len(self.jobs) + len(self.pods) + sum(map(len, self.kinds))


async def catch_up(client: Client, watches: WorkloadWatches) -> None:
    """Return when the watches have every Job and managed pod in at least the version of a consistent list."""
    waited = 0
    behind = _behind(watches, await _list(client, watches))
    while behind:
        await asyncio.sleep(_POLL.total_seconds())
        waited += 1
        if waited % 500 == 50:
            # No event follows for objects that have ended or were deleted meanwhile.
            others = sum(map(len, behind.kinds))
            log.warning("Watches lag behind", jobs=len(behind.jobs), pods=len(behind.pods), others=others)
            behind = await _list(client, watches)
        behind = _behind(watches, behind)


async def _list(client: Client, watches: WorkloadWatches) -> _Listed:
    while True:
        try:
            jobs = await client.list_all(JOBS, into=ObjectMetadata)
            pods = await client.list_all(PODS, into=ObjectMetadata, labels=GROUP_LABEL, fields=LIVE)
            kinds = [await _list_kind(client, each.resource) for each in watches.kinds]
        except ApiError as error:
            log.warning("Jobs and pods not listed before leading", error=str(error))
            await asyncio.sleep(max(_RETRY, error.retry_after or _RETRY).total_seconds())
        else:
            return _Listed([each.metadata for each in jobs], [each.metadata for each in pods], kinds)


async def _list_kind(client: Client, resource: Resource) -> list[WrittenMetadata]:
    """Return the objects of a kind; empty if the kind is not installed."""
    try:
        return [each.metadata for each in await client.list_all(resource, into=ObjectMetadata)]
    except NotFound:
        return []


def _behind(watches: WorkloadWatches, listed: _Listed) -> _Listed:
    """Return the listed objects that the watches do not have in this version."""
    return _Listed(
        [each for each in listed.jobs if _is_owner_behind(watches.jobs, each)],
        [each for each in listed.pods if _is_pod_behind(watches.pods, each)],
        [
            [each for each in objects if _is_owner_behind(watch, each)]
            for watch, objects in zip(watches.kinds, listed.kinds, strict=True)
        ],
    )


def _is_owner_behind(watch: Watch[Any], listed: WrittenMetadata) -> bool:
    """Return whether the generation differs: a start or an eviction increases it."""
    if listed.uid in watch.undecodable or UNIT_LABEL in listed.labels:
        return False
    known = watch.records.get(listed.uid)
    if isinstance(known, FinishedOwner):
        return False
    return known is None or bool(known.metadata.generation < listed.generation)


def _is_pod_behind(watches: Sequence[Watch[PodRecord]], listed: WrittenMetadata) -> bool:
    """Return whether the annotations differ: a start or an eviction writes one."""
    if any(listed.uid in watch.undecodable for watch in watches):
        return False
    known = next((watch.records[listed.uid] for watch in watches if listed.uid in watch.records), None)
    if known is None:
        return True
    seen = known.work.metadata.annotations if known.work is not None else listed.annotations
    return any(listed.annotations.get(name) not in (None, seen.get(name)) for name in (ADMISSION, EVICTION))
