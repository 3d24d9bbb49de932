"""The dashboard in the cluster: with a read-only account, for users authenticated by a proxy."""

import asyncio
from datetime import timedelta
from typing import Final

from aiohttp import web

from dashboard.http.proxied_guard import ProxiedGuard, needed
from dashboard.http.routes import Routes
from dashboard.live.frames import Frames
from dashboard.live.watched_cluster import WatchedCluster
from dashboard.settings import DashboardSettings
from shared.kube.client import Client
from shared.process.health import listen
from shared.process.metrics_access import ReaderPermissions
from shared.process.metrics_server import unsigned_context
from shared.process.running import Process
from shared.telemetry import get_logger

_LEAVE: Final = 1.0
"""Seconds that open streams get when the process ends."""

log = get_logger(__name__)


async def serve_in_cluster(process: Process, client: Client, settings: DashboardSettings) -> None:
    """Serve until the process is signalled to stop. Raises Problem when the port is occupied."""
    quota = settings.quota.settings()
    cluster = WatchedCluster(client, quota, settings.governed, None, settings.lease)
    frames = Frames(cluster, quota)
    process.health.add_check("cluster", lambda: None if not frames.latest.loading else "the cluster is being read")
    guard = ProxiedGuard(ReaderPermissions(client, needed=needed(settings.governed), trusted_for=timedelta()))
    runner = web.AppRunner(
        Routes(client, frames, guard).application(), access_log=None, handle_signals=False, shutdown_timeout=_LEAVE
    )
    await runner.setup()
    try:
        await listen(
            runner, settings.listen.host, settings.listen.port, "the dashboard", ssl_context=unsigned_context()
        )
        log.info("Dashboard served", port=int(runner.addresses[0][1]))
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(cluster.run(), name="watches"),
                group.create_task(frames.run(), name="frames"),
            ]

            async def stop() -> None:
                for task in tasks:
                    task.cancel()

            process.on_stop(stop)
    finally:
        await runner.cleanup()
