"""Who leads: at most one process at a time, by a Lease, also when the network is cut between them.

A leader stops at its deadline, measured on its own monotonic clock from before the last successful renewal, whether or
not any call ever returns. A follower takes over when it has itself seen the Lease unchanged for the lease's whole
duration, which is longer. No two clocks are ever compared. What a leader has sent is given up at its deadline as well
(`Client.guarded`), so that between the last write of one and the first of the next lies the difference of the two.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from random import Random
from typing import Any

from shared.kube.client import Client
from shared.kube.errors import ApiError, Conflict, NotFound
from shared.kube.lead.election_settings import ElectionSettings
from shared.kube.lead.known_lease import KnownLease, now_seconds
from shared.kube.lead.lease import LeaseMark
from shared.problems import Problem

_log = logging.getLogger("quotree.kube.election")
_SETTLE = timedelta(seconds=5)


class LeadershipLost(Problem):
    """The Lease could not be renewed in time, or another took it. The process must end: it no longer decides."""


IsGone = Callable[[str], Awaitable[bool]]
"""Whether the process with this identity is known to have ended."""


class Election:
    """One candidate for one Lease. What only the leader may write is sent by a client guarded by `time_left`.

    `is_gone`: a Lease whose holder is known to have ended is taken before it runs out. `is_alive`: while it says no,
    the Lease is neither taken nor renewed.
    """

    def __init__(
        self,
        client: Client,
        settings: ElectionSettings,
        is_gone: IsGone | None = None,
        is_alive: Callable[[], bool] = lambda: True,
    ) -> None:
        self._random = Random()  # noqa: S311 - identifies and spreads load, guards nothing
        self._settings = settings
        # Unique even if two processes have the same name, so that this process recognises its own late write.
        self.identity = f"{settings.identity}_{self._random.getrandbits(40):010x}"
        # A concurrency limit of its own: a hundred slow writes must not delay a renewal.
        own_client = client.reserved(2).within(settings.renew_deadline / 3)
        self._lease = KnownLease(own_client, settings, self.identity)
        self._is_gone = is_gone
        self._is_alive = is_alive
        self._seen_gone: LeaseMark | None = None
        self._leads_until = 0.0
        self._releases = True
        self.taken_from: LeaseMark | None = None
        """The Lease as it was when this process took it; None: it did not exist, or has not been taken."""

    @property
    def holder(self) -> str:
        """The holder of the Lease as far as this process knows; empty: none."""
        return self._lease.holder

    def vacant_since(self) -> datetime | None:
        """Return when the last leader renewed the Lease, if no process leads; None: one does, or none is known."""
        return None if self.may_write() else self._lease.vacant_since()

    @property
    def order(self) -> tuple[int, ...]:
        """Who has led later has a larger one, whatever the clocks say."""
        return self._lease.order

    def may_write(self) -> bool:
        """Is it certain that no other process leads? Costs a clock reading; true only while `run` runs its work."""
        return now_seconds() < self._leads_until

    def time_left(self) -> timedelta:
        """Return how long that is certain if the Lease is not renewed; zero when it is not certain now."""
        return timedelta(seconds=max(0.0, self._leads_until - now_seconds()))

    def let_expire(self) -> None:
        """Do not release the Lease at the end: something was sent that may still be carried out."""
        self._releases = False

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Wait for the Lease, then do the work of `lead` while holding it; release it when that has ended.

        Raises LeadershipLost when it could not be renewed, after the work was cancelled and the Lease was released, if
        it could be reached; else what `lead` raised.
        """
        renewed_at = await self._acquire()
        _log.info("leading", extra=self._facts())
        work = asyncio.ensure_future(lead())
        renewing = asyncio.create_task(self._renew_until_lost(renewed_at), name="lease renewal")
        try:
            await asyncio.wait({work, renewing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            lost = renewing.done() and not work.done()
            if lost:
                self._leads_until = 0.0
            await self._stop(work, self._until_another_leads() if lost else _SETTLE)
            renewing.cancel()
            await asyncio.wait({renewing})
            self._leads_until = 0.0
            if work.done() and self._releases:
                await (self._release_when_reached() if lost else self._release())
        if lost:
            with suppress(asyncio.CancelledError):
                renewing.result()
        if work.done() and not work.cancelled():
            work.result()

    def _until_another_leads(self) -> timedelta:
        """Return how long the work may take to stop after the deadline, with some to spare."""
        return (self._settings.lease_duration - self._settings.renew_deadline) * 0.8

    async def _stop(self, work: "asyncio.Future[None]", within: timedelta) -> None:
        work.cancel()
        _, pending = await asyncio.wait({work}, timeout=within.total_seconds())
        if pending:
            _log.error("work goes on after the lease is lost", extra=self._facts())

    async def _acquire(self) -> float:
        """Poll until this process holds the Lease. Returns the clock reading before the successful write."""
        while True:
            started = now_seconds()
            try:
                if await self._try_to_take():
                    self._leads_until = started + self._settings.renew_deadline.total_seconds()
                    return started
            except ApiError as error:
                _log.warning("lease not reached", extra=self._facts(error=str(error)))
            await asyncio.sleep(self._settings.retry_period.total_seconds() * self._random.uniform(0.8, 1.2))

    async def _try_to_take(self) -> bool:
        if not self._is_alive():
            return False
        try:
            await self._lease.read()
        except NotFound:
            if not self._lease.has_expired():
                return False  # Deleted under a leader that might not have noticed: wait for its time to end as well.
            return await self._lease.create()
        free = self._lease.has_expired() or self._lease.is_mine or await self._holder_is_gone()
        found = self._lease.mark
        if not (free and await self._lease.take()):
            return False
        self.taken_from = found
        return True

    async def _holder_is_gone(self) -> bool:
        """Whether the holder was gone at two looks in a row, a retry period apart, and wrote nothing between them."""
        if self._is_gone is None or not await self._is_gone(self.holder):
            self._seen_gone = None
            return False
        if self._seen_gone == self._lease.mark:
            _log.info("lease holder is gone", extra=self._facts(holder=self.holder))
            return True
        self._seen_gone = self._lease.mark
        return False

    async def _renew_until_lost(self, renewed_at: float) -> None:
        """Renew until that fails for too long. Raises LeadershipLost; no call can hold it beyond the deadline."""
        deadline = self._settings.renew_deadline.total_seconds()
        trouble = "no answer in time"
        while (left := renewed_at + deadline - now_seconds()) > 0:
            pause = self._settings.retry_period.total_seconds() * self._random.uniform(0.8, 1.0)
            try:
                async with asyncio.timeout(left):
                    await asyncio.sleep(pause)
                    if not self._is_alive():
                        trouble = "the process stands still"
                        continue
                    started = now_seconds()
                    await self._renew()
            except TimeoutError:
                break
            except ApiError as error:
                trouble = str(error)
                _log.warning("lease not renewed", extra=self._facts(error=trouble))
            else:
                renewed_at = started
                self._leads_until = started + deadline
        raise LeadershipLost(f"lost the lease {self._lease}: not renewed for {deadline:g} s ({trouble})")

    async def _renew(self) -> None:
        """Write the Lease again; retry after a conflicting edit or a lost response."""
        for _ in range(3):
            try:
                if await self._lease.renew():
                    return
                await self._lease.read()
            except NotFound:
                if await self._lease.create():
                    return
                await self._lease.read()
            if not self._lease.is_mine:
                raise LeadershipLost(f"lost the lease {self._lease} to {self.holder or 'nobody'}")
        raise Conflict(409, "Conflict", "written by others three times in a row", request=f"lease {self._lease}")

    async def _release(self) -> None:
        """Release the Lease for the next leader. If a renewal was cut short, it might have been written: read and
        retry once.
        """
        with suppress(ApiError):
            for _ in range(2):
                if not self._lease.is_mine:
                    return
                if await self._lease.release():
                    _log.info("lease released", extra=self._facts())
                    return
                await self._lease.read()

    async def _release_when_reached(self) -> None:
        """Release a Lease that could not be renewed, as soon as it can be reached and if nobody else has taken it.

        After an outage of the API server the next leader need not wait until the Lease has run out. What this one has
        sent and nobody has answered has as much time to be carried out before that as where the Lease runs out.
        """
        until = now_seconds() + 2 * self._settings.lease_duration.total_seconds()
        while now_seconds() < until:
            try:
                await self._lease.read()
            except ApiError:
                await asyncio.sleep(self._settings.retry_period.total_seconds())
                continue
            if self._lease.is_mine:
                await asyncio.sleep((self._settings.lease_duration - self._settings.renew_deadline).total_seconds())
                await self._release()
            return

    def _facts(self, **more: Any) -> dict[str, Any]:
        return {"lease": str(self._lease), "identity": self.identity, **more}
