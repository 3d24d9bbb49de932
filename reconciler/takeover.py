"""Whether a new leader knows all that the former one wrote: its watch may lag behind the last starts."""

import asyncio
from datetime import timedelta
from typing import Final

from reconciler.records import FinishedJob
from shared.api.job import Job
from shared.kube.client import Client, ObjectMetadata
from shared.kube.errors import ApiError
from shared.kube.resources import JOBS
from shared.kube.watching import Watch
from shared.telemetry import get_logger

_POLL: Final = timedelta(milliseconds=20)
_RETRY: Final = timedelta(seconds=1)

log = get_logger(__name__)


async def catch_up(client: Client, watch: Watch[Job | FinishedJob]) -> None:
    """Return when the watch has told of every Job at least what a consistent list says now."""
    while True:
        try:
            wanted = {
                each.metadata.uid: each.metadata.generation for each in await client.list_all(JOBS, into=ObjectMetadata)
            }
        except ApiError as error:
            log.warning("Jobs not listed before leading", error=str(error))
            await asyncio.sleep(_RETRY.total_seconds())
        else:
            break
    waited = 0
    while wanted := {uid: at for uid, at in wanted.items() if _is_behind(watch, uid, at)}:
        await asyncio.sleep(_POLL.total_seconds())
        waited += 1
        if waited % 500 == 0:
            log.warning("Watch of Jobs lags behind", jobs=len(wanted))
            wanted = await _still_there(client, wanted)


def _is_behind(watch: Watch[Job | FinishedJob], uid: str, generation: int) -> bool:
    if uid in watch.undecodable:
        return False
    known = watch.records.get(uid)
    if isinstance(known, FinishedJob):
        return False
    return known is None or known.metadata.generation < generation


async def _still_there(client: Client, wanted: dict[str, int]) -> dict[str, int]:
    """Those of `wanted` that have not been deleted meanwhile."""
    try:
        present = {each.metadata.uid for each in await client.list_all(JOBS, into=ObjectMetadata)}
    except ApiError:
        return wanted
    return {uid: generation for uid, generation in wanted.items() if uid in present}
