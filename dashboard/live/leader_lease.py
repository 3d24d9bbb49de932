"""Whether a reconciler leads: its Lease is read every few seconds, where the user may read it."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, NoReturn

import msgspec

from shared.cluster.leader_lease import fields_of, leaderless_since
from shared.kube.client import Client
from shared.kube.errors import ApiError
from shared.kube.resources import LEASES

_PAUSE: Final = timedelta(seconds=5)
_PATIENCE: Final = timedelta(seconds=4)


class LeaderLease:
    """Calls `on_change` when a reconciler begins or ceases to lead."""

    def __init__(self, client: Client, name: str, on_change: Callable[[], None]) -> None:
        self.gone_since: datetime | None = None
        """When the last one led; None: one leads, or the user cannot know."""
        self._client = client.within(_PATIENCE)
        self._name = name
        self._on_change = on_change

    async def run(self) -> NoReturn:
        """Read it until cancelled. While it cannot be read, what was read last holds: the page itself is old then."""
        while True:
            try:
                found = await self._client.list_all(LEASES, into=msgspec.Raw, fields=fields_of(self._name))
            except ApiError:
                pass
            else:
                self._note(leaderless_since(found, datetime.now(UTC)))
            await asyncio.sleep(_PAUSE.total_seconds())

    def _note(self, gone_since: datetime | None) -> None:
        if gone_since != self.gone_since:
            self.gone_since = gone_since
            self._on_change()
