"""The arguments each process of the control plane is started with. Pure: paths and ports in, words out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HOST = "127.0.0.1"
ISSUER = "https://kubernetes.default.svc.cluster.local"

FRONT_PROXY = "front-proxy-client"
NODE_LIFECYCLE = "node-lifecycle-controller"

# What Jobs, namespaces, owner references, PodDisruptionBudgets, service accounts and aggregated roles need; no more,
# for each further one costs start-up time and requests that a benchmark would measure.
DEFAULT_CONTROLLERS = (
    "job-controller",
    "namespace-controller",
    "garbage-collector-controller",
    "disruption-controller",
    "pod-garbage-collector-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "ttl-after-finished-controller",
    "clusterrole-aggregation-controller",
    "validatingadmissionpolicy-status-controller",
)


@dataclass(frozen=True, slots=True)
class Files:
    """Where the processes find keys and tables; all lie in the temporary folder."""

    folder: Path
    authority: Path
    server_certificate: Path
    server_key: Path
    token_key: Path
    token_public_key: Path
    token_table: Path
    proxy: "FrontProxyFiles"
    audit_policy: Path | None
    audit_log: Path


@dataclass(frozen=True, slots=True)
class FrontProxyFiles:
    """By what the API server shows aggregated APIs who it is; of a CA of its own."""

    authority: Path
    certificate: Path
    key: Path


def etcd(folder: Path, client_port: int, peer_port: int) -> list[str]:
    client, peer = f"http://{HOST}:{client_port}", f"http://{HOST}:{peer_port}"
    return [
        "--name=default",
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
        "--log-level=warn",
        f"--quota-backend-bytes={8 << 30}",
    ]


SIMULATED_NODES = (
    f"--bind-address={HOST}",
    f"--advertise-address={HOST}",
    "--endpoint-reconciler-type=none",
    "--authorization-mode=RBAC",
    # Pods run on no kubelet, so they need no token; nodes run without the controller that would lift the taint.
    "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
)


def real_nodes(address: str, client_certificate: Path, client_key: Path) -> list[str]:
    """Return what differs where kubelets run: pods reach the API server at `address`, and it has a key for kubelets."""
    return [
        "--bind-address=0.0.0.0",
        f"--advertise-address={address}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--kubelet-preferred-address-types=InternalIP",
        f"--kubelet-client-certificate={client_certificate}",
        f"--kubelet-client-key={client_key}",
    ]


def apiserver(files: Files, port: int, etcd_port: int, nodes: Sequence[str], extra: Sequence[str]) -> list[str]:
    """`nodes` is `SIMULATED_NODES` or what `real_nodes` returns."""
    arguments = [
        f"--etcd-servers=http://{HOST}:{etcd_port}",
        f"--secure-port={port}",
        *nodes,
        f"--tls-cert-file={files.server_certificate}",
        f"--tls-private-key-file={files.server_key}",
        f"--client-ca-file={files.authority}",
        f"--token-auth-file={files.token_table}",
        f"--service-account-issuer={ISSUER}",
        f"--service-account-signing-key-file={files.token_key}",
        f"--service-account-key-file={files.token_public_key}",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--allow-privileged=true",
        "--profiling=false",
        f"--requestheader-client-ca-file={files.proxy.authority}",
        f"--requestheader-allowed-names={FRONT_PROXY}",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={files.proxy.certificate}",
        f"--proxy-client-key-file={files.proxy.key}",
    ]
    if files.audit_policy is not None:
        arguments += [f"--audit-policy-file={files.audit_policy}", f"--audit-log-path={files.audit_log}"]
    return arguments + list(extra)


def controller_manager(
    files: Files, kubeconfig: Path, port: int, controllers: Sequence[str], extra: Sequence[str]
) -> list[str]:
    return [
        f"--kubeconfig={kubeconfig}",
        f"--bind-address={HOST}",
        *_served_with(files, port),
        f"--controllers={','.join(controllers)}",
        # Each controller under its own service account, as on a real cluster: access rules can tell them apart.
        "--use-service-account-credentials=true",
        f"--service-account-private-key-file={files.token_key}",
        f"--root-ca-file={files.authority}",
        "--leader-elect=false",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        *extra,
    ]


def scheduler(files: Files, config: Path, port: int, extra: Sequence[str]) -> list[str]:
    return [f"--config={config}", f"--bind-address={HOST}", *_served_with(files, port), *extra]


def _served_with(files: Files, port: int) -> list[str]:
    """Return how a client process serves its health: with a key that is there, where it would compute two RSA keys."""
    return [
        f"--secure-port={port}",
        f"--tls-cert-file={files.server_certificate}",
        f"--tls-private-key-file={files.server_key}",
    ]


def scheduler_config(kubeconfig: Path) -> dict[str, object]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 500, "burst": 1000},
        "leaderElection": {"leaderElect": False},
        "podInitialBackoffSeconds": 1,
        "podMaxBackoffSeconds": 2,
    }


def kwok(kubeconfig: Path, stages: Path, port: int, controllers: Sequence[str]) -> list[str]:
    arguments = [
        f"--kubeconfig={kubeconfig}",
        f"--config={stages}",
        "--manage-all-nodes=true",
        f"--server-address={HOST}:{port}",
    ]
    if NODE_LIFECYCLE in controllers:
        # That controller takes a node without a renewed lease for dead; nobody else reads leases, so they are not free.
        arguments.append("--node-lease-duration-seconds=40")
    return arguments
