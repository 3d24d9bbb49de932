"""The Lease as one process has last seen it, and the writes that replace exactly that."""

import logging
import time
from datetime import UTC, datetime, timedelta

import msgspec

from shared.api.json.reading import read_time, write_time
from shared.kube.client import Client
from shared.kube.errors import AlreadyExists, Conflict
from shared.kube.lead.election_settings import ElectionSettings
from shared.kube.lead.lease import Lease, LeaseMark, LeaseSpec
from shared.kube.resources import LEASES

_log = logging.getLogger("quotree.kube.election")


def now_seconds() -> float:
    """Return a clock that never jumps, and that goes on while the machine is suspended, as the others' clocks do."""
    boottime = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boottime is None else time.clock_gettime(boottime)


class KnownLease:
    """What the process `identity` knows of the Lease.

    A write returns whether it was stored; it is not where another process wrote first. Raises ApiError where the API
    server cannot be reached or refuses, NotFound where the Lease is gone.
    """

    def __init__(self, client: Client, settings: ElectionSettings, identity: str) -> None:
        self._client = client
        self._settings = settings
        self._identity = identity
        self._lease: Lease | None = None
        self._seen_at = now_seconds()

    def __str__(self) -> str:
        """Return namespace and name."""
        return f"{self._settings.namespace}/{self._settings.name}"

    @property
    def mark(self) -> LeaseMark | None:
        """The version that was seen; None: none was."""
        return None if self._lease is None else self._lease.mark

    @property
    def holder(self) -> str:
        """The holder as far as this process knows; empty: none."""
        return self._lease.holder if self._lease else ""

    @property
    def order(self) -> tuple[int, ...]:
        """Grows with each new holder: when the API server made the Lease, and how often it has changed hands since."""
        if self._lease is None:
            return ()
        made = self._lease.metadata.get("creationTimestamp")
        seconds = int(datetime.fromisoformat(made).timestamp()) if isinstance(made, str) else 0
        return seconds, self._lease.spec.lease_transitions or 0

    @property
    def is_mine(self) -> bool:
        """Whether this process holds it."""
        return self.holder == self._identity

    def has_expired(self) -> bool:
        """Whether it was seen unchanged for its whole duration, or has no holder."""
        if self._lease is None or not self._lease.holder:
            return True
        promised = timedelta(seconds=self._lease.spec.lease_duration_seconds or 0)
        duration = max(promised, self._settings.lease_duration)
        return now_seconds() - self._seen_at > duration.total_seconds()

    def vacant_since(self) -> datetime | None:
        """Return when its last holder wrote it, once it has expired; None while it has not, or where none was seen."""
        if self._lease is None or not self.has_expired():
            return None
        return read_time(self._lease.spec.renew_time or "")

    async def read(self) -> None:
        """See it as it is stored now."""
        self._observe(await self._client.get(LEASES, self._settings.name, self._settings.namespace, into=Lease))

    async def create(self) -> bool:
        """Store it where there is none, held by this process."""
        metadata = {"namespace": self._settings.namespace, "name": self._settings.name}
        new = Lease(metadata, self._held(transitions=0))
        try:
            self._observe(await self._client.create(LEASES, new, self._settings.namespace, into=Lease))
        except AlreadyExists:
            return False
        return True

    async def take(self) -> bool:
        """Make this process the holder."""
        lease = self._known()
        return await self._replace(lease, self._held(transitions=(lease.spec.lease_transitions or 0) + 1))

    async def renew(self) -> bool:
        """Write it again, held by this process as before."""
        lease = self._known()
        if not self.is_mine:
            raise AssertionError("renewed without holding")
        return await self._replace(lease, msgspec.structs.replace(lease.spec, renew_time=_now()))

    async def release(self) -> bool:
        """Give it to the next process that takes it."""
        lease = self._known()
        free = msgspec.structs.replace(
            lease.spec, holder_identity="", lease_duration_seconds=1, renew_time=_now(), acquire_time=None
        )
        return await self._replace(lease, free)

    def _known(self) -> Lease:
        if self._lease is None:
            raise AssertionError("written before it was read")
        return self._lease

    def _held(self, transitions: int) -> LeaseSpec:
        now = _now()
        return LeaseSpec(
            holder_identity=self._identity,
            lease_duration_seconds=max(1, -int(-self._settings.lease_duration.total_seconds() // 1)),
            acquire_time=now,
            renew_time=now,
            lease_transitions=transitions,
        )

    async def _replace(self, lease: Lease, spec: LeaseSpec) -> bool:
        """Store `spec` if the Lease has not been written since it was read."""
        name, namespace = self._settings.name, self._settings.namespace
        changed = msgspec.structs.replace(lease, spec=spec)
        try:
            self._observe(await self._client.replace(LEASES, name, changed, namespace, into=Lease))
        except Conflict:
            return False
        return True

    def _observe(self, lease: Lease) -> None:
        if self.mark != lease.mark:
            if lease.holder not in (self.holder, self._identity, ""):
                _log.info(
                    "lease holder seen", extra={"lease": str(self), "identity": self._identity, "holder": lease.holder}
                )
            self._seen_at = now_seconds()
        self._lease = lease


def _now() -> str:
    return write_time(datetime.now(UTC))
