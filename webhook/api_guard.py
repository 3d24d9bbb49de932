"""Removes the visibility API from discovery while no reconciler serves it, so that the cluster stays usable.

While an aggregated API is unavailable, Kubernetes' discovery is incomplete and the namespace controller cannot finish
any namespace deletion. The webhook runs apart from the reconciler, so it can detect this and delete the APIService. The
reconciler creates it again when it serves again.
"""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NoReturn

from shared.api.api_service import VISIBILITY_API, ApiServiceRecord, read_api_service
from shared.kube.client import Client
from shared.kube.errors import ApiError, Conflict, NotFound
from shared.kube.resources import API_SERVICES
from shared.kube.watch.cache import Change, transitions
from shared.kube.watch.watches import Watches
from shared.kube.watch.watching import Watch
from shared.telemetry import get_logger

PATIENCE: Final = timedelta(seconds=60)
"""How long the API can be unavailable before it is removed: longer than a restart of a replica on a busy machine."""
_LOOK: Final = timedelta(seconds=5)

log = get_logger(__name__)


class ApiGuard:
    """Watches the APIService of the visibility API."""

    def __init__(self, client: Client, watches: Watches) -> None:
        self._client = client
        self._seen: ApiServiceRecord | None = None
        fields = f"metadata.name={VISIBILITY_API}"
        watches.add(Watch(client, API_SERVICES, read_api_service, self._see, fields=fields))

    def _see(self, changes: Sequence[Change[ApiServiceRecord]]) -> None:
        for _, after in transitions(changes):
            self._seen = after

    async def run(self) -> NoReturn:
        """Check every few seconds, indefinitely."""
        while True:
            await asyncio.sleep(_LOOK.total_seconds())
            seen = self._seen
            if seen is not None and is_lost(seen, datetime.now(UTC)):
                await self._remove(seen)

    async def _remove(self, seen: ApiServiceRecord) -> None:
        """Delete the APIService; when another replica was first, it is already absent or another object."""
        try:
            await self._client.delete(API_SERVICES, VISIBILITY_API, uid=seen.metadata.uid)
        except (NotFound, Conflict):
            pass
        except ApiError as error:
            log.warning("The visibility API is not taken out of discovery", error=str(error))
        else:
            log.warning("The visibility API does not answer and is taken out of discovery")


def is_lost(seen: ApiServiceRecord, now: datetime) -> bool:
    """Return whether the API has been unavailable for so long that no reconciler is about to serve it."""
    since = seen.unavailable_since
    return since is not None and now - since > PATIENCE
