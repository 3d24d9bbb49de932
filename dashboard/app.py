"""The composition root of the dashboard: a connection with the user's rights, watches, frames, and the server."""

import asyncio
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec
from aiohttp import web

from dashboard.http.guard import PageGuard
from dashboard.http.routes import Routes
from dashboard.live.frames import Frames
from dashboard.live.watched_cluster import WatchedCluster
from shared.kube.client import Client
from shared.kube.connect.connection import ConnectionSettings, connected
from shared.kube.errors import ApiError
from shared.kube.resources import CONFIG_MAPS
from shared.problems import Problem
from shared.process.cluster_settings import CONFIG_MAPS_OF_CHART, LiveSettings, quota_settings, settings_in
from shared.quota.model.settings import QuotaSettings

USER_AGENT: Final = "quotree-dashboard"
_HOST: Final = "127.0.0.1"
_LEAVE: Final = 1.0
"""Seconds that open streams get when the process ends."""


@dataclass(frozen=True, slots=True)
class DashboardOptions:
    """The options of the command line."""

    port: int = 0
    context: str | None = None
    kubeconfig: str | None = None
    namespace: str | None = None
    settings_file: str | None = None
    open_browser: bool = False


async def serve(options: DashboardOptions, say: Callable[[str], None]) -> None:
    """Serve until cancelled; `say` is called with the address. Raises Problem."""
    connection_settings = ConnectionSettings(
        kubeconfig=options.kubeconfig, context=options.context, user_agent=USER_AGENT
    )
    async with connected(connection_settings) as connection:
        client = Client(connection)
        live = await _settings(client, say, needed=options.settings_file is None)
        given = live.quota if options.settings_file is None else quota_settings(options.settings_file)
        settings = given or QuotaSettings()
        cluster = WatchedCluster(client, settings, live.kinds, options.namespace, live.lease)
        frames = Frames(cluster, settings)
        guard = PageGuard()
        runner = web.AppRunner(Routes(client, frames, guard).application(), access_log=None, shutdown_timeout=_LEAVE)
        await runner.setup()
        try:
            await _listen(runner, guard, options.port)
            say(guard.address)
            if options.open_browser and not await asyncio.to_thread(webbrowser.open, guard.address_to_open):
                say("quotree: no browser could be started; open the address yourself")
            async with asyncio.TaskGroup() as group:
                group.create_task(cluster.run(), name="watches")
                group.create_task(frames.run(), name="frames")
        finally:
            await runner.cleanup()


async def _listen(runner: web.AppRunner, guard: PageGuard, port: int) -> None:
    try:
        await web.TCPSite(runner, _HOST, port).start()
    except OSError as error:
        raise Problem(f"port {port} of {_HOST} cannot be used: {error.strerror}; give another one, or none") from error
    guard.port = runner.addresses[0][1]


async def _settings(client: Client, say: Callable[[str], None], *, needed: bool) -> LiveSettings:
    """Return the settings of the cluster's reconciler; where they are needed and cannot be read, say so."""
    try:
        found = list(await client.list_all(CONFIG_MAPS, into=msgspec.Raw, labels=CONFIG_MAPS_OF_CHART))
    except ApiError:
        found = []
    live = settings_in(found)
    if live.quota is None and needed:
        say("quotree: the cluster's settings cannot be read; using the defaults")
    return live
