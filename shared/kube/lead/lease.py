"""A Lease as it is read and written: its holder, since when, for how long."""

from typing import Any

import msgspec

LeaseMark = tuple[object, ...]
"""Differs after every write of the Lease."""


class LeaseSpec(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Times are MicroTime: UTC with six digits; without a fraction the API server refuses them."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(msgspec.Struct, frozen=True, rename="camel"):
    """The whole object; metadata is kept as it came, for it is written back."""

    metadata: dict[str, Any]
    spec: LeaseSpec = LeaseSpec()
    api_version: str = "coordination.k8s.io/v1"
    kind: str = "Lease"

    @property
    def holder(self) -> str:
        """The holder's identity; empty: none."""
        return self.spec.holder_identity or ""

    @property
    def mark(self) -> LeaseMark:
        """This version of it."""
        return (self.spec.holder_identity, self.spec.renew_time, self.metadata.get("resourceVersion"))
