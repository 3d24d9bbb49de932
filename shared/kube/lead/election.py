"""Who leads: at most one process at a time, by a Lease, also when the network is cut between them.

A leader stops at its deadline, measured on its own monotonic clock from before the last successful renewal, whether or
not any call ever returns. A follower takes over when it has itself seen the Lease unchanged for the lease's whole
duration, which is longer. No two clocks are ever compared. What a leader has sent is given up at its deadline as well
(`Client.guarded`), so that between the last write of one and the first of the next lies the difference of the two.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import msgspec

from shared.api.json.reading import write_time
from shared.kube.client import Client
from shared.kube.errors import AlreadyExists, ApiError, Conflict, NotFound
from shared.kube.lead.election_settings import ElectionSettings
from shared.kube.lead.lease import Lease, LeaseMark, LeaseSpec
from shared.kube.resources import LEASES
from shared.problems import Problem

_log = logging.getLogger("quotree.kube.election")
_SETTLE = timedelta(seconds=5)


class LeadershipLost(Problem):
    """The Lease could not be renewed in time, or another took it. The process must end: it no longer decides."""


IsGone = Callable[[str], Awaitable[bool]]
"""Whether the process with this identity is known to have ended."""


def now_seconds() -> float:
    """Return a clock that never jumps, and that goes on while the machine is suspended, as the others' clocks do."""
    boottime = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boottime is None else time.clock_gettime(boottime)


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
        # A concurrency limit of its own: a hundred slow writes must not delay a renewal.
        self._client = client.reserved(2).within(settings.renew_deadline / 3)
        self._settings = settings
        # Unique even if two processes have the same name, so that this process recognises its own late write.
        self.identity = f"{settings.identity}_{self._random.getrandbits(40):010x}"
        self._lease: Lease | None = None
        self._lease_seen = now_seconds()
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
        return self._lease.holder if self._lease else ""

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
            self._observe(await self._read())
        except NotFound:
            if self._lease is not None and not self._has_expired():
                return False  # Deleted under a leader that might not have noticed: wait for its time to end as well.
            return await self._write_new()
        free = self._has_expired() or self.holder == self.identity or await self._holder_is_gone()
        found = self._lease.mark if self._lease is not None else None
        if not (free and await self._write(self._taken(self._lease))):
            return False
        self.taken_from = found
        return True

    async def _holder_is_gone(self) -> bool:
        """Whether the holder was gone at two looks in a row, a retry period apart, and wrote nothing between them."""
        if self._is_gone is None or self._lease is None or not await self._is_gone(self.holder):
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
        raise LeadershipLost(f"lost the lease {self._where()}: not renewed for {deadline:g} s ({trouble})")

    async def _renew(self) -> None:
        """Write the Lease again; retry after a conflicting edit or a lost response."""
        for _ in range(3):
            try:
                if await self._write(self._renewed(self._lease)):
                    return
                self._observe(await self._read())
            except NotFound:
                if await self._write_new():
                    return
                self._observe(await self._read())
            if self.holder != self.identity:
                raise LeadershipLost(f"lost the lease {self._where()} to {self.holder or 'nobody'}")
        raise Conflict(409, "Conflict", "written by others three times in a row", request=f"lease {self._where()}")

    async def _release(self) -> None:
        """Release the Lease for the next leader. If a renewal was cut short, it might have been written: read and
        retry once.
        """
        with suppress(ApiError):
            for _ in range(2):
                lease = self._lease
                if lease is None or lease.holder != self.identity:
                    return
                spec = msgspec.structs.replace(
                    lease.spec,
                    holder_identity="",
                    lease_duration_seconds=1,
                    renew_time=write_time(datetime.now(UTC)),
                    acquire_time=None,
                )
                if await self._write(msgspec.structs.replace(lease, spec=spec)):
                    _log.info("lease released", extra=self._facts())
                    return
                self._observe(await self._read())

    def _observe(self, lease: Lease) -> None:
        if self._lease is None or self._lease.mark != lease.mark:
            if lease.holder not in (self.holder, self.identity, ""):
                _log.info("lease holder seen", extra=self._facts(holder=lease.holder))
            self._lease_seen = now_seconds()
        self._lease = lease

    def _has_expired(self) -> bool:
        lease = self._lease
        if lease is None or not lease.holder:
            return True
        promised = timedelta(seconds=lease.spec.lease_duration_seconds or 0)
        duration = max(promised, self._settings.lease_duration)
        return now_seconds() - self._lease_seen > duration.total_seconds()

    def _taken(self, lease: Lease | None) -> Lease:
        now = write_time(datetime.now(UTC))
        previous = lease.spec if lease else LeaseSpec()
        spec = LeaseSpec(
            holder_identity=self.identity,
            lease_duration_seconds=_whole_seconds(self._settings.lease_duration),
            acquire_time=now,
            renew_time=now,
            lease_transitions=(previous.lease_transitions or 0) + 1 if lease else 0,
        )
        metadata = lease.metadata if lease else {"namespace": self._settings.namespace, "name": self._settings.name}
        return Lease(metadata, spec)

    def _renewed(self, lease: Lease | None) -> Lease:
        if lease is None or lease.holder != self.identity:
            raise AssertionError("renewed without holding")
        return msgspec.structs.replace(
            lease, spec=msgspec.structs.replace(lease.spec, renew_time=write_time(datetime.now(UTC)))
        )

    async def _read(self) -> Lease:
        return await self._client.get(LEASES, self._settings.name, self._settings.namespace, into=Lease)

    async def _write(self, lease: Lease) -> bool:
        """Replace the Lease if it has not been written since it was read."""
        name, namespace = self._settings.name, self._settings.namespace
        try:
            self._observe(await self._client.replace(LEASES, name, lease, namespace, into=Lease))
        except Conflict:
            return False
        return True

    async def _write_new(self) -> bool:
        try:
            lease = await self._client.create(LEASES, self._taken(None), self._settings.namespace, into=Lease)
        except AlreadyExists:
            return False
        self._observe(lease)
        return True

    async def _release_when_reached(self) -> None:
        """Release a Lease that could not be renewed, as soon as it can be reached and if nobody else has taken it.

        After an outage of the API server the next leader need not wait until the Lease has run out. What this one has
        sent and nobody has answered has as much time to be carried out before that as where the Lease runs out.
        """
        until = now_seconds() + 2 * self._settings.lease_duration.total_seconds()
        while now_seconds() < until:
            try:
                self._observe(await self._read())
            except ApiError:
                await asyncio.sleep(self._settings.retry_period.total_seconds())
                continue
            if self.holder == self.identity:
                await asyncio.sleep((self._settings.lease_duration - self._settings.renew_deadline).total_seconds())
                await self._release()
            return

    def _where(self) -> str:
        return f"{self._settings.namespace}/{self._settings.name}"

    def _facts(self, **more: Any) -> dict[str, Any]:
        return {"lease": self._where(), "identity": self.identity, **more}


def _whole_seconds(duration: timedelta) -> int:
    return max(1, -int(-duration.total_seconds() // 1))
