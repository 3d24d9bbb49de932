"""The settings file of `quotree-dashboard`, the dashboard in the cluster."""

import msgspec

from shared.api.names import RECONCILER_LEASE
from shared.process.common_settings import ProcessSettings
from shared.process.health import Port


class ListenSettings(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`listen:` where the proxy finds it, over TLS with a certificate that no CA has signed; port 0: any free one."""

    host: str = "0.0.0.0"  # noqa: S104 - the proxy is another pod
    port: Port = 8444


class DashboardSettings(ProcessSettings, frozen=True, rename="camel", forbid_unknown_fields=True):
    """All keys."""

    listen: ListenSettings = ListenSettings()
    lease: str = RECONCILER_LEASE
    """The name of the Lease by which the reconciler leads."""
