"""Registers the visibility API: writes into its APIService where it is served, and which CA to trust."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final

from shared.api.api_service import (
    VISIBILITY_API,
    ApiServiceRecord,
    ApiServiceReference,
    new_registration,
    read_api_service,
    registration,
)
from shared.api.durations import later
from shared.kube.client import Client
from shared.kube.errors import AlreadyExists, NotFound
from shared.kube.resources import API_SERVICES
from shared.kube.watch.cache import Change, transitions
from shared.kube.watch.watches import Watches
from shared.kube.watch.watching import Watch
from shared.telemetry import get_logger
from shared.tls.rotation import TrustedSince

_AGAIN: Final = timedelta(minutes=2)
"""How long the APIService stays deleted after a deletion while this process served: not reachable, or uninstalled."""

log = get_logger(__name__)


class ApiServiceBundle:
    """The service and the CA in the APIService, maintained by all replicas together; `wake` is called at a change."""

    def __init__(
        self, client: Client, watches: Watches, service: ApiServiceReference, wake: Callable[[], None]
    ) -> None:
        self._client = client
        self._service = service
        self._seen: ApiServiceRecord | None = None
        self._published = TrustedSince()
        self._not_before: datetime | None = None
        self._wake = wake
        fields = f"metadata.name={VISIBILITY_API}"
        watches.add(Watch(client, API_SERVICES, read_api_service, self._see, fields=fields))

    def _see(self, changes: Sequence[Change[ApiServiceRecord]]) -> None:
        for _, after in transitions(changes):
            before, self._seen = self._seen, after
            if before is not None and after is None:
                self._not_before = later(datetime.now(UTC), _AGAIN)
                log.warning("The APIService was deleted", made_again=self._not_before.isoformat())
        self._wake()

    def published_for(self, authority: bytes, now: datetime) -> timedelta | None:
        """For how long the APIService has trusted `authority`; None if it does not."""
        trusted = self._seen is not None and authority in self._seen.spec.ca_bundle
        return self._published.lasting(authority, now, trusted=trusted)

    async def publish(self, bundle: bytes) -> None:
        """Make the APIService trust exactly `bundle`. Raises ApiError."""
        seen, now = self._seen, datetime.now(UTC)
        if seen is None:
            if self._not_before is None or now >= self._not_before:
                with suppress(AlreadyExists):
                    await self._client.create(API_SERVICES, new_registration(self._service, bundle))
        elif seen.spec.ca_bundle != bundle or seen.spec.service != self._service:
            with suppress(NotFound):
                await self._client.patch_merge(API_SERVICES, VISIBILITY_API, registration(self._service, bundle))
                log.info("APIService written", service=f"{self._service.namespace}/{self._service.name}")
