"""Everything that runs: a control plane, the proxy, webhook and reconcilers behind it, and who starts them again.

Each process comes to the API server through a side of the proxy of its own, with a token of its own, under the account
that the chart gives it. The recorder alone reads what the API server wrote down itself.
"""

import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final

from dev.controlplane import binaries, cluster
from dev.controlplane import quotree as installing
from dev.controlplane.errors import ControlPlaneError
from dev.controlplane.ports import Ports
from dev.controlplane.processes import Process
from tests.chaos.judging.history import write_policy
from tests.chaos.running.replica_balancer import ReplicaBalancer
from tests.chaos.running.workloads import NODES
from tests.faults.proxy import FaultProxy, Side

ACCOUNT: Final = f"system:serviceaccount:{installing.NAMESPACE}:"
RECONCILER: Final = f"{ACCOUNT}quotree-reconciler"
WEBHOOK: Final = f"{ACCOUNT}quotree-webhook"
SKEWS: Final = (timedelta(), timedelta(seconds=40))
"""How far the clock of each reconciler is ahead."""
WEBHOOKS: Final = 2
ELECTION: Final = {
    "namespace": installing.NAMESPACE,
    "leaseDuration": "6s",
    "renewDeadline": "4s",
    "retryPeriod": "1s",
}


@dataclass(slots=True)
class Stage:
    """What the faults are committed on."""

    cluster: cluster.ControlPlane
    proxy: FaultProxy
    reconcilers: list[Process]
    webhooks: list[Process]
    audit_log: Path
    restarts: int = 0
    withdrawn: set[str] = field(default_factory=set)
    """Names of the Jobs that their owners have deleted."""
    _closing: threading.Event = field(default_factory=threading.Event)

    def sides(self) -> list[Side]:
        """The reconcilers' ways to the API server, in the order of `reconcilers`."""
        return [self.proxy.side(each.name) for each in self.reconcilers]

    @property
    def etcd_url(self) -> str:
        """Where etcd takes plain HTTP."""
        words = self.cluster.processes["etcd"].command
        flag = next(each for each in words if each.startswith("--advertise-client-urls="))
        return flag.partition("=")[2]

    def supervise(self) -> None:
        """Start again what has ended, as Kubernetes would, until the end."""
        while not self._closing.wait(0.3):
            for process in (*self.reconcilers, *self.webhooks):
                if not process.running and not self._closing.is_set():
                    with suppress(ControlPlaneError):
                        process.launch()
                        self.restarts += 1

    def close(self) -> None:
        """Start nothing any more."""
        self._closing.set()


@contextmanager
def running(programs: binaries.Binaries, seed: int) -> Iterator[Stage]:
    """All of it, until the end of the block."""
    with tempfile.TemporaryDirectory(prefix="quotree-chaos-") as folder:
        log = Path(folder) / "audit.log"
        policy = write_policy(Path(folder) / "policy.json")
        arguments = [f"--audit-policy-file={policy}", f"--audit-log-path={log}", "--audit-log-maxsize=8000"]
        with (
            cluster.start(programs, nodes=NODES, extra_apiserver_args=arguments) as cp,
            FaultProxy(cp.url, cp.ca_file, seed=seed).running() as proxy,
            _installed(cp, proxy, seed) as (leading, judging),
        ):
            stage = Stage(cp, proxy, leading, judging, log)
            watchman = threading.Thread(target=stage.supervise, name="supervisor", daemon=True)
            watchman.start()
            try:
                yield stage
            finally:
                stage.close()
                watchman.join(60)


@contextmanager
def _installed(cp: cluster.ControlPlane, proxy: FaultProxy, seed: int) -> Iterator[tuple[list[Process], list[Process]]]:
    cp.kubectl("create", "namespace", installing.NAMESPACE)
    for account in ("quotree-reconciler", "quotree-webhook"):
        cp.kubectl("create", "serviceaccount", account, "-n", installing.NAMESPACE)
    with _ports() as ports:
        door = ReplicaBalancer(ports.take(), seed)
        values = (f"reconciler.user={RECONCILER}", f"webhook.user={WEBHOOK}")
        url = f"https://127.0.0.1:{door.port}"
        with door.open(), installing.installed(cp, webhooks=0, reconcilers=0, url=url, values=values) as quotree:
            for number in range(WEBHOOKS):
                connection = _connection(cp, proxy, f"webhook-{number}", "quotree-webhook")
                door.behind.append(ports.take())
                quotree.add_webhook(listen=door.behind[-1], reconcilerUser=RECONCILER, connection=connection)
            for number, ahead in enumerate(SKEWS):
                connection = _connection(cp, proxy, f"reconciler-{number}", "quotree-reconciler")
                process = quotree.add_reconciler(leaderElection=ELECTION, connection=connection)
                _skew(process, ahead)
            yield quotree.reconcilers, quotree.webhooks


def _skew(process: Process, ahead: timedelta) -> None:
    """From its next start on, which is now, its clock is so far ahead."""
    if ahead:
        python, *words = process.command
        skewed = f"{ahead.total_seconds():g}"
        process.command = (
            python,
            "-m",
            "tests.chaos.running.skewed_clock",
            skewed,
            *words[words.index("reconciler") + 1 :],
        )
        process.restart()


@contextmanager
def _ports() -> Iterator[Ports]:
    ports = Ports()
    try:
        yield ports
    finally:
        ports.close()


def _connection(cp: cluster.ControlPlane, proxy: FaultProxy, name: str, account: str) -> dict[str, str]:
    """The settings' connection part: through the side `name`, by a new token of the account."""
    own = cp.service_account_kubeconfig(installing.NAMESPACE, account)
    through = proxy.side(name).kubeconfig(own, cp.workdir / f"{name}.kubeconfig")
    return {"kubeconfig": str(through), "timeout": "3s"}
