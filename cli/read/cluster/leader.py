"""Reads from the Lease whether a reconciler leads, with the user's rights."""

from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote

import click
import msgspec

from cli.read.cluster.live import ClusterProblem, LiveCluster
from cli.read.cluster.settings import live_settings
from shared.text.times import moment_text

NOBODY_LEADS: Final = (
    "no reconciler leads since {}: until one does, nothing starts or stops and statuses stay as they are; "
    "what would start next is shown as started"
)


class _LeaseSpec(msgspec.Struct, frozen=True, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    renew_time: datetime | None = None


class _Lease(msgspec.Struct, frozen=True):
    spec: _LeaseSpec = _LeaseSpec()


def warn_without_leader(cluster: LiveCluster) -> None:
    """Say that no reconciler leads, and since when, if that is so and the user may know it."""
    since = leaderless_since(cluster, datetime.now(UTC))
    if since is not None:
        click.echo(f"quotree: {NOBODY_LEADS.format(moment_text(since.isoformat()))}", err=True)


def leaderless_since(cluster: LiveCluster, now: datetime) -> datetime | None:
    """Return when the last leader renewed its Lease, if that has run out; None: one leads, or the user cannot know."""
    name = quote(f"metadata.name={live_settings(cluster).lease}")
    try:
        found = [*cluster.items(f"/apis/coordination.k8s.io/v1/leases?fieldSelector={name}")]
    except ClusterProblem:
        return None
    specs = [msgspec.json.decode(raw, type=_Lease).spec for raw in found]
    if any(_is_held(each, now) for each in specs):
        return None
    return max((each.renew_time for each in specs if each.renew_time is not None), default=None)


def _is_held(spec: _LeaseSpec, now: datetime) -> bool:
    """Twice its duration, because `now` is by another clock than that of its holder."""
    if not spec.holder_identity or spec.renew_time is None:
        return False
    return (now - spec.renew_time).total_seconds() <= 2 * (spec.lease_duration_seconds or 0)
