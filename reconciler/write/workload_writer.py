"""The only code that writes workloads: each decision is one guarded patch, repeated until its outcome is known.

A request without an answer might have been carried out. Its patch tests the generation it was decided on and moves it,
so sending it again is safe, and the object then shows which of the two happened.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from http import HTTPStatus
from typing import Final

from reconciler.write.sorts.registry import writes_of
from shared.api.core.metadata import Metadata
from shared.api.json.patches import Operation
from shared.api.names import EVICTION
from shared.cluster.state.expected.assumptions import Mark
from shared.cluster.state.sorts.sort import WorkloadObject
from shared.cluster.state.workloads.object_store import PodRef
from shared.kube.client import Client, ObjectMetadata
from shared.kube.errors import ApiError, Conflict, Fenced, Invalid, NotFound, TooManyRequests, Unavailable
from shared.kube.resources import PODS, Resource
from shared.telemetry import get_logger

_FIRST_WAIT: Final = timedelta(milliseconds=100)
_LONGEST_WAIT: Final = timedelta(seconds=5)
_REFUSED_LIMIT: Final = timedelta(seconds=5)
"""A patch that the API server puts off for longer is given up: by then its decision might be without cause. So long
is also waited for the answer to each try of an eviction.
"""
_SERVER_ERRORS: Final = 5
"""After so many answers 500 in a row the write is given up: etcd refuses an object that is too large in this way."""

log = get_logger(__name__)


class WriteOutcome(StrEnum):
    """The outcome of a write."""

    WRITTEN = "written"
    STALE = "stale"
    """The object is gone, or no longer what was decided on."""
    UNANSWERED = "unanswered"
    """The API server fails or does not answer, so that the object might have been written, or be written yet."""
    REFUSED = "refused"
    """Not allowed, now: by RBAC, a webhook or a policy."""
    INVALID = "invalid"
    """It would make an object that is not valid, such as pods of contradictory placement."""
    TOO_LARGE = "too_large"
    """The object has no space for what would be written, or the API server answers 500 each time."""
    REDUCED = "reduced"
    """The decision is carried out without its annotations: the object has no space for them."""


@dataclass(frozen=True, slots=True)
class WriteResult:
    """A write's outcome; `message` is the server's own text where it refused."""

    fate: WriteOutcome
    message: str = ""


WRITTEN: Final = WriteResult(WriteOutcome.WRITTEN)
UNWANTED: Final = WriteResult(WriteOutcome.STALE, "nothing is left to be written on")
OUTDATED: Final = WriteResult(WriteOutcome.STALE, "the API server put it off for too long")
UNANSWERED: Final = WriteResult(WriteOutcome.UNANSWERED, "the API server has not answered for too long")
NOT_LEADING: Final = WriteResult(WriteOutcome.STALE, "this process does not lead")


def _yes() -> bool:
    return True


class WorkloadWriter:
    """Writes to workloads as long as this process leads: `time_left` says how long that is certain."""

    def __init__(self, client: Client, time_left: Callable[[], timedelta]) -> None:
        self._client = client.guarded(time_left)
        self._evicting = self._client.within(_REFUSED_LIMIT)
        self._time_left = time_left

    async def patch(
        self, target: WorkloadObject, operations: list[Operation], mark: Mark, subresource: str | None = None
    ) -> WriteResult:
        """Patch one object. `mark` identifies the patch if it was carried out without an answer.

        What might have been carried out is repeated until that is known: a start whose quota is given to others
        meanwhile would exceed it. An eviction is given up: until it is seen, the victim counts as running.
        """
        resource, seen = writes_of(target).resource(target), target.metadata
        ends = time.monotonic() + _REFUSED_LIMIT.total_seconds()
        unanswered, is_eviction = False, mark[0] == EVICTION
        client = self._evicting if is_eviction else self._client

        async def send() -> None:
            nonlocal unanswered
            try:
                await client.patch_json(resource, seen.name, operations, seen.namespace, subresource=subresource)
            except Unavailable:
                unanswered = True
                raise

        outcome = await self._repeat(send, lambda: (unanswered and not is_eviction) or time.monotonic() < ends)
        if outcome is UNWANTED:
            return UNANSWERED if unanswered else OUTDATED
        if (
            outcome.fate in (WriteOutcome.STALE, WriteOutcome.TOO_LARGE)
            and unanswered
            and await self._carries(resource, seen, mark)
        ):
            return WRITTEN
        return outcome

    async def evict_pod(
        self, pod: PodRef, is_wanted: Callable[[], bool], failing: Callable[[str], None]
    ) -> WriteResult:
        """Evict one pod; repeat while a PodDisruptionBudget refuses it and it `is_wanted`.

        `failing` is called once the answer has been 500 several times, as it always is for a pod of two budgets.
        """

        async def send() -> None:
            await self._client.evict(pod.name, pod.namespace, uid=pod.uid)

        return await self._repeat(send, is_wanted, failing)

    async def delete_pod(self, pod: PodRef, is_wanted: Callable[[], bool]) -> WriteResult:
        """Delete one pod, and no other of its name."""

        async def send() -> None:
            await self._client.delete(PODS, pod.name, pod.namespace, uid=pod.uid)

        return await self._repeat(send, is_wanted)

    async def _carries(self, resource: Resource, seen: Metadata, mark: Mark) -> bool:
        """Return whether the object carries the mark: an earlier request was carried out after all."""
        now = Metadata()

        async def look() -> None:
            nonlocal now
            found = await self._client.get(resource, seen.name, seen.namespace, into=ObjectMetadata)
            now = Metadata(uid=found.metadata.uid, annotations=found.metadata.annotations)

        await self._repeat(look)
        return now.uid == seen.uid and now.annotations.get(mark[0]) == mark[1]

    async def _repeat(
        self,
        send: Callable[[], Awaitable[None]],
        is_wanted: Callable[[], bool] = _yes,
        failing: Callable[[str], None] | None = None,
    ) -> WriteResult:
        """Send until there is an answer, or none is wanted; wait longer after each try, at most five seconds.

        Several answers 500 in a row end it; with `failing` they are only told, by that.
        """
        wait, server_errors = _FIRST_WAIT, 0
        while True:
            if not self._time_left():
                return NOT_LEADING
            if not is_wanted():
                return UNWANTED
            try:
                await send()
            except Fenced:
                return NOT_LEADING
            except (Conflict, NotFound) as error:
                return WriteResult(WriteOutcome.STALE, str(error))
            except Invalid as error:
                fate = WriteOutcome.TOO_LARGE if _is_too_large(error) else WriteOutcome.INVALID
                return WriteResult(fate, error.message)
            except (Unavailable, TooManyRequests) as error:
                server_errors = server_errors + 1 if error.status == HTTPStatus.INTERNAL_SERVER_ERROR else 0
                if server_errors == _SERVER_ERRORS:
                    if failing is None:
                        return WriteResult(WriteOutcome.TOO_LARGE, error.message)
                    failing(error.message)
                pause = error.retry_after or wait
                log.warning("Write must be repeated", error=str(error), seconds=pause.total_seconds())
                await asyncio.sleep(pause.total_seconds() * random.uniform(0.5, 1.0))  # noqa: S311
                wait = min(wait * 2, _LONGEST_WAIT)
            except ApiError as error:
                is_too_large = error.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
                return WriteResult(WriteOutcome.TOO_LARGE if is_too_large else WriteOutcome.REFUSED, error.message)
            else:
                return WRITTEN


def _is_too_large(error: Invalid) -> bool:
    return any(cause.field.startswith("metadata.annotations") for cause in error.causes)
