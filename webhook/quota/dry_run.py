"""The warnings of a dry run: what the edit would start, stop and keep pending, by group.

The webhook decides nothing itself: it sends a WhatIf to the visibility API with its own account. Without that API, a
dry run is answered like any other edit.
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
PATIENCE: Final = timedelta(seconds=3)
"""With the longest wait of an edit for another, this is no more than the webhook's timeoutSeconds for quota objects."""
UNKNOWN: Final = "what this edit would start and stop is not known: there was no answer in time; ask `quotree what-if`"

log = get_logger(__name__)


class _Status(msgspec.Struct, frozen=True):
    lines: list[str] = []


class _WhatIf(msgspec.Struct, frozen=True):
    status: _Status = _Status()


class DryRunEffects:
    """Asks the visibility API what an edit would change."""

    def __init__(self, client: Client) -> None:
        self._client = client.within(PATIENCE).reserved(2)

    async def of(self, review: Review) -> tuple[str, ...]:
        """Return the warnings for a dry run; none if nothing would change or the API does not answer."""
        try:
            async with asyncio.timeout(PATIENCE.total_seconds()):
                answer = await self._client.create(WHAT_IFS, question(review), into=_WhatIf)
        except (TimeoutError, TooManyRequests):
            return (UNKNOWN,)
        except (NotFound, Forbidden):
            return ()
        except ApiError as error:
            log.info("A dry run is answered without its effects", error=str(error))
            return ()
        return tuple(answer.status.lines)


def question(review: Review) -> dict[str, Any]:
    """Return the WhatIf object for a reviewed edit."""
    if review.operation is ReviewOperation.DELETE:
        spec: dict[str, Any] = {"delete": [{"kind": review.kind.kind, "name": review.name}]}
    else:
        spec = {"apply": [review.object]}
    return {"apiVersion": WHAT_IFS.api_version, "kind": WHAT_IFS.kind, "spec": spec}
