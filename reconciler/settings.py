"""The reconciler's settings file. Keys and defaults are those of the chart's values.yaml.

Only the pod's own name and namespace come from the environment, because a file cannot know them.
"""

import os
import uuid
from datetime import timedelta
from typing import Annotated, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from shared.api.crds.quotagroup import MAX_PERIODS
from shared.api.names import RECONCILER_LEASE
from shared.kube.lead.election_settings import ElectionSettings
from shared.kube.lead.holder_pods import identity_of_pod
from shared.process.common_settings import ProcessSettings, home_namespace, instance_name
from shared.recording.files import FOLDER
from shared.resources import QuantityError, read_amount

_LEAST_RECORDING: Final = 64 * 1024


def _identity() -> str:
    pod = os.environ.get("POD_NAME")
    return identity_of_pod(pod) if pod else instance_name()


class ElectionFile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`leaderElection:` the Lease that prevents two reconcilers from writing at the same time."""

    namespace: str = ""
    """Default: the pod's own namespace ($POD_NAMESPACE), else quotree-system."""
    name: str = RECONCILER_LEASE
    lease_duration: timedelta = timedelta(seconds=15)
    renew_deadline: timedelta = timedelta(seconds=10)
    retry_period: timedelta = timedelta(seconds=2)
    stall_limit: timedelta = timedelta(seconds=20)
    """How long the process can be stalled, computing or decoding, before its Lease is no longer renewed."""

    def settings(self) -> ElectionSettings:
        """Return the same for `shared.kube`; each start of the process has a new identity."""
        return ElectionSettings(
            namespace=home_namespace(self.namespace),
            name=self.name,
            identity=f"{_identity()}_{uuid.uuid4().hex[:8]}",
            lease_duration=self.lease_duration,
            renew_deadline=self.renew_deadline,
            retry_period=self.retry_period,
        )


class VisibilityFile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`visibility:` the aggregated API visibility.quotree.dev."""

    enabled: bool = False
    host: str = "0.0.0.0"  # noqa: S104 - the API server runs on another machine
    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 9444
    secret_name: str = "quotree-visibility-tls"  # noqa: S105 - a name
    """The Secret with its certificate."""
    service: str = "quotree-visibility"
    """The name of the Service by which the API server calls it."""
    service_port: Annotated[int, msgspec.Meta(ge=1, le=65535)] = 443
    """The port of that Service."""
    names: tuple[str, ...] = ()
    """Additional DNS names and IP addresses of the server."""
    leaf_life: timedelta = timedelta(days=90)
    authority_life: timedelta = timedelta(days=3650)
    overlap: timedelta = timedelta(seconds=30)
    """How long a new CA is in the APIService before its certificate is served."""

    def __post_init__(self) -> None:
        if self.leaf_life * 2 > self.authority_life:
            raise ValueError("authorityLife must be at least twice leafLife")


class AccountsFile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`accounts:` what the groups used in each month."""

    keep: Annotated[int, msgspec.Meta(ge=1, le=MAX_PERIODS)] = 3
    """How many months are kept, the current one included."""
    time_zone: str = "UTC"
    """Where months begin at midnight."""

    def __post_init__(self) -> None:
        try:
            ZoneInfo(self.time_zone)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError(
                f"timeZone {self.time_zone[:63]!r} is not known; write one such as Europe/Berlin"
            ) from error

    @property
    def zone(self) -> ZoneInfo:
        """The time zone itself."""
        return ZoneInfo(self.time_zone)


class RecordingFile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`recording:` the log of what enters the cluster, for `quotree replay`."""

    enabled: bool = False
    folder: str = FOLDER
    """Where its files are written."""
    max_size: str = "1Gi"
    """The space of all files together; the oldest are deleted."""

    def __post_init__(self) -> None:
        if self.most_bytes < _LEAST_RECORDING:
            raise ValueError(
                f"maxSize {self.max_size[:63]!r} is less than {_LEAST_RECORDING} bytes; write for example 1Gi"
            )

    @property
    def most_bytes(self) -> int:
        """The space in bytes."""
        try:
            return read_amount("memory", self.max_size, up=False)
        except QuantityError as error:
            raise ValueError(f"maxSize {self.max_size[:63]!r}: {error}") from error


class ReconcilerSettings(ProcessSettings, frozen=True):
    """The whole file."""

    leader_election: ElectionFile = ElectionFile()
    status_interval: timedelta = timedelta(seconds=1)
    """The least time between two writes of one group's status."""
    visibility: VisibilityFile = VisibilityFile()
    accounts: AccountsFile = AccountsFile()
    recording: RecordingFile = RecordingFile()

    @property
    def home(self) -> str:
        """The namespace in which Quotree is installed."""
        return home_namespace(self.leader_election.namespace)
