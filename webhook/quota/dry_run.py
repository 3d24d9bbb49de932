"""The warnings of a dry run: what an edit of the tree would start, stop and keep pending, by group; whether a new
workload would start.

The webhook decides nothing itself: it sends a WhatIf or a StartPreview to the visibility API with its own account.
Without that API, a dry run is answered like any other edit.
"""

import asyncio
from datetime import timedelta
from typing import Any, Final

import msgspec

from shared.api.api_service import VISIBILITY_GROUP, VISIBILITY_VERSION
from shared.api.review import Review, ReviewOperation
from shared.kube.client import Client
from shared.kube.errors import ApiError, Forbidden, NotFound, TooManyRequests
from shared.kube.resources import Resource
from shared.telemetry import get_logger

WHAT_IFS: Final = Resource(VISIBILITY_GROUP, VISIBILITY_VERSION, "whatifs", "WhatIf", namespaced=False)
START_PREVIEWS: Final = Resource(VISIBILITY_GROUP, VISIBILITY_VERSION, "startpreviews", "StartPreview", namespaced=True)
PATIENCE: Final = timedelta(seconds=3)
"""With the longest wait of an edit for another, this is no more than the webhook's timeoutSeconds for quota objects."""
UNKNOWN: Final = "what this edit would start and stop is not known: there was no answer in time; ask `quotree what-if`"
START_UNKNOWN: Final = "whether this would start now is not known: there was no answer in time; ask again"

log = get_logger(__name__)


class _Status(msgspec.Struct, frozen=True):
    lines: list[str] = []


class _Answer(msgspec.Struct, frozen=True):
    status: _Status = _Status()


class DryRunEffects:
    """Asks the visibility API what a request would change."""

    def __init__(self, client: Client) -> None:
        self._client = client.within(PATIENCE).reserved(2)

    async def of(self, review: Review) -> tuple[str, ...]:
        """Return what an edit of a quota object would change; none if nothing, or if the API does not answer."""
        return await self._lines(WHAT_IFS, question(review), None, UNKNOWN)

    async def start_of(self, review: Review) -> tuple[str, ...]:
        """Return whether a new workload would start, as it is in the review."""
        body = _body(START_PREVIEWS, {"apply": [review.object]})
        return await self._lines(START_PREVIEWS, body, review.namespace, START_UNKNOWN)

    async def _lines(
        self, resource: Resource, body: dict[str, Any], namespace: str | None, unknown: str
    ) -> tuple[str, ...]:
        try:
            async with asyncio.timeout(PATIENCE.total_seconds()):
                answer = await self._client.create(resource, body, namespace, into=_Answer)
        except (TimeoutError, TooManyRequests):
            return (unknown,)
        except (NotFound, Forbidden):
            return ()
        except ApiError as error:
            log.info("A dry run is answered without its effects", error=str(error))
            return ()
        return tuple(answer.status.lines)


def question(review: Review) -> dict[str, Any]:
    """Return the WhatIf object for a reviewed edit."""
    if review.operation is ReviewOperation.DELETE:
        return _body(WHAT_IFS, {"delete": [{"kind": review.kind.kind, "name": review.name}]})
    return _body(WHAT_IFS, {"apply": [review.object]})


def _body(resource: Resource, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": resource.api_version, "kind": resource.kind, "spec": spec}
