"""The webhook's settings file. Keys and defaults are those of the chart's values.yaml."""

from datetime import timedelta
from enum import StrEnum
from typing import Annotated

import msgspec

from shared.api.names import JOB_CONTROLLERS
from shared.process.common_settings import ProcessSettings, home_namespace
from shared.process.health import Port
from shared.quota.model.rules.workloads.submitted_workload import NeverFits


class ListenFile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`listen:` the address that the API server calls. Port 0 takes any free one."""

    host: str = "0.0.0.0"  # noqa: S104 - the API server runs on another machine
    port: Port = 9443
    max_waiting: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 400
    """How many reviews may wait for their turn; further ones are refused at once, and their clients retry.

    With reviews of 0.2 ms that is 80 ms; with the largest objects, of 10 ms, still less than the API server waits.
    """


class CertificateSource(StrEnum):
    """The source of the certificate."""

    SELF_MANAGED = "SelfManaged"
    """Quotree creates it, keeps it in the Secret, rotates it, and writes its CA into the webhook configurations."""
    CERT_MANAGER = "CertManager"
    """cert-manager writes it into the Secret, and its injector writes the CA."""
    GIVEN = "Given"
    """An administrator writes it into the Secret."""
    FILES = "Files"
    """An administrator provides tls.crt and tls.key in `directory`."""


class CertificatesFile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`certificates:` what the server presents. `names` are additional DNS names and IP addresses of the server."""

    source: CertificateSource = CertificateSource.SELF_MANAGED
    secret_name: str = "quotree-webhook-tls"  # noqa: S105 - a name
    directory: str = ""
    names: tuple[str, ...] = ()
    service: str = "quotree-webhook"
    """The name of the Service by which the API server calls the webhook."""
    leaf_life: timedelta = timedelta(days=90)
    authority_life: timedelta = timedelta(days=3650)
    overlap: timedelta = timedelta(seconds=30)
    """How long a new CA is in the webhook configurations before its certificate is served."""

    def __post_init__(self) -> None:
        if self.source is CertificateSource.FILES and not self.directory:
            raise ValueError("directory must be given when source is Files")
        if self.leaf_life * 2 > self.authority_life:
            raise ValueError("authorityLife must be at least twice leafLife")


class KnownCallers(StrEnum):
    """How the API server is distinguished from other callers of the review port."""

    PATH = "Path"
    """By a secret part of the path, which Quotree generates and writes into its webhook configurations."""
    CERTIFICATE = "Certificate"
    """By a client certificate, which the administrator gives the API server."""
    ANY = "Any"
    """Not distinguished: for a webhook that only the API server can reach."""


class CallersFile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`callers:` whose reviews are answered."""

    by: KnownCallers = KnownCallers.PATH
    secret_name: str = "quotree-webhook-path"  # noqa: S105 - a name
    """For Path: the Secret with the path."""
    client_ca: str = msgspec.field(default="", name="clientCA")
    """For Certificate: the file of the CA that signed the API server's client certificate."""

    def __post_init__(self) -> None:
        if self.by is KnownCallers.CERTIFICATE and not self.client_ca:
            raise ValueError("clientCA must be given when by is Certificate")


class EditsFile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`edits:` how edits of quota objects are serialised."""

    config_map: str = "quotree-edits"
    """The name of the ConfigMap in which accepted edits are recorded."""
    reservation: timedelta = timedelta(seconds=65)
    """How long after its acceptance an edit can still be stored: the API server's --request-timeout (1m by default) and
    a little more. A shorter time would allow illegal trees; a longer one only makes edits wait longer.
    """
    budget: timedelta = timedelta(seconds=7)
    """How long an edit can wait for another; less than the timeoutSeconds of the webhook."""


class LabelDialect(StrEnum):
    """Another system whose labels name a group."""

    KUEUE = "kueue"


class DialectsFile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`dialects:` whose labels on a new workload name a group."""

    systems: tuple[LabelDialect, ...] = ()
    queue_groups: dict[str, str] = {}
    """NAMESPACE/QUEUE or QUEUE → group, for the label `kueue.x-k8s.io/queue-name`; others mean the group of their name.
    """


class WebhookSettings(ProcessSettings, frozen=True):
    """The whole file."""

    listen: ListenFile = ListenFile()
    certificates: CertificatesFile = CertificatesFile()
    callers: CallersFile = CallersFile()
    namespace: str = ""
    """Where Quotree is installed. Absent: the pod's own namespace ($POD_NAMESPACE), else quotree-system."""
    reconciler_user: str = ""
    """The user that can start workloads. Default: the service account quotree-reconciler of the namespace."""
    job_controllers: tuple[str, ...] = JOB_CONTROLLERS
    """The users as which Kubernetes' Job controller creates pods; only their pods count as pods of a Job."""
    configuration_name: str = "quotree"
    """The name of the mutating and of the validating webhook configuration."""
    edits: EditsFile = EditsFile()
    never_fits: NeverFits = NeverFits.WARN
    """Whether a workload that could never start is denied or warned of."""
    guard_visibility: bool = False
    """The visibility API is installed: remove it from discovery while no reconciler serves it, and use it for dry runs
    of quota objects and of new workloads.
    """
    dialects: DialectsFile = DialectsFile()
    drain: timedelta = timedelta(seconds=10)

    @property
    def home(self) -> str:
        """The namespace in force."""
        return home_namespace(self.namespace)

    @property
    def reconciler(self) -> str:
        """The reconciler's user name in force."""
        return self.reconciler_user or f"system:serviceaccount:{self.home}:quotree-reconciler"
