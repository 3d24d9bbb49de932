"""Which operators are built: module, version, checksum, and the lines that must differ where no kubelet runs them."""

import hashlib
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Change:
    """One text of a source file that is replaced before it is built; the build fails when it is not there once."""

    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator: its Go module, the package of its program, and the kustomize folder or chart that installs it."""

    name: str
    module: str
    version: str
    sum: str
    package: str
    """Empty: no program is built, only the manifests are rendered."""
    manifests: str
    """Empty: another recipe of the same module has them."""
    account: tuple[str, str]
    """Namespace and name of the service account that it runs as."""
    changes: tuple[Change, ...] = ()
    copies: tuple[tuple[str, str], ...] = ()
    """Files of the source that its own release puts at a second place."""

    @property
    def user(self) -> str:
        """The name under which the API server and every webhook see its requests."""
        return f"system:serviceaccount:{self.account[0]}:{self.account[1]}"

    @property
    def folder_name(self) -> str:
        """Its folder in the cache; another one when anything that it is built from differs."""
        digest = hashlib.sha256(
            repr((self.module, self.sum, self.package, self.manifests, self.changes, *self.copies)).encode()
        )
        return f"operator-{self.name}-{self.version}-{digest.hexdigest()[:8]}"


_TRAINING_MAIN: Final = "cmd/training-operator.v1/main.go"

JOBSET: Final = Operator(
    "jobset",
    "sigs.k8s.io/jobset",
    "v0.10.1",
    "h1:u8QKifNsrWVrlRFe6w2ofYTqFT9ma2DRHxfeB2m9xyU=",
    ".",
    "config/default",
    ("jobset-system", "jobset-controller-manager"),
)
MPI: Final = Operator(
    "mpi-operator",
    "github.com/kubeflow/mpi-operator",
    # The first whose launcher Job takes over the placement that its MPIJob got while it was suspended.
    "v0.8.0",
    "h1:22EccUiO4VDooG4TooesdE8o8euGVj89PIRhiP24SRE=",
    "./cmd/mpi-operator",
    "manifests/overlays/standalone",
    ("mpi-operator", "mpi-operator"),
    # Its health port is a constant; several harnesses run on one machine.
    (
        Change(
            "cmd/mpi-operator/app/server.go",
            'fmt.Sprintf(":%d", healthCheckPort),',
            'os.Getenv("HEALTH_ADDRESS"),',
        ),
    ),
)
TRAINING: Final = Operator(
    "training-operator",
    "github.com/kubeflow/training-operator",
    "v1.9.0",
    "h1:L+ep5YQT1Pq62O3VjW6G+IRQw+NpFlPRJJj8TgydBhQ=",
    "./cmd/training-operator.v1",
    "manifests/overlays/standalone",
    ("kubeflow", "training-operator"),
    # It has no switch that lets another issue its certificate: the one it makes names a Service, not 127.0.0.1.
    (
        Change(_TRAINING_MAIN, "defer close(certsReady)", "close(certsReady)"),
        Change(
            _TRAINING_MAIN,
            "if err = cert.ManageCerts(mgr, certGenerationConfig, certsReady); err != nil {",
            "if _ = certGenerationConfig; err != nil {",
        ),
    ),
)
KUBERAY: Final = Operator(
    "kuberay",
    "github.com/ray-project/kuberay/ray-operator",
    "v1.4.2",
    "h1:A4tGzbIky8sInAUxZBdBb+rrpZ7fbqoxdsOtm559Zqg=",
    ".",
    "config/default",
    ("default", "kuberay-operator"),
)
LWS: Final = Operator(
    "lws",
    "sigs.k8s.io/lws",
    "v0.7.0",
    "h1:qWfzX8+UBak+Hq0+m/PuE3uO0mp/3dmm5q/h/7z31A8=",
    "./cmd",
    "config/default",
    ("lws-system", "lws-controller-manager"),
)
TRAINER: Final = Operator(
    "trainer",
    "github.com/kubeflow/trainer/v2",
    "v2.1.0",
    "h1:jRABD9ZYToamNH2atHze3L/VC/v6KCAqUEqsOQOjVTg=",
    "./cmd/trainer-controller-manager",
    "manifests/overlays/manager",
    ("kubeflow-system", "kubeflow-trainer-controller-manager"),
    # Its manifests fetch JobSet's from the network unless that line goes, as its own comment says.
    (
        Change(
            "manifests/overlays/manager/kustomization.yaml",
            "  - ../../third-party/jobset # Comment this line if JobSet is installed on the Kubernetes cluster.\n",
            "",
        ),
    ),
)
_APPWRAPPER_MAIN: Final = "cmd/main.go"
APPWRAPPER: Final = Operator(
    "appwrapper",
    "github.com/project-codeflare/appwrapper",
    "v1.1.2",
    "h1:iEEyYGSDXOxMXc/AZEvTDDXy1DNi+cWUQ93uM6XAXJc=",
    "./cmd",
    "config/default",
    ("appwrapper-system", "appwrapper-controller-manager"),
    # Its ports are constants, or stand in a ConfigMap that it writes itself; the certificate it makes names a Service.
    (
        Change(
            _APPWRAPPER_MAIN,
            'setupLog.Info("Configuration", "config", cfg)',
            """webhookPort := 0
	_, err = fmt.Sscan(os.Getenv("WEBHOOK_PORT"), &webhookPort)
	exitOnError(err, "WEBHOOK_PORT is no number")
	cfg.ControllerManager.Health.BindAddress = os.Getenv("HEALTH_ADDRESS")
	cfg.ControllerManager.Metrics.BindAddress = "0"
	setupLog.Info("Configuration", "config", cfg)""",
        ),
        Change(_APPWRAPPER_MAIN, "Port:    9443,", "Port:    webhookPort,"),
        Change(
            _APPWRAPPER_MAIN,
            "exitOnError(controller.SetupCertManagement(mgr, cfg.CertManagement, certsReady), "
            '"Unable to set up cert rotation")',
            "close(certsReady)",
        ),
    ),
)
_SPARK_WEBHOOK: Final = "  # -- Specifies whether to enable webhook.\n  enable: true\n"
SPARK: Final = Operator(
    "spark-operator",
    "github.com/kubeflow/spark-operator/v2",
    # The first whose applications can be suspended.
    "v2.4.0",
    "h1:Bo5rz5dlhqYEa7e/TLtUEVXDMNRotnVaQ4VLCyeLeOc=",
    "./cmd/operator",
    "charts/spark-operator-chart",
    ("spark-operator", "spark-operator-chart-controller"),
    (
        Change("charts/spark-operator-chart/values.yaml", "  jobNamespaces:\n  - default\n", "  jobNamespaces: []\n"),
        # Its webhook is a program of its own, which adds what a pod template has no field for in Spark's settings.
        Change("charts/spark-operator-chart/values.yaml", _SPARK_WEBHOOK, _SPARK_WEBHOOK.replace("true", "false")),
    ),
)

ALL: Final = (JOBSET, MPI, TRAINING, KUBERAY, LWS, TRAINER, APPWRAPPER, SPARK)
