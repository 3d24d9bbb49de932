"""Whether what the watches showed still holds: a small question every two seconds, because a watch may be silent for a
minute on a quiet cluster, and goes on for minutes after its user's credentials have ended.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, NoReturn

from dashboard.view.frame import StaleCause, Standing
from shared.kube.client import Client
from shared.kube.errors import ApiError, Unauthorized, Unavailable
from shared.kube.resources import QUOTA_GROUPS
from shared.kube.watch.watches import Watches

_PAUSE: Final = timedelta(seconds=2)
_PATIENCE: Final = timedelta(seconds=4)
"""How long the API server may take to answer."""
_GRACE: Final = timedelta(seconds=3)
"""An interruption shorter than this is not shown: each stream ends now and then, and begins again at once."""
_NO_CREDENTIALS: Final = "NoCredentials"


class Pulse:
    """Asks the API server, and calls `on_change` when the data begins to stand or is live again."""

    def __init__(self, client: Client, watches: Watches, on_change: Callable[[], None]) -> None:
        self.standing: Standing | None = None
        """None while the data is live."""
        self._client = client.within(_PATIENCE)
        self._watches = watches
        self._on_change = on_change
        self._live_at = datetime.now(UTC)

    async def run(self) -> NoReturn:
        """Ask until cancelled."""
        while True:
            asked = datetime.now(UTC)
            self._note(await self._trouble(), asked)
            await asyncio.sleep(_PAUSE.total_seconds())

    def _note(self, trouble: tuple[StaleCause, str] | None, asked: datetime) -> None:
        before = self.standing
        if trouble is None:
            self._live_at, self.standing = asked, None
        elif datetime.now(UTC) - self._live_at >= _GRACE:
            self.standing = Standing(self._live_at, *trouble)
        if self.standing != before:
            self._on_change()

    async def _trouble(self) -> tuple[StaleCause, str] | None:
        """Return why the data may be old. A refusal is an answer, too: users need no right for this."""
        try:
            async with asyncio.timeout(_PATIENCE.total_seconds()):
                async for _ in self._client.list_pages(QUOTA_GROUPS, limit=1):
                    break
        except Unauthorized:
            return StaleCause.CREDENTIALS, ""
        except Unavailable as error:
            return (StaleCause.CREDENTIALS if error.reason == _NO_CREDENTIALS else StaleCause.SILENT), ""
        except TimeoutError:
            return StaleCause.SILENT, ""
        except ApiError:
            pass
        known = ((each.name, each.health.failure) for each in self._watches.members if each.synced.is_set())
        return next(((StaleCause.WATCH, f"{name} ({why.message})") for name, why in known if why is not None), None)
