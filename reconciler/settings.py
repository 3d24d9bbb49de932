"""What the reconciler's settings file may say. Keys and defaults are those of the chart's values.yaml.

Only what a file cannot know comes from elsewhere: the pod's own name and namespace from the environment.
"""

import os
import socket
import uuid
from datetime import timedelta
from typing import Annotated, Literal

import msgspec

from shared.kube.connection import ConnectionSettings
from shared.kube.election import ElectionSettings
from shared.process.health import HealthSettings
from shared.process.quota_settings import QuotaSettingsFile

LEASE = "quotree-reconciler"
NAMESPACE = "quotree-system"


class ConnectionFile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`connection:` where the API server is. Without a kubeconfig: $KUBECONFIG, the pod's account, ~/.kube/config."""

    kubeconfig: str | None = None
    context: str | None = None
    strict_x509: bool = msgspec.field(default=True, name="strictX509")
    timeout: timedelta = timedelta(seconds=10)
    """For each request."""
    concurrency: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 64
    """Requests under way at the same time."""

    def settings(self) -> ConnectionSettings:
        """The same for `shared.kube`."""
        return ConnectionSettings(self.kubeconfig, self.context, self.strict_x509, "quotree-reconciler")


class ElectionFile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`leaderElection:` the Lease that keeps two reconcilers from writing at once."""

    namespace: str = ""
    """Absent: the pod's own namespace ($POD_NAMESPACE), else quotree-system."""
    name: str = LEASE
    lease_duration: timedelta = timedelta(seconds=15)
    renew_deadline: timedelta = timedelta(seconds=10)
    retry_period: timedelta = timedelta(seconds=2)

    def settings(self) -> ElectionSettings:
        """The same for `shared.kube`; the identity is new with every start of the process."""
        return ElectionSettings(
            namespace=self.namespace or os.environ.get("POD_NAMESPACE", NAMESPACE),
            name=self.name,
            identity=f"{instance_name()}_{uuid.uuid4().hex[:8]}",
            lease_duration=self.lease_duration,
            renew_deadline=self.renew_deadline,
            retry_period=self.retry_period,
        )


class LogFile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`log:` how much is logged, and in which form."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    form: Literal["json", "text"] = "json"


class Settings(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The whole file."""

    quota: QuotaSettingsFile = QuotaSettingsFile()
    connection: ConnectionFile = ConnectionFile()
    leader_election: ElectionFile = ElectionFile()
    health: HealthSettings = HealthSettings()
    log: LogFile = LogFile()
    status_interval: timedelta = timedelta(seconds=1)
    """The least time between two writes of one group's status."""


def instance_name() -> str:
    """The pod's name, or the host's."""
    return os.environ.get("POD_NAME") or socket.gethostname()
