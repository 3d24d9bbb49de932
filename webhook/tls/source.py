"""Starts the source of the server's certificate that the settings name."""

import asyncio
from typing import Final

from shared.kube.client import Client
from shared.kube.watch.watching import Watches
from webhook.settings import CertificateSource, WebhookSettings
from webhook.tls.rotation import CertificateLifetimes
from webhook.tls.rotator import Bundles, CertificateRotator, FileCertificate, SecretCertificate
from webhook.tls.serving_cert import CertificateHolder

_POLL: Final = 0.1


async def first_certificate(holder: CertificateHolder) -> None:
    """Return when there is one to show."""
    while holder.shown is None:  # noqa: ASYNC110 - once, at the start
        await asyncio.sleep(_POLL)


async def keep_certificate(client: Client, holder: CertificateHolder, settings: WebhookSettings) -> None:
    """Run indefinitely: show the certificate there is, and renew it and its CA if the source is SelfManaged."""
    wanted = settings.certificates
    if wanted.source is CertificateSource.FILES:
        await FileCertificate(holder, wanted.directory).run()
    watches = Watches()
    secret = SecretCertificate(client, watches, holder, settings.home, wanted.secret_name)
    if wanted.source is not CertificateSource.SELF_MANAGED:
        await watches.run()
    rotator = CertificateRotator(
        client,
        secret,
        Bundles(client, watches, settings.configuration_name),
        CertificateLifetimes(called_by(settings), wanted.leaf_life, wanted.authority_life),
        namespace=settings.home,
        name=wanted.secret_name,
        overlap=wanted.overlap,
    )
    async with asyncio.TaskGroup() as group:
        group.create_task(watches.run(), name="certificate watches")
        await watches.all_synced()
        await rotator.run()


def called_by(settings: WebhookSettings) -> tuple[str, ...]:
    """The names and addresses that the server is called by, each once."""
    wanted = settings.certificates
    service = f"{wanted.service}.{settings.home}.svc"
    own = (service, f"{service}.cluster.local", "localhost", "127.0.0.1")
    return tuple(dict.fromkeys((*own, *wanted.names)))
