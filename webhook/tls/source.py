"""Starts the source of the server's certificate that the settings name."""

import asyncio

from shared.kube.client import Client
from shared.kube.watch.watches import Watches
from shared.tls.certificate_secret import CertificateContents, watch_certificate
from shared.tls.file_certificate import FileCertificate
from shared.tls.rotation import CertificateLifetimes
from shared.tls.rotator import SecretRotator
from shared.tls.serving_cert import CertificateHolder
from shared.tls.watched_secret import WatchedSecret
from webhook.settings import CertificateSource, KnownCallers, WebhookSettings
from webhook.tls.configuration_bundles import ConfigurationBundles
from webhook.tls.configurations import WebhookConfigurations
from webhook.tls.path_secret import CallerPaths, PathContents


async def keep_certificate(
    client: Client, holder: CertificateHolder, paths: CallerPaths, settings: WebhookSettings
) -> None:
    """Run indefinitely: serve the current certificate; if it is Quotree's own, maintain it, its CA and the path."""
    watches = Watches()
    parts = _parts(client, watches, holder, paths, settings)
    async with asyncio.TaskGroup() as group:
        group.create_task(watches.run(), name="certificate watches")
        await watches.all_synced()
        for part in parts:
            group.create_task(part.run(), name=type(part).__name__)


def _parts(
    client: Client, watches: Watches, holder: CertificateHolder, paths: CallerPaths, settings: WebhookSettings
) -> list[FileCertificate | SecretRotator]:
    wanted, found = settings.certificates, list[FileCertificate | SecretRotator]()
    makes_certificate = wanted.source is CertificateSource.SELF_MANAGED
    makes_path = settings.callers.by is KnownCallers.PATH
    if wanted.source is CertificateSource.FILES:
        found.append(FileCertificate(holder, wanted.directory))
    else:
        secret = watch_certificate(client, watches, holder, settings.home, wanted.secret_name)
    if not makes_certificate and not makes_path:
        return found
    configurations = WebhookConfigurations(client, watches, settings.configuration_name)
    if makes_certificate:
        configurations.listeners.append(secret.changed.set)
        lifetimes = CertificateLifetimes(called_by(settings), wanted.leaf_life, wanted.authority_life)
        certificate = CertificateContents(ConfigurationBundles(configurations), lifetimes, wanted.overlap)
        found.append(SecretRotator(secret, certificate))
    if makes_path:
        path = WatchedSecret(client, watches, settings.home, settings.callers.secret_name, paths.accept)
        configurations.listeners.append(path.changed.set)
        holder.listeners.append(path.changed.set)
        found.append(SecretRotator(path, PathContents(configurations, holder, wanted.overlap)))
    return found


def called_by(settings: WebhookSettings) -> tuple[str, ...]:
    """The names and addresses of the server, without duplicates."""
    wanted = settings.certificates
    service = f"{wanted.service}.{settings.home}.svc"
    own = (service, f"{service}.cluster.local", "localhost", "127.0.0.1")
    return tuple(dict.fromkeys((*own, *wanted.names)))
