"""The webhook put together: watches keep its view of the cluster, judges answer from it, TLS stands in front."""

import asyncio
from typing import Final

from shared.api import names
from shared.api.review import Review
from shared.kube.client import Client
from shared.kube.connection import connected
from shared.kube.memory import settle_memory
from shared.kube.watching import Watches
from shared.process.running import Process
from shared.quota.model.rules.posted import WorkContext
from shared.telemetry import get_logger, request_observer
from webhook import flavors, quotagroups
from webhook.certificates import Showcase
from webhook.endpoints import Endpoints, Route
from webhook.jobs import judge_job, mutate_job
from webhook.keeping import Bundles, FileCertificate, Keeper, SecretCertificate
from webhook.metrics import Metrics
from webhook.pods import judge_pod, mutate_pod
from webhook.quota_objects import QuotaObjects
from webhook.rotation import Terms
from webhook.scene import Scene
from webhook.serving import Server
from webhook.settings import CertificateSource, Settings
from webhook.tree_view import TreeView
from webhook.verdicts import Verdict
from webhook.work_view import WorkView

_CERTIFICATE_POLL: Final = 0.1

log = get_logger(__name__)


async def run_webhook(process: Process, settings: Settings) -> None:
    """Run until the process is asked to stop."""
    process.health.add_check("certificate", lambda: "not connected to the API server yet")
    async with connected(settings.connection.settings("quotree-webhook")) as connection:
        client = Client(
            connection,
            concurrency=settings.connection.concurrency,
            timeout=settings.connection.timeout,
            field_manager="quotree-webhook",
            on_request=request_observer(process.registry),
        )
        await Webhook(process, client, settings).run()


class Webhook:
    """All parts of one process."""

    def __init__(self, process: Process, client: Client, settings: Settings) -> None:
        self._process = process
        self._client = client
        self._settings = settings
        self._quota = settings.quota.settings()
        self._metrics = Metrics(process.registry)
        self._showcase = Showcase(self._metrics)
        self._watches = Watches()
        self._tree = TreeView(client, self._watches)
        self._work = WorkView(client, self._watches, default_group=self._quota.default_group)
        self._quota_objects = QuotaObjects(
            client,
            self._watches,
            self._tree,
            self._work.work,
            namespace=settings.home,
            max_depth=self._quota.max_depth,
            edits=settings.edits,
        )
        self._endpoints = Endpoints(self._routes(), self._metrics, self._unready)
        self._certificate_watches = Watches()

    def _routes(self) -> dict[str, Route]:
        return {
            "/mutate/jobs": Route("batch", "Job", self._mutate_job),
            "/validate/jobs": Route("batch", "Job", self._judge_job),
            "/mutate/pods": Route("", "Pod", self._mutate_pod),
            "/validate/pods": Route("", "Pod", self._judge_pod),
            "/validate/quotagroups": Route(names.GROUP, quotagroups.KIND, self._quota_objects.judge_quotagroup),
            "/validate/resourceflavors": Route(names.GROUP, flavors.KIND, self._quota_objects.judge_flavor),
        }

    def _unready(self) -> str | None:
        """A watch that lags is not waited for; one that has not told everything yet is."""
        for watch in self._watches.members:
            if not watch.synced.is_set():
                return f"the webhook has not read all {watch.resource.plural} yet"
        return None

    async def _scene(self, review: Review) -> Scene:
        context = WorkContext(
            self._tree.tree, self._tree.flavors, self._tree.capacity, self._quota, self._settings.never_fits
        )
        around = await self._work.surroundings(review.namespace)
        return Scene(context, around, self._settings.reconciler, self._work.is_managed_job)

    async def _mutate_job(self, review: Review) -> Verdict:
        return mutate_job(review, await self._scene(review))

    async def _judge_job(self, review: Review) -> Verdict:
        return judge_job(review, await self._scene(review))

    async def _mutate_pod(self, review: Review) -> Verdict:
        return mutate_pod(review, await self._scene(review))

    async def _judge_pod(self, review: Review) -> Verdict:
        return judge_pod(review, await self._scene(review))

    async def run(self) -> None:
        """Sync, get a certificate, serve until asked to stop, answer what is under way."""
        stopped = asyncio.Event()

        async def stop() -> None:
            stopped.set()

        self._process.health.add_check("watches", self._watches.problem)
        self._process.health.add_check("certificate", self._showcase.problem)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._watches.run(), name="watches"), *self._keep_certificate(group)]
            await self._first_certificate()
            server = Server(self._endpoints, self._metrics)
            listen = self._settings.listen
            async with server.listening(listen.host, listen.port, self._showcase.listener()) as port:
                log.info("Listening", host=listen.host, port=port)
                tasks.append(group.create_task(self._settle(), name="settle"))
                self._process.on_stop(stop)
                tasks.append(group.create_task(self._leave(server), name="leave"))
                await stopped.wait()
            for task in tasks:
                task.cancel()

    async def _settle(self) -> None:
        await self._watches.all_synced()
        settle_memory()
        log.info("Caches synced", groups=len(self._tree.tree.groups))

    async def _leave(self, server: Server) -> None:
        await self._process.stopping.wait()
        server.leave()

    async def _first_certificate(self) -> None:
        while self._showcase.shown is None:  # noqa: ASYNC110 - once, at the start
            await asyncio.sleep(_CERTIFICATE_POLL)

    def _keep_certificate(self, group: asyncio.TaskGroup) -> list[asyncio.Task[None]]:
        wishes = self._settings.certificates
        if wishes.source is CertificateSource.FILES:
            return [group.create_task(FileCertificate(self._showcase, wishes.directory).run(), name="certificate")]
        home = self._settings.home
        watches = self._certificate_watches
        secret = SecretCertificate(self._client, watches, self._showcase, home, wishes.secret_name)
        if wishes.source is not CertificateSource.SELF_MANAGED:
            return [group.create_task(watches.run(), name="certificate")]
        bundles = Bundles(self._client, watches, self._settings.configuration_name)
        keeper = Keeper(
            self._client,
            secret,
            bundles,
            Terms(self._names(), wishes.leaf_life, wishes.authority_life),
            namespace=home,
            name=wishes.secret_name,
            overlap=wishes.overlap,
        )

        async def keep() -> None:
            await watches.all_synced()
            await keeper.run()

        return [
            group.create_task(watches.run(), name="certificate watches"),
            group.create_task(keep(), name="certificate"),
        ]

    def _names(self) -> tuple[str, ...]:
        wishes = self._settings.certificates
        service = f"{wishes.service}.{self._settings.home}.svc"
        own = (service, f"{service}.cluster.local", "localhost", "127.0.0.1")
        return tuple(dict.fromkeys((*own, *wishes.names)))
