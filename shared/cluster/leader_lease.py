"""Whether a reconciler leads, as its Lease says to all who may read it."""

from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from shared.api.durations import later
from shared.api.json.reading import read_time
from shared.kube.lead.lease import Lease


def fields_of(lease: str) -> str:
    """Return the field selector of Leases with that name."""
    return f"metadata.name={lease}"


def leaderless_since(leases: Iterable[msgspec.Raw], now: datetime) -> datetime | None:
    """Return when the last leader renewed its Lease, if that has run out; None: one leads, or none is known."""
    known = [msgspec.json.decode(raw, type=Lease) for raw in leases]
    if any(_is_held(each, now) for each in known):
        return None
    return max(filter(None, map(_renewed, known)), default=None)


def _renewed(lease: Lease) -> datetime | None:
    return read_time(lease.spec.renew_time or "")


def _is_held(lease: Lease, now: datetime) -> bool:
    """Twice its duration, because `now` is by another clock than that of its holder."""
    renewed = _renewed(lease)
    if not lease.holder or renewed is None:
        return False
    return now <= later(renewed, timedelta(seconds=2 * (lease.spec.lease_duration_seconds or 0)))
