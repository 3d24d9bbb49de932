"""The election in a thread of its own: what the process computes, decodes or waits for does not delay its Lease.

The thread has an event loop and a connection of its own. It renews only while the main loop shows life: one that
stands still for longer than the limit does not keep others from leading. The work itself runs on the main loop.

No write of a leader that lost its Lease is sent: a main loop that runs asks `time_left` before each write, and a
process whose main loop does not stop the work in time is ended before another may lead.
"""

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import AsyncExitStack, suppress
from datetime import datetime, timedelta
from typing import Any, Final, NoReturn

from shared.kube.client import Client
from shared.kube.errors import ConnectionProblem
from shared.kube.lead.election import Election, IsGone, LeadershipLost
from shared.kube.lead.election_settings import ElectionSettings
from shared.kube.lead.known_lease import now_seconds
from shared.kube.lead.lease import LeaseMark

_log = logging.getLogger("quotree.kube.election")
_BEATS: Final = 20
"""How many times within the limit the main loop reports that it runs."""

Work = Callable[[], Coroutine[Any, Any, None]]


def end_process() -> NoReturn:
    """Exit at once, without running the main loop again: no pending write is sent."""
    os._exit(LeadershipLost.exit_code)


class ElectionThread:
    """One candidate for one Lease; `run`, `let_expire` and the questions are for the main loop.

    `is_gone` makes, of a client, the function that says whether a holder has ended. `end` ends the process.
    """

    def __init__(
        self,
        client: Client,
        settings: ElectionSettings,
        stall_limit: timedelta,
        is_gone: Callable[[Client], IsGone] | None = None,
        end: Callable[[], None] = end_process,
    ) -> None:
        self._client = client
        self._settings = settings
        self._stall_limit = stall_limit.total_seconds()
        self._is_gone = is_gone
        self._end = end
        self._beaten = now_seconds()
        self._election: Election | None = None
        self._standing: asyncio.Task[None] | None = None
        self._is_cancelled = False

    @property
    def taken_from(self) -> LeaseMark | None:
        """What the Lease was when this process took it; None: it was not there, or has not been taken."""
        return self._election.taken_from if self._election is not None else None

    def vacant_since(self) -> datetime | None:
        """Return when the last leader renewed the Lease, if no process leads; None: one does, or none is known."""
        return None if self._election is None else self._election.vacant_since()

    @property
    def order(self) -> tuple[int, ...]:
        """Who has led later has a larger one, whatever the clocks say."""
        return self._election.order if self._election is not None else ()

    def may_write(self) -> bool:
        """Is it certain that no other process leads?"""
        return self._election is not None and self._election.may_write()

    def time_left(self) -> timedelta:
        """Return how long that is certain if the Lease is not renewed; zero when it is not certain now."""
        return self._election.time_left() if self._election is not None else timedelta()

    def let_expire(self) -> None:
        """Do not release the Lease at the end: something was sent that may still be carried out."""
        if self._election is not None:
            self._election.let_expire()

    async def run(self, lead: Work) -> None:
        """Wait for the Lease, then do the work of `lead` on this loop while holding it; release it when that has ended.

        Raises LeadershipLost when it could not be renewed, after the work was cancelled; else what `lead` raised.
        """
        outcome: Future[None] = Future()
        work = _WorkElsewhere(lead, asyncio.get_running_loop())
        loop = asyncio.new_event_loop()
        threading.Thread(target=self._live, args=(loop, work, outcome), name="election", daemon=True).start()
        beating = asyncio.create_task(self._beat(), name="election heartbeat")
        ended = asyncio.wrap_future(outcome)
        try:
            await asyncio.shield(ended)
        except asyncio.CancelledError:
            self._cancel(loop)
            await asyncio.wait({ended})
            ended.result()
            raise
        finally:
            beating.cancel()

    async def _beat(self) -> NoReturn:
        while True:
            self._beaten = now_seconds()
            await asyncio.sleep(self._stall_limit / _BEATS)

    def _is_alive(self) -> bool:
        return now_seconds() - self._beaten <= self._stall_limit

    def _cancel(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_cancelled = True
        if self._standing is not None:
            with suppress(RuntimeError):  # the thread has ended by itself
                loop.call_soon_threadsafe(self._standing.cancel)

    def _live(self, loop: asyncio.AbstractEventLoop, work: "_WorkElsewhere", outcome: "Future[None]") -> None:
        """The main function of the thread."""
        try:
            with asyncio.Runner(loop_factory=lambda: loop) as runner, suppress(asyncio.CancelledError):
                runner.run(self._stand(work))
        except BaseException as error:
            outcome.set_exception(error)
        else:
            outcome.set_result(None)

    async def _stand(self, work: "_WorkElsewhere") -> None:
        self._standing = asyncio.current_task()
        if self._is_cancelled:
            return
        async with AsyncExitStack() as stack:
            client = await self._connect(stack)
            is_gone = None if self._is_gone is None else self._is_gone(client)
            self._election = Election(client, self._settings, is_gone, self._is_alive)
            try:
                await self._election.run(work.run)
            except LeadershipLost as lost:
                if work.is_running:
                    _log.critical("process ends: it lost the lease and its work does not stop", exc_info=lost)
                    self._end()
                raise

    async def _connect(self, stack: AsyncExitStack) -> Client:
        while True:
            try:
                return await stack.enter_async_context(self._client.on_own_connection())
            except ConnectionProblem as problem:
                _log.warning("lease not reached", extra={"error": str(problem)})
                await asyncio.sleep(self._settings.retry_period.total_seconds())


class _WorkElsewhere:
    """Work that runs as a task of another event loop. `run` waits for it here; to cancel `run` cancels it there."""

    def __init__(self, work: Work, loop: asyncio.AbstractEventLoop) -> None:
        self._work = work
        self._loop = loop
        self._task: asyncio.Task[None] | None = None
        self._is_begun = False

    @property
    def is_running(self) -> bool:
        """Whether the work was begun and has not ended."""
        return self._is_begun and (self._task is None or not self._task.done())

    async def run(self) -> None:
        """Wait until the work has ended, also after cancellation. Raises its exception."""
        ended = asyncio.Event()
        self._is_begun = True
        self._call(self._begin, asyncio.get_running_loop(), ended)
        try:
            await ended.wait()
        except asyncio.CancelledError:
            self._call(self._cancel)
            await ended.wait()
            self._raise()
            raise
        self._raise()

    def _begin(self, waiting: asyncio.AbstractEventLoop, ended: asyncio.Event) -> None:
        def tell(_: asyncio.Task[None]) -> None:
            with suppress(RuntimeError):  # no waiter is left
                waiting.call_soon_threadsafe(ended.set)

        self._task = self._loop.create_task(self._work(), name="leading")
        self._task.add_done_callback(tell)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _call(self, function: Callable[..., None], *arguments: Any) -> None:
        self._loop.call_soon_threadsafe(function, *arguments)

    def _raise(self) -> None:
        if self._task is not None and not self._task.cancelled():
            self._task.result()
