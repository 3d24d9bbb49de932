"""Computes frames in a thread of their own, at most a few a second, and notifies waiting streams."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final, NoReturn

from dashboard.live.watched_cluster import Sighting, WatchedCluster
from dashboard.view.frame import Frame
from dashboard.view.history import History
from shared.quota.decide.plan import plan
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Tree
from shared.quota.outlook.outlook import Outlook

_SHORTEST: Final = timedelta(milliseconds=250)
"""The least time between two frames: many changes make one frame."""
_LONGEST: Final = timedelta(seconds=10)
"""The most time between two frames, because back-offs and grace periods end by time alone."""


class Frames:
    """The latest frame, and a way to wait for a later one."""

    def __init__(self, cluster: WatchedCluster, settings: QuotaSettings) -> None:
        world = World(Tree.of(()), {}, {}, settings=settings)
        self.latest = Frame(0, datetime.now(UTC), world, {}, None, (), ("everything",))
        self.history = History()
        self._cluster = cluster
        self._engine = _Engine()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="frames")
        self._next = asyncio.Event()

    async def run(self) -> NoReturn:
        """Compute frames until cancelled."""
        try:
            while True:
                started = time.monotonic()
                self._cluster.changed.clear()
                await self._compute()
                # As long as it took, at least: the pages' own questions need the processor too.
                took = time.monotonic() - started
                await asyncio.sleep(max(took, _SHORTEST.total_seconds() - took))
                await self._wait_for_change()
        finally:
            self._thread.shutdown(wait=False, cancel_futures=True)

    async def after(self, number: int) -> Frame:
        """Return the latest frame as soon as it differs from `number`."""
        while self.latest.number == number:
            await self._next.wait()
        return self.latest

    async def _compute(self) -> None:
        seen = self._cluster.look(datetime.now(UTC))
        number = self.latest.number + 1
        if seen.standing is not None:
            # Not decided again: with a later time and the same objects, it would show what did not happen.
            self._show(replace(self.latest, number=number, standing=seen.standing))
            return
        loop = asyncio.get_running_loop()
        outlook = await loop.run_in_executor(self._thread, self._engine.decide, seen) if seen.is_complete else None
        if outlook is not None:
            self._cluster.remember_over(outlook.decided.over_since)
        frame = Frame(
            number,
            seen.now,
            seen.world,
            seen.groups,
            outlook,
            seen.refusals,
            seen.pending,
            served=seen.served,
            leaderless_since=seen.leaderless_since,
        )
        await loop.run_in_executor(self._thread, self.history.add, frame)
        self._show(frame)

    def _show(self, frame: Frame) -> None:
        self.latest = frame
        self._next.set()
        self._next = asyncio.Event()

    async def _wait_for_change(self) -> None:
        wait = _LONGEST
        outlook = self.latest.outlook
        if outlook is not None and outlook.decided.wake_at is not None:
            wait = min(wait, max(_SHORTEST, outlook.decided.wake_at - datetime.now(UTC)))
        try:
            await asyncio.wait_for(self._cluster.changed.wait(), wait.total_seconds())
        except TimeoutError:
            return


class _Engine:
    """Measures and plans incrementally, so that the cost is that of the changes."""

    def __init__(self) -> None:
        self._snapshot: Snapshot | None = None
        self._cache = CycleCache()

    def decide(self, seen: Sighting) -> Outlook:
        self._snapshot = measure(seen.world, seen.now, self._snapshot)
        return Outlook(self._snapshot, plan(self._snapshot, self._cache), leaderless_since=seen.leaderless_since)
