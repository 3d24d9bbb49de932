"""The CAs in the webhook configurations: published there, and since when."""

import asyncio
import base64
import re
from datetime import datetime, timedelta
from typing import Final

from shared.api.patches import Operation, add
from webhook.settings import CertificateSource
from webhook.tls.configurations import CERTIFICATES_BY, WebhookConfigurations, WebhookEntry

_CERTIFICATE: Final = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


class ConfigurationBundles:
    """The CAs in the webhook configurations; `published_for` remembers since when they are there."""

    def __init__(self, configurations: WebhookConfigurations) -> None:
        self._configurations = configurations
        self._published: tuple[bytes, datetime] | None = None
        self.changed = asyncio.Event()
        configurations.listeners.append(self.changed.set)

    def published_for(self, authority: bytes, now: datetime) -> timedelta | None:
        """For how long every entry has trusted `authority`; None while one does not."""
        if not all(authority in entry.client_config.ca_bundle for _, entry in self._configurations.entries()):
            self._published = None
            return None
        if self._published is None or self._published[0] != authority:
            self._published = (authority, now)
        return now - self._published[1]

    async def publish(self, bundle: bytes) -> None:
        """Make every entry trust exactly `bundle`. Raises ApiError.

        Where the chart already says that the certificate comes from elsewhere, a rolling upgrade is about to replace
        this process: until then `bundle` is trusted beside what the entry has.
        """

        def change(plural: str, at: int, entry: WebhookEntry) -> list[Operation]:
            wanted = bundle if self._is_ours(plural) else without(entry.client_config.ca_bundle, bundle) + bundle
            return bundle_operations(at, entry, wanted)

        await self._configurations.change("authorities", change)

    def _is_ours(self, plural: str) -> bool:
        return self._configurations.says(plural, CERTIFICATES_BY) in ("", CertificateSource.SELF_MANAGED)


def without(bundle: bytes, own: bytes) -> bytes:
    """The certificates of `bundle` that are not in `own`."""
    return b"".join(each + b"\n" for each in _CERTIFICATE.findall(bundle) if each not in own)


def bundle_operations(at: int, entry: WebhookEntry, bundle: bytes) -> list[Operation]:
    """Make the entry trust `bundle`."""
    if entry.client_config.ca_bundle == bundle:
        return []
    return [add(("webhooks", at, "clientConfig", "caBundle"), base64.b64encode(bundle).decode())]
