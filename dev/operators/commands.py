"""How each operator is started: arguments, environment and settings file. Pure: ports and paths in, words out."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

HOST: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Site:
    """What one run is given: a folder with its certificate, where its settings are written, and its ports."""

    folder: Path
    webhook: int
    health: int

    @property
    def certificates(self) -> Path:
        """Where a program looks that cannot be told: below its TMPDIR, which is `folder`."""
        return self.folder / "k8s-webhook-server" / "serving-certs"

    @property
    def settings(self) -> Path:
        return self.folder / "settings.yaml"

    @property
    def kubeconfig(self) -> Path:
        """Where the program's own is; KUBECONFIG names it too."""
        return self.folder / "kubeconfig"

    @property
    def health_address(self) -> str:
        return f"{HOST}:{self.health}"


@dataclass(frozen=True, slots=True)
class Start:
    """The program's arguments and environment, the content of its settings file, and the path of its health check."""

    arguments: tuple[str, ...]
    settings: Mapping[str, Any] | None = None
    environment: Mapping[str, str] | None = None
    health: str = "readyz"


def _jobset(site: Site) -> Start:
    return Start((f"--config={site.settings}",), _configuration(site, "config.jobset.x-k8s.io/v1alpha1"))


def _lws(site: Site) -> Start:
    return Start((f"--config={site.settings}",), _configuration(site, "config.lws.x-k8s.io/v1alpha1"))


def _configuration(site: Site, version: str) -> dict[str, Any]:
    return {
        "apiVersion": version,
        "kind": "Configuration",
        "webhook": {"host": HOST, "port": site.webhook, "certDir": str(site.certificates)},
        "health": {"healthProbeBindAddress": site.health_address},
        "metrics": {"bindAddress": "0"},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
    }


def _trainer(site: Site) -> Start:
    settings = {
        "apiVersion": "config.trainer.kubeflow.org/v1alpha1",
        "kind": "Configuration",
        "webhook": {"host": HOST, "port": site.webhook},
        "health": {"healthProbeBindAddress": site.health_address},
        "metrics": {"bindAddress": "0"},
        "leaderElection": {"leaderElect": False},
        "certManagement": {"enable": False},
    }
    return Start((f"--config={site.settings}",), settings)


def _mpi(site: Site) -> Start:
    arguments = ("--kube-api-qps=500", "--kube-api-burst=500", "--lock-namespace=mpi-operator")
    return Start(arguments, environment={"HEALTH_ADDRESS": site.health_address}, health="healthz")


def _training(site: Site) -> Start:
    arguments = (
        f"--webhook-server-port={site.webhook}",
        f"--health-probe-bind-address={site.health_address}",
        "--metrics-bind-address=0",
    )
    return Start(arguments)


def _kuberay(site: Site) -> Start:
    arguments = (
        f"--health-probe-bind-address={site.health_address}",
        "--metrics-addr=0",
        "--enable-leader-election=false",
    )
    return Start(arguments)


def _appwrapper(site: Site) -> Start:
    environment = {
        "NAMESPACE": "appwrapper-system",
        "HEALTH_ADDRESS": site.health_address,
        "WEBHOOK_PORT": str(site.webhook),
    }
    return Start((), environment=environment)


def _spark(site: Site) -> Start:
    arguments = (
        "controller",
        "start",
        f"--health-probe-bind-address={site.health_address}",
        "--enable-ui-service=false",
    )
    here = Path(__file__).parent
    environment = {
        "SPARK_HOME": str(here / "spark"),
        "PYTHON": sys.executable,
        "PYTHONPATH": str(here.parents[1]),
        # Of the API server as pods see it; what stands in for Spark has the kubeconfig.
        "KUBERNETES_SERVICE_HOST": HOST,
        "KUBERNETES_SERVICE_PORT": "443",
    }
    return Start(arguments, environment=environment)


def _cert_manager_webhook(site: Site) -> Start:
    port = site.health_address.rpartition(":")[2]
    arguments = (
        f"--kubeconfig={site.kubeconfig}",
        f"--secure-port={site.webhook}",
        f"--healthz-port={port}",
        f"--tls-cert-file={site.certificates}/tls.crt",
        f"--tls-private-key-file={site.certificates}/tls.key",
    )
    return Start(arguments, health="livez")


def _cert_manager(site: Site) -> Start:
    arguments = (
        *_cainjector(site).arguments,
        f"--kubeconfig={site.kubeconfig}",
        "--metrics-listen-address=127.0.0.1:0",
    )
    return Start(arguments, health="debug/pprof/")


def _cainjector(site: Site) -> Start:
    # It has no health check; this is all that it serves.
    arguments = ("--leader-elect=false", "--enable-profiling", f"--profiler-address={site.health_address}")
    return Start(arguments, health="debug/pprof/")


START: Final[Mapping[str, Callable[[Site], Start]]] = {
    "jobset": _jobset,
    "mpi-operator": _mpi,
    "training-operator": _training,
    "kuberay": _kuberay,
    "lws": _lws,
    "trainer": _trainer,
    "appwrapper": _appwrapper,
    "spark-operator": _spark,
    "cert-manager-webhook": _cert_manager_webhook,
    "cert-manager": _cert_manager,
    "cainjector": _cainjector,
}
