"""Starts what keeps the server's certificate, as the settings wish."""

import asyncio
from typing import Final

from shared.kube.client import Client
from shared.kube.watch.watching import Watches
from webhook.settings import CertificateSource, WebhookSettings
from webhook.tls.rotation import CertificateLifetimes
from webhook.tls.rotator import Bundles, CertificateRotator, FileCertificate, SecretCertificate
from webhook.tls.serving_cert import CertificateHolder

_POLL: Final = 0.1


async def first_certificate(showcase: CertificateHolder) -> None:
    """Return when there is one to show."""
    while showcase.shown is None:  # noqa: ASYNC110 - once, at the start
        await asyncio.sleep(_POLL)


async def keep_certificate(client: Client, showcase: CertificateHolder, settings: WebhookSettings) -> None:
    """For ever: show the certificate there is, and keep it and its authority where that is ours to do."""
    wishes = settings.certificates
    if wishes.source is CertificateSource.FILES:
        await FileCertificate(showcase, wishes.directory).run()
    watches = Watches()
    secret = SecretCertificate(client, watches, showcase, settings.home, wishes.secret_name)
    if wishes.source is not CertificateSource.SELF_MANAGED:
        await watches.run()
    keeper = CertificateRotator(
        client,
        secret,
        Bundles(client, watches, settings.configuration_name),
        CertificateLifetimes(called_by(settings), wishes.leaf_life, wishes.authority_life),
        namespace=settings.home,
        name=wishes.secret_name,
        overlap=wishes.overlap,
    )
    async with asyncio.TaskGroup() as group:
        group.create_task(watches.run(), name="certificate watches")
        await watches.all_synced()
        await keeper.run()


def called_by(settings: WebhookSettings) -> tuple[str, ...]:
    """The names and addresses that the server is called by, each once."""
    wishes = settings.certificates
    service = f"{wishes.service}.{settings.home}.svc"
    own = (service, f"{service}.cluster.local", "localhost", "127.0.0.1")
    return tuple(dict.fromkeys((*own, *wishes.names)))
