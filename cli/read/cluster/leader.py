"""Reads from the Lease whether a reconciler leads, with the user's rights."""

from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote

import click

from cli.read.cluster.live import ClusterProblem, LiveCluster
from cli.read.cluster.settings import live_settings
from shared.cluster.leader_lease import fields_of, leaderless_since
from shared.text.times import moment_text

NOBODY_LEADS: Final = (
    "no reconciler leads since {}: until one does, nothing starts or stops and statuses stay as they are"
)


def warn_without_leader(cluster: LiveCluster) -> datetime | None:
    """Say that no reconciler leads, and return since when, if that is so and the user may know it."""
    since = live_leaderless_since(cluster, datetime.now(UTC))
    if since is not None:
        click.echo(f"quotree: {NOBODY_LEADS.format(moment_text(since.isoformat()))}", err=True)
    return since


def live_leaderless_since(cluster: LiveCluster, now: datetime) -> datetime | None:
    """Return the same; None, too, where the user cannot know."""
    name = quote(fields_of(live_settings(cluster).lease))
    try:
        return leaderless_since(cluster.items(f"/apis/coordination.k8s.io/v1/leases?fieldSelector={name}"), now)
    except ClusterProblem:
        return None
