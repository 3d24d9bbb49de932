"""When the next decision cycle runs: at once for a new workload, and after a quiet moment for any other change.

A Job changes several times while it runs, and a burst brings many Jobs: one cycle decides on what changes in a moment.

See docs/specification.md §6.1.
"""

import asyncio
import math
import time
from datetime import timedelta
from typing import Final

_MOMENT: Final = timedelta(milliseconds=50)
_LONGEST_PAUSE: Final = timedelta(milliseconds=250)


class Wake:
    """What starts the next cycle: a change in the cluster, or a request of this process (a write ended, a timer)."""

    def __init__(self) -> None:
        self.observed = asyncio.Event()
        """A watch has seen a change; ends an idle pause."""
        self._requested = asyncio.Event()
        self._since: float | None = None
        self._began = -math.inf
        """The `perf_counter` when the last cycle was to begin."""
        self._later: asyncio.TimerHandle | None = None
        self._comes = False
        """Whether a workload has come since the last cycle began."""
        self._came = False
        """Whether one had come before it began."""

    @property
    def is_requested(self) -> bool:
        """Whether a cycle is to begin."""
        return self._requested.is_set()

    def request(self) -> None:
        """Run a cycle now."""
        self._note_time()
        self._requested.set()

    def observe(self, *, workload_comes: bool) -> None:
        """The cluster has changed; `workload_comes`: one waits that did not wait before."""
        self.observed.set()
        if workload_comes:
            self._comes = True
            self.request()
            return
        self._note_time()
        left = _MOMENT.total_seconds() - (time.perf_counter() - self._began)
        if left <= 0:
            self.request()
        elif self._later is None:
            self._later = asyncio.get_running_loop().call_later(left, self.request)

    async def wait(self) -> float:
        """Wait until a cycle is to begin; return the `perf_counter` of the first change or request it is run for."""
        await self._requested.wait()
        self._requested.clear()
        if self._later is not None:
            self._later.cancel()
            self._later = None
        self._came, self._comes = self._comes, False
        self._began = time.perf_counter()
        since, self._since = self._since, None
        return self._began if since is None else since

    async def pause(self, took: timedelta) -> None:
        """Pause as long as the cycle took, so that watches and writes get at least half of the time.

        After one on workloads that had come, more may be coming: pause for a moment, and four times as long as it took.
        """
        wanted = max(4 * took, _MOMENT) if self._came else took
        await asyncio.sleep(min(wanted, _LONGEST_PAUSE).total_seconds())

    def _note_time(self) -> None:
        if self._since is None:
            self._since = time.perf_counter()
