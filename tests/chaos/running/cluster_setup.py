"""Everything that runs: a control plane, the proxy, webhook and reconcilers behind it, and who starts them again.

Each process comes to the API server through a side of the proxy of its own, with a token of its own, under the account
that the chart gives it. The recorder alone reads what the API server wrote down itself.
"""

import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final

from dev.controlplane import cluster
from dev.controlplane import quotree as installing
from dev.controlplane.errors import ControlPlaneError
from dev.controlplane.host.ports import Ports
from dev.controlplane.host.processes import Process
from dev.controlplane.programs import binaries
from dev.operators import running as operators
from dev.operators.recipe import JOBSET
from tests.chaos.judging.history.history import write_policy
from tests.chaos.running.replica_balancer import ReplicaBalancer
from tests.chaos.running.workloads import NAMESPACE, NODES
from tests.faults.proxy import FaultProxy, Side

ACCOUNT: Final = f"system:serviceaccount:{installing.NAMESPACE}:"
RECONCILER: Final = f"{ACCOUNT}quotree-reconciler"
WEBHOOK: Final = f"{ACCOUNT}quotree-webhook"
SKEW: Final = timedelta(seconds=40)
"""How far the clock of the second of two reconcilers is ahead."""
WEBHOOKS: Final = 2
JOBSETS: Final = {"preset": "jobset", "operators": [JOBSET.user]}
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
    """Names of the Jobs and JobSets that their owners have deleted."""
    operator: Process | None = None
    """JobSet's; None: there are no JobSets."""
    managed: bool = False
    """Whether the namespace is managed: then the webhook sees what operators and Kubernetes make in it."""
    _closing: threading.Event = field(default_factory=threading.Event)

    @property
    def processes(self) -> list[Process]:
        """All that are started again when they end."""
        return [*self.reconcilers, *self.webhooks, *([] if self.operator is None else [self.operator])]

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
            for process in self.processes:
                if not process.running and not self._closing.is_set():
                    with suppress(ControlPlaneError):
                        process.launch()
                        self.restarts += 1

    def close(self) -> None:
        """Start nothing any more."""
        self._closing.set()


@contextmanager
def running(
    programs: binaries.Binaries, seed: int, *, jobsets: bool = False, skew: timedelta = SKEW
) -> Iterator[Stage]:
    """All of it, until the end of the block; with `jobsets` also JobSet's operator, whose kind is governed.

    Then the namespace is managed with an even seed, and with an odd one only what names a group is.
    """
    with tempfile.TemporaryDirectory(prefix="quotree-chaos-") as folder:
        log = Path(folder) / "audit.log"
        policy = write_policy(Path(folder) / "policy.json")
        arguments = [f"--audit-policy-file={policy}", f"--audit-log-path={log}", "--audit-log-maxsize=8000"]
        with (
            cluster.start(programs, nodes=NODES, extra_apiserver_args=arguments) as control_plane,
            FaultProxy(control_plane.url, control_plane.ca_file, seed=seed).running() as proxy,
            operators.running(JOBSET, control_plane) if jobsets else nullcontext() as operator,
            _installed(control_plane, proxy, seed, [JOBSETS] if jobsets else [], skew) as (leading, judging),
        ):
            stage = Stage(
                control_plane, proxy, leading, judging, log, operator=operator, managed=jobsets and seed % 2 == 0
            )
            if stage.managed:
                control_plane.kubectl("label", "namespace", NAMESPACE, "quotree.dev/managed=true")
            watchman = threading.Thread(target=stage.supervise, name="supervisor", daemon=True)
            watchman.start()
            try:
                yield stage
            finally:
                stage.close()
                watchman.join(60)


@contextmanager
def _installed(
    control_plane: cluster.ControlPlane,
    proxy: FaultProxy,
    seed: int,
    kinds: Sequence[Mapping[str, object]],
    skew: timedelta,
) -> Iterator[tuple[list[Process], list[Process]]]:
    control_plane.kubectl("create", "namespace", installing.NAMESPACE)
    for account in ("quotree-reconciler", "quotree-webhook"):
        control_plane.kubectl("create", "serviceaccount", account, "-n", installing.NAMESPACE)
    with _ports() as ports:
        balancer = ReplicaBalancer(ports.take(), seed)
        values = (f"reconciler.user={RECONCILER}", f"webhook.user={WEBHOOK}")
        url = f"https://127.0.0.1:{balancer.port}"
        with (
            balancer.open(),
            installing.installed(
                control_plane, webhooks=0, reconcilers=0, url=url, values=values, kinds=kinds
            ) as quotree,
        ):
            for number in range(WEBHOOKS):
                connection = _connection(control_plane, proxy, f"webhook-{number}", "quotree-webhook")
                balancer.behind.append(ports.take())
                quotree.add_webhook(listen=balancer.behind[-1], reconcilerUser=RECONCILER, connection=connection)
            for number, ahead in enumerate((timedelta(), skew)):
                connection = _connection(control_plane, proxy, f"reconciler-{number}", "quotree-reconciler")
                process = quotree.add_reconciler(leaderElection=ELECTION, connection=connection)
                _skew(process, ahead)
            yield quotree.reconcilers, quotree.webhooks


def _skew(process: Process, ahead: timedelta) -> None:
    """From its next start on, which is now, its clock is so far ahead."""
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


def _connection(control_plane: cluster.ControlPlane, proxy: FaultProxy, name: str, account: str) -> dict[str, str]:
    """The settings' connection part: through the side `name`, by a new token of the account."""
    own = control_plane.service_account_kubeconfig(installing.NAMESPACE, account)
    through = proxy.side(name).kubeconfig(own, control_plane.workdir / f"{name}.kubeconfig")
    return {"kubeconfig": str(through), "timeout": "3s"}
