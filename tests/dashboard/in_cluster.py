"""The dashboard as the chart runs it: a process with the chart's rights, and accounts of those who look at it."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import yaml

from dev.controlplane.cluster import ControlPlane
from dev.controlplane.host.ports import Ports
from dev.controlplane.host.processes import Process
from dev.controlplane.rest import serves
from tests.polling import first_true
from tests.project.repository import ROOT

DASHBOARD_USER: Final = "quotree-dashboard"
_SEES_ALL: Final = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "sees-all"},
    "rules": [
        {"apiGroups": ["quotree.dev"], "resources": ["quotagroups", "resourceflavors"], "verbs": ["list"]},
        {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["list"]},
        {"apiGroups": [""], "resources": ["pods", "nodes"], "verbs": ["list"]},
    ],
}


@contextmanager
def in_cluster(
    cluster: ControlPlane, *, kubeconfig: Path | None = None, kinds: Sequence[dict[str, Any]] = ()
) -> Iterator[str]:
    """Run it with the rights of the chart's role, or of this kubeconfig, for these kinds; yield its address."""
    ports = Ports()
    port, health = ports.take(), ports.take()
    settings = {
        "connection": {"kubeconfig": str(kubeconfig or cluster.kubeconfig_for(DASHBOARD_USER))},
        "health": {"host": "127.0.0.1", "port": health},
        "listen": {"host": "127.0.0.1", "port": port},
        "log": {"form": "text"},
        "kinds": list(kinds),
    }
    config = cluster.workdir / "dashboard.yaml"
    config.write_text(yaml.safe_dump(settings))
    process = Process(
        "dashboard",
        [sys.executable, "-m", "dashboard", "--config", str(config)],
        log=cluster.workdir / "dashboard.log",
        environment={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
        probe=lambda: serves(f"http://127.0.0.1:{health}/readyz"),
    )
    try:
        process.start()
        yield f"https://127.0.0.1:{port}"
    finally:
        process.stop()
        ports.close()


def token_of(cluster: ControlPlane, name: str, *, sees_all: bool) -> str:
    """The token of a new service account that may list what the page shows, or nothing."""
    cluster.kubectl("create", "serviceaccount", name)
    if sees_all:
        cluster.apply(yaml.safe_dump(_SEES_ALL))
        bound = ("--clusterrole=sees-all", f"--serviceaccount=default:{name}")
        cluster.kubectl("create", "clusterrolebinding", name, *bound)
        may = ("auth", "can-i", "list", "nodes", f"--as=system:serviceaccount:default:{name}")
        # The dashboard keeps a refusal for a while.
        first_true(lambda: cluster.kubectl(*may).stdout, lambda: "the binding is not in force", seconds=120)
    return cluster.kubectl("create", "token", name, "--duration=2h").stdout.strip()
