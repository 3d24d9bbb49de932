"""The only code that writes status: each group at most once an interval, and only when it says something new."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Final, NoReturn

from reconciler.cluster_state import ClusterState
from reconciler.group_status import Counts, status_of
from shared.api.patches import add, test
from shared.api.quotagroup import QuotaGroupStatus
from shared.kube.client import Client
from shared.kube.errors import ApiError, Conflict, NotFound
from shared.kube.resources import QUOTA_GROUPS
from shared.quota.measure.snapshot import Snapshot
from shared.quota.measure.world import OverSince
from shared.telemetry import get_logger

_AT_ONCE: Final = 16

log = get_logger(__name__)


class StatusWriter:
    """Shows the latest snapshot; those in between are passed over."""

    def __init__(self, client: Client, state: ClusterState, interval: timedelta) -> None:
        self._client = client
        self._state = state
        self._interval = interval
        self._latest: tuple[Snapshot, OverSince] | None = None
        self._news = asyncio.Event()
        self._counts = Counts()
        self._written: dict[str, QuotaGroupStatus] = {}
        self._shown: dict[str, tuple[object, ...]] = {}
        self._slots = asyncio.Semaphore(_AT_ONCE)

    def show(self, snapshot: Snapshot, over_since: OverSince) -> None:
        """This is how things stand now."""
        self._latest = (snapshot, over_since)
        self._news.set()

    async def run(self) -> NoReturn:
        """Write what is new, for ever."""
        while True:
            await self._news.wait()
            self._news.clear()
            if self._latest is not None:
                await self._write_all(*self._latest)
            await asyncio.sleep(self._interval.total_seconds())

    async def _write_all(self, snapshot: Snapshot, over_since: OverSince) -> None:
        now = datetime.now(UTC)
        news: list[tuple[str, str, QuotaGroupStatus]] = []
        for name, record in self._state.groups.items():
            if name not in snapshot.world.tree:
                continue
            status = status_of(record, snapshot, over_since, self._counts, now)
            if status not in (self._written.get(name), record.status):
                news.append((name, record.uid, status))
        await asyncio.gather(*(self._write(*each) for each in news))

    async def _write(self, name: str, uid: str, status: QuotaGroupStatus) -> None:
        operations = [test(("metadata", "uid"), uid), add(("status",), status)]
        async with self._slots:
            try:
                await self._client.patch_json(QUOTA_GROUPS, name, operations, subresource="status")
            except (NotFound, Conflict):
                self._written.pop(name, None)
            except ApiError as error:
                self._written.pop(name, None)
                self._news.set()
                log.warning("Status not written", group=name, error=str(error))
            else:
                self._written[name] = status
