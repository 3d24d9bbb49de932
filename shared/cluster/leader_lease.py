"""Whether a reconciler leads, as its Lease says to all who may read it."""

from collections.abc import Iterable
from datetime import datetime

import msgspec


class _LeaseSpec(msgspec.Struct, frozen=True, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    renew_time: datetime | None = None


class _Lease(msgspec.Struct, frozen=True):
    spec: _LeaseSpec = _LeaseSpec()


def fields_of(lease: str) -> str:
    """Return the field selector of Leases with that name."""
    return f"metadata.name={lease}"


def leaderless_since(leases: Iterable[msgspec.Raw], now: datetime) -> datetime | None:
    """Return when the last leader renewed its Lease, if that has run out; None: one leads, or none is known."""
    specs = [msgspec.json.decode(raw, type=_Lease).spec for raw in leases]
    if any(_is_held(each, now) for each in specs):
        return None
    return max((each.renew_time for each in specs if each.renew_time is not None), default=None)


def _is_held(spec: _LeaseSpec, now: datetime) -> bool:
    """Twice its duration, because `now` is by another clock than that of its holder."""
    if not spec.holder_identity or spec.renew_time is None:
        return False
    return (now - spec.renew_time).total_seconds() <= 2 * (spec.lease_duration_seconds or 0)
