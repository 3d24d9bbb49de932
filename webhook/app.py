"""Composition root of the webhook: watches fill the caches, judges answer from them, a TLS server calls the judges."""

import asyncio
from collections.abc import Coroutine, Iterator
from typing import Any

from shared.kube.client import Client
from shared.kube.metrics import expose_watches
from shared.kube.watch.memory import freeze_memory
from shared.kube.watch.watches import Watches
from shared.process.running import Process
from shared.telemetry import get_logger
from shared.tls.serving_cert import CertificateHolder
from webhook.api_guard import ApiGuard
from webhook.http.handler import Endpoints
from webhook.http.server import Server
from webhook.metrics import WebhookMetrics
from webhook.quota.dry_run import DryRunEffects
from webhook.quota.handlers import QuotaHandlers
from webhook.quota.stored.quota_cache import QuotaCache
from webhook.routes import WebhookRoutes
from webhook.settings import KnownCallers, WebhookSettings
from webhook.tls.path_secret import CallerPaths
from webhook.tls.source import keep_certificate
from webhook.workloads.context_builder import ContextBuilder
from webhook.workloads.workload_cache import WatchedWorkloads

log = get_logger(__name__)


class Webhook:
    """All parts of one process."""

    def __init__(self, process: Process, client: Client, settings: WebhookSettings) -> None:
        self._process = process
        self._client = client
        self._settings = settings
        self._metrics = WebhookMetrics(process.registry)
        self._holder = CertificateHolder(self._metrics, settings.callers.client_ca)
        self._paths = CallerPaths(any_caller=settings.callers.by is not KnownCallers.PATH)
        self._watches = Watches()
        self._tree = QuotaCache(client, self._watches)
        quota = settings.quota.settings()
        workloads = WatchedWorkloads(
            client,
            self._watches,
            default_group=quota.default_group,
            kinds=settings.governed,
            devices=quota.devices,
            gang_scheduling=quota.gang_scheduling,
        )
        dry_run = DryRunEffects(client) if settings.guard_visibility else None
        quota_objects = QuotaHandlers(
            client,
            self._watches,
            self._tree,
            workloads.of_group,
            workloads.namespaces,
            namespace=settings.home,
            settings=quota,
            faults=self._metrics.faults,
            edits=settings.edits,
            dry_run=dry_run,
        )
        routes = WebhookRoutes(
            ContextBuilder(client, self._tree, workloads, settings), quota_objects, settings.governed, dry_run
        )
        self._endpoints = Endpoints(routes.all(), self._metrics, self._unready, self._paths.route_of)

    def _unready(self) -> str | None:
        """Return why no verdict can be given yet: a watch has no complete list. A lagging watch is no reason."""
        for watch in self._watches.members:
            if not watch.synced.is_set():
                return f"the webhook has not read all {watch.resource.plural} yet"
        return None

    async def run(self) -> None:
        """Sync, get a certificate, serve until asked to stop, and answer the pending reviews."""
        stopped = asyncio.Event()

        async def stop() -> None:
            stopped.set()

        expose_watches(self._process.registry, self._watches)
        self._process.health.add_check("watches", self._watches.problem)
        self._process.health.add_check("certificate", self._holder.problem)
        self._process.health.add_check("callers", self._paths.problem)
        async with asyncio.TaskGroup() as group:
            keep = keep_certificate(self._client, self._holder, self._paths, self._settings)
            tasks = [
                group.create_task(self._watches.run(), name="watches"),
                group.create_task(keep, name="certificate"),
                *(group.create_task(each, name="API guard") for each in self._guards()),
            ]
            await self._holder.first_shown()
            await self._paths.known.wait()
            listen = self._settings.listen
            server = Server(self._endpoints, self._metrics, listen.max_waiting)
            async with server.listening(listen.host, listen.port, self._holder.listener()) as port:
                log.info("Listening", host=listen.host, port=port)
                tasks.append(group.create_task(self._report_sync(), name="report sync"))
                self._process.on_stop(stop)
                tasks.append(group.create_task(self._leave(server), name="leave"))
                await stopped.wait()
            for task in tasks:
                task.cancel()

    def _guards(self) -> Iterator[Coroutine[Any, Any, None]]:
        """Start the guard of the visibility API. Reviews do not wait for its watch."""
        if self._settings.guard_visibility:
            watches = Watches()
            guard = ApiGuard(self._client, watches)
            yield watches.run()
            yield guard.run()

    async def _report_sync(self) -> None:
        await self._watches.all_synced()
        freeze_memory()
        log.info("Caches synced", groups=len(self._tree.tree.groups))

    async def _leave(self, server: Server) -> None:
        await self._process.stopping.wait()
        server.leave()
