"""The composition root of the serving process: certificate, front proxy, server."""

import asyncio
from collections.abc import Sequence
from typing import Final, NoReturn

from reconciler.settings import VisibilityFile
from reconciler.visibility.copies.asking import Control
from reconciler.visibility.front.answers.created import CreatedQuestions
from reconciler.visibility.front.answers.objects import Answers
from reconciler.visibility.front.api_service import ApiServiceBundle
from reconciler.visibility.front.callers import CONFIG_MAP, CONFIG_NAMESPACE, read_front_proxy
from reconciler.visibility.front.metrics import VisibilityMetrics
from reconciler.visibility.front.server import KnownProxy, VisibilityServer
from shared.api.api_service import ApiServiceReference
from shared.api.json.reading import View, reader
from shared.kube.client import Client
from shared.kube.resources import CONFIG_MAPS
from shared.kube.watch.cache import Change, transitions
from shared.kube.watch.watches import Watches
from shared.kube.watch.watching import Watch
from shared.problems import Problem
from shared.telemetry import get_logger
from shared.tls.certificate_secret import CertificateContents, watch_certificate
from shared.tls.rotation import CertificateLifetimes
from shared.tls.rotator import SecretRotator
from shared.tls.serving_cert import CertificateHolder

log = get_logger(__name__)


class _ConfigMap(View, frozen=True):
    data: dict[str, str] = {}


_read_config_map: Final = reader(_ConfigMap)


class VisibilityFront:
    """The API of one replica."""

    def __init__(
        self, client: Client, settings: VisibilityFile, home: str, control: Control, metrics: VisibilityMetrics
    ) -> None:
        self._settings = settings
        self._watches = Watches()
        self._metrics = metrics
        self._holder = CertificateHolder(self._metrics)
        self._known = KnownProxy()
        self._proxy_known = asyncio.Event()
        self._server = VisibilityServer(Answers(control), CreatedQuestions(control), self._known, self._metrics)
        self._rotator = self._rotator_of(client, home)
        fields = f"metadata.name={CONFIG_MAP}"
        self._watches.add(
            Watch(client, CONFIG_MAPS, _read_config_map, self._see, namespace=CONFIG_NAMESPACE, fields=fields)
        )

    def _rotator_of(self, client: Client, home: str) -> SecretRotator:
        wanted = self._settings
        service = f"{wanted.service}.{home}.svc"
        names = tuple(dict.fromkeys((service, f"{service}.cluster.local", "localhost", "127.0.0.1", *wanted.names)))
        secret = watch_certificate(client, self._watches, self._holder, home, wanted.secret_name)
        reference = ApiServiceReference(wanted.service, home, wanted.service_port)
        bundle = ApiServiceBundle(client, self._watches, reference, secret.changed.set)
        lifetimes = CertificateLifetimes(names, wanted.leaf_life, wanted.authority_life)
        return SecretRotator(secret, CertificateContents(bundle, lifetimes, wanted.overlap))

    def _see(self, changes: Sequence[Change[_ConfigMap]]) -> None:
        for _, after in transitions(changes):
            proxy = None if after is None else read_front_proxy(after.data)
            self._known.proxy = proxy
            if proxy is None:
                log.warning("The API server publishes no front proxy: the visibility API answers no caller")
                continue
            self._holder.trust(proxy.ca)
            self._proxy_known.set()

    async def run(self) -> NoReturn:
        """Serve indefinitely; an occupied port is logged and retried."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watches.run(), name="visibility watches")
            await self._watches.all_synced()
            group.create_task(self._rotator.run(), name="visibility certificate")
            await self._proxy_known.wait()
            await self._holder.first_shown()
            while True:
                try:
                    await self._serve()
                except Problem as problem:
                    log.error("Visibility API not served", error=str(problem))
                    await asyncio.sleep(10)

    async def _serve(self) -> NoReturn:
        listen = self._settings
        async with self._server.listening(listen.host, listen.port, self._holder.listener()) as port:
            log.info("Visibility API served", host=listen.host, port=port)
            await asyncio.get_running_loop().create_future()
            raise AssertionError("unreachable")
