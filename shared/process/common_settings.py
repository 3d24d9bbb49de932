"""The keys that every process' settings file shares: connection and log."""

import os
import socket
from datetime import timedelta
from typing import Annotated, Final, Literal

import msgspec

from shared.kinds.descriptor import KindEntry
from shared.kinds.kind import Kinds
from shared.kinds.presets import compile_kinds
from shared.kube.connect.connection import ConnectionSettings
from shared.process.health import HealthSettings
from shared.process.metrics_server import MetricsSettings
from shared.process.quota_settings import QuotaSettingsFile

NAMESPACE: Final = "quotree-system"


class ConnectionFile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`connection:` where the API server is. Without a kubeconfig: $KUBECONFIG, the pod's account, ~/.kube/config."""

    kubeconfig: str | None = None
    context: str | None = None
    strict_x509: bool = msgspec.field(default=True, name="strictX509")
    timeout: timedelta = timedelta(seconds=10)
    """For each request."""
    concurrency: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 64
    """The maximum of concurrent requests."""

    def settings(self, user_agent: str) -> ConnectionSettings:
        """Return the same for `shared.kube`."""
        return ConnectionSettings(self.kubeconfig, self.context, self.strict_x509, user_agent)


class LogFile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`log:` how much is logged, and in which form."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    form: Literal["json", "text"] = "json"


class KindsFile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`kinds:` those that are governed beside batch Jobs and pods: presets by name, and descriptors."""

    kinds: tuple[KindEntry, ...] = ()

    def __post_init__(self) -> None:
        compile_kinds(self.kinds)

    @property
    def governed(self) -> Kinds:
        """The same, compiled."""
        return compile_kinds(self.kinds)


class ProcessSettings(KindsFile, frozen=True):
    """Keys of every process' file; a process adds its own."""

    quota: QuotaSettingsFile = QuotaSettingsFile()
    connection: ConnectionFile = ConnectionFile()
    health: HealthSettings = HealthSettings()
    metrics: MetricsSettings = MetricsSettings()
    log: LogFile = LogFile()
    drain: timedelta = timedelta(0)
    """How long it serves after the signal to stop: Endpoints are updated with a delay."""


def home_namespace(given: str = "") -> str:
    """Where Quotree is installed: as given, else the pod's own namespace ($POD_NAMESPACE), else quotree-system."""
    return given or os.environ.get("POD_NAMESPACE") or NAMESPACE


def instance_name() -> str:
    """Return the pod's name, or the host's."""
    return os.environ.get("POD_NAME") or socket.gethostname()
