"""The CA bundles in the webhook configurations, and since when they are published."""

import base64
from datetime import datetime, timedelta

from shared.api.json.patches import Operation, add
from shared.tls.rotation import TrustedSince
from webhook.tls.configurations import WebhookConfigurations, WebhookEntry


class ConfigurationBundles:
    """The CA bundles in the webhook configurations; `published_for` remembers since when they are there."""

    def __init__(self, configurations: WebhookConfigurations) -> None:
        self._configurations = configurations
        self._published = TrustedSince()

    def published_for(self, authority: bytes, now: datetime) -> timedelta | None:
        """For how long every entry has trusted `authority`; None if one does not."""
        trusted = all(authority in entry.client_config.ca_bundle for _, entry in self._configurations.entries())
        return self._published.lasting(authority, now, trusted=trusted)

    async def publish(self, bundle: bytes) -> None:
        """Make every entry trust exactly `bundle`. Raises ApiError."""
        await self._configurations.change("authorities", lambda _, at, entry: bundle_operations(at, entry, bundle))


def bundle_operations(at: int, entry: WebhookEntry, bundle: bytes) -> list[Operation]:
    """Return the patch that makes the entry trust `bundle`."""
    if entry.client_config.ca_bundle == bundle:
        return []
    return [add(("webhooks", at, "clientConfig", "caBundle"), base64.b64encode(bundle).decode())]
