"""Maintains a Secret, and what clients must know of it, together with all replicas.

The Secret is the source of truth. Every replica watches it, any replica repairs it by compare-and-swap, and each writes
what clients need into the objects that configure them whenever it is missing there.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import ClassVar, Final, Protocol

from shared.kube.errors import ApiError
from shared.telemetry import get_logger
from shared.tls.watched_secret import WatchedSecret

CHECK: Final = timedelta(minutes=1)
"""How often it is checked while nothing changes."""
RETRY: Final = timedelta(seconds=2)
"""The same while something is due."""

log = get_logger(__name__)


class RotatedContents(Protocol):
    """What a Secret contains, and who must be told of it."""

    kind: ClassVar[str]
    """The type of the Secret."""

    def next(self, contents: Mapping[str, bytes], now: datetime) -> Mapping[str, bytes] | None:
        """Return what the Secret should contain: `contents` when nothing is due, None if it is not known yet."""

    async def publish(self, contents: Mapping[str, bytes], now: datetime) -> timedelta:
        """Tell those who must know; return how long to wait for a change before checking again. Raises ApiError."""


class SecretRotator:
    """Maintains one Secret."""

    def __init__(self, secret: WatchedSecret, contents: RotatedContents) -> None:
        self._secret = secret
        self._contents = contents
        self._last: Mapping[str, bytes] = {}
        """The last content of the Secret: a deleted Secret is written again, because clients rely on it."""

    async def run(self) -> None:
        """Run indefinitely: on every change, and after the pause that the contents ask for."""
        while True:
            self._secret.changed.clear()
            try:
                wait = await self._step(datetime.now(UTC))
            except ApiError as error:
                log.warning("Secret not kept", error=str(error))
                wait = RETRY
            with suppress(TimeoutError):
                async with asyncio.timeout(wait.total_seconds()):
                    await self._secret.changed.wait()

    async def _step(self, now: datetime) -> timedelta:
        seen = self._secret.seen
        contents = self._last if seen is None else seen.data
        wanted = self._contents.next(contents, now)
        if wanted is None:
            return CHECK
        if seen is None or wanted != contents:
            await self._secret.write(self._contents.kind, wanted)
            return RETRY
        self._last = wanted
        return await self._contents.publish(contents, now)
