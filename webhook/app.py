"""Composition root of the webhook: watches fill the caches, judges answer from them, a TLS server calls the judges."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from typing import Any

from shared.api import names
from shared.api.review import Review, ReviewOperation
from shared.kube.client import Client
from shared.kube.metrics import expose_watches
from shared.kube.resources import Resource, resource_of_kind
from shared.kube.watch.memory import freeze_memory
from shared.kube.watch.watches import Watches
from shared.process.running import Process
from shared.telemetry import get_logger
from shared.tls.serving_cert import CertificateHolder
from webhook.api_guard import ApiGuard
from webhook.http.handler import Endpoints, Judge, Route
from webhook.http.server import Server
from webhook.metrics import WebhookMetrics
from webhook.quota.dry_run import DryRunEffects
from webhook.quota.edits import FLAVOR, GROUP
from webhook.quota.handlers import QuotaHandlers
from webhook.quota.stored.quota_cache import QuotaCache
from webhook.settings import KnownCallers, WebhookSettings
from webhook.tls.path_secret import CallerPaths
from webhook.tls.source import keep_certificate
from webhook.verdicts import YES, Verdict
from webhook.workloads.context_builder import ContextBuilder
from webhook.workloads.governed.children import judge_child, mutate_child
from webhook.workloads.governed.gated_kinds import judge_gated_object
from webhook.workloads.governed.scales import judge_scale
from webhook.workloads.owner_cache import made_resources
from webhook.workloads.review_context import ReviewContext
from webhook.workloads.reviews import judge, mutate
from webhook.workloads.sorts.job import JOB
from webhook.workloads.sorts.kind_object import KindReviews
from webhook.workloads.sorts.pod import POD
from webhook.workloads.workload_cache import WatchedWorkloads

WorkloadJudge = Callable[[Review, ReviewContext], Verdict]

log = get_logger(__name__)


class Webhook:
    """All parts of one process."""

    def __init__(self, process: Process, client: Client, settings: WebhookSettings) -> None:
        self._process = process
        self._client = client
        self._settings = settings
        self._quota = settings.quota.settings()
        self._metrics = WebhookMetrics(process.registry)
        self._holder = CertificateHolder(self._metrics, settings.callers.client_ca)
        self._paths = CallerPaths(any_caller=settings.callers.by is not KnownCallers.PATH)
        self._watches = Watches()
        self._tree = QuotaCache(client, self._watches)
        self._kinds = settings.governed
        self._workloads = WatchedWorkloads(
            client,
            self._watches,
            default_group=self._quota.default_group,
            kinds=self._kinds,
            devices=self._quota.devices,
        )
        self._quota_objects = QuotaHandlers(
            client,
            self._watches,
            self._tree,
            self._workloads.of_group,
            self._workloads.namespaces,
            namespace=settings.home,
            settings=self._quota,
            faults=self._metrics.faults,
            edits=settings.edits,
            dry_run=DryRunEffects(client) if settings.guard_visibility else None,
        )
        self._contexts = ContextBuilder(client, self._tree, self._workloads, settings)
        self._endpoints = Endpoints(self._routes(), self._metrics, self._unready, self._paths.route_of)

    def _routes(self) -> dict[str, Route]:
        return {
            "/mutate/jobs": Route("batch", "Job", self._with_context(partial(mutate, JOB))),
            "/validate/jobs": Route("batch", "Job", self._with_context(partial(judge, JOB))),
            "/mutate/pods": Route("", "Pod", self._with_context(partial(mutate, POD))),
            "/validate/pods": Route("", "Pod", self._with_context(partial(judge, POD))),
            "/validate/scales": Route("autoscaling", "Scale", self._judge_scale),
            "/validate/quotagroups": Route(names.GROUP, GROUP, self._quota_objects.judge_quotagroup),
            "/validate/resourceflavors": Route(names.GROUP, FLAVOR, self._quota_objects.judge_flavor),
            **dict(self._kind_routes()),
        }

    def _kind_routes(self) -> Iterator[tuple[str, Route]]:
        """Yield the routes of governed kinds, and of what their operators create: /mutate/jobsets.jobset.x-k8s.io."""
        for kind in self._kinds.all:
            resource = resource_of_kind(kind)
            if kind.suspend:
                sort = KindReviews(kind)
                yield from self._pair(resource, partial(mutate, sort), partial(judge, sort))
            elif kind.gate is not None:
                yield self._route("validate", resource, partial(judge_gated_object, kind))
        for resource in made_resources(self._kinds):
            yield from self._pair(resource, mutate_child, judge_child)

    def _pair(self, resource: Resource, mutation: WorkloadJudge, check: WorkloadJudge) -> Iterator[tuple[str, Route]]:
        yield self._route("mutate", resource, mutation)
        yield self._route("validate", resource, check)

    def _route(self, phase: str, resource: Resource, judge: WorkloadJudge) -> tuple[str, Route]:
        path = f"/{phase}/{resource.plural}.{resource.group}"
        return path, Route(resource.group, resource.kind, self._with_context(judge))

    def _unready(self) -> str | None:
        """Return why no verdict can be given yet: a watch has no complete list. A lagging watch is no reason."""
        for watch in self._watches.members:
            if not watch.synced.is_set():
                return f"the webhook has not read all {watch.resource.plural} yet"
        return None

    async def _judge_scale(self, review: Review) -> Verdict:
        return judge_scale(review, await self._contexts.managed_kind(review))

    def _with_context(self, judge: WorkloadJudge) -> Judge:
        async def judged(review: Review) -> Verdict:
            if review.operation not in (ReviewOperation.CREATE, ReviewOperation.UPDATE):
                return YES
            return judge(review, await self._contexts.of(review))

        return judged

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
            server = Server(self._endpoints, self._metrics)
            listen = self._settings.listen
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
