"""Starts a control plane and hands it over: kubectl, helm, identities, nodes, and each process to stop or freeze."""

import json
import secrets
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from dev.controlplane import audit, kubeconfigs
from dev.controlplane.assembly import (
    APISERVER,
    CONTROLLER_MANAGER,
    ETCD,
    KWOK,
    Assembly,
    ClusterOptions,
    assemble,
    client_kubeconfig,
    environment,
)
from dev.controlplane.errors import ControlPlaneError, PortTakenError
from dev.controlplane.flags import DEFAULT_CONTROLLERS
from dev.controlplane.host.ports import Ports
from dev.controlplane.host.processes import READY_TIMEOUT, Process
from dev.controlplane.host.workdir import Workdir
from dev.controlplane.nodes import NodeSpec, Taint, create_nodes, wait_until_nodes_are_ready
from dev.controlplane.programs.binaries import Binaries
from dev.controlplane.rest import Rest

__all__ = ["DEFAULT_CONTROLLERS", "ControlPlane", "NodeSpec", "Taint", "start"]

ATTEMPTS = 3
_DAY = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 24 * 3600}}
COMMAND_TIMEOUT = 300.0


def start(  # noqa: PLR0913  each is a wish of its own, by name only
    binaries: Binaries,
    *,
    nodes: Sequence[NodeSpec] = (),
    controllers: Sequence[str] = DEFAULT_CONTROLLERS,
    scheduler: bool = True,
    kwok: bool = True,
    audit: bool = False,
    extra_apiserver_args: Sequence[str] = (),
    extra_controller_manager_args: Sequence[str] = (),
    extra_scheduler_args: Sequence[str] = (),
    node_address: str | None = None,
) -> "ControlPlane":
    """Start a control plane on free ports; close it, or use it as a context manager.

    No `controllers`: no controller manager. `node_address`: nodes are real, and their pods reach the API server there.
    Raises ControlPlaneError with the reason when a process does not come up.
    """
    options = ClusterOptions(
        controllers=tuple(controllers),
        scheduler=scheduler,
        kwok=kwok,
        audit=audit,
        extra_apiserver_args=tuple(extra_apiserver_args),
        extra_controller_manager_args=tuple(extra_controller_manager_args),
        extra_scheduler_args=tuple(extra_scheduler_args),
        node_address=node_address,
    )
    control_plane = _started(binaries, options)
    try:
        control_plane.add_nodes(nodes)
    except BaseException:
        control_plane.close()
        raise
    return control_plane


def _started(binaries: Binaries, options: ClusterOptions) -> "ControlPlane":
    for attempt in range(ATTEMPTS):
        control_plane = ControlPlane(binaries, options)
        try:
            control_plane.start()
        except PortTakenError:
            control_plane.close()
            if attempt == ATTEMPTS - 1:
                raise
        except BaseException:
            control_plane.close()
            raise
        else:
            return control_plane
    raise AssertionError("unreachable")


class ControlPlane:
    """etcd, API server, controller manager, scheduler and simulated nodes of one temporary cluster."""

    def __init__(self, binaries: Binaries, options: ClusterOptions) -> None:
        self.binaries = binaries
        self._workdir = Workdir()
        self._ports = Ports()
        try:
            self._assembly: Assembly = assemble(binaries, options, self._workdir.path, self._ports)
        except BaseException:
            self._ports.close()
            self._workdir.close()
            raise

    @property
    def workdir(self) -> Path:
        """The temporary folder; logs are `NAME.log` in it. Gone after `close`."""
        return self._workdir.path

    @property
    def url(self) -> str:
        return self._assembly.url

    @property
    def ca_file(self) -> Path:
        return self._assembly.files.authority

    @property
    def token(self) -> str:
        """The admin's bearer token."""
        return self._assembly.token

    @property
    def kubeconfig(self) -> Path:
        """The admin's kubeconfig."""
        return self._assembly.kubeconfig

    @property
    def rest(self) -> Rest:
        """Plain requests as the admin: `rest.request("GET", "/api/v1/nodes") -> (status, body)`."""
        return self._assembly.rest

    @property
    def processes(self) -> Mapping[str, Process]:
        return self._assembly.processes

    def start(self) -> None:
        """Start everything; etcd and the API server first, the others side by side."""
        first = [self.processes[name] for name in (ETCD, APISERVER)]
        others = [process for process in self.processes.values() if process not in first]
        for process in first:
            process.start()
        for process in others:
            process.launch()
        for process in others:
            process.wait_until_ready()
        if CONTROLLER_MANAGER in self.processes:
            self._wait_for("/api/v1/namespaces/default/serviceaccounts/default")

    def close(self) -> None:
        """Kill every process and remove the folder: nothing of either is used again."""
        for process in self.processes.values():
            process.kill()
        self.rest.close()
        self._ports.close()
        self._workdir.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def kubectl(
        self,
        *arguments: str,
        input: str | None = None,  # noqa: A002  the word subprocess uses
        check: bool = True,
        as_kubeconfig: Path | None = None,
        timeout: float = COMMAND_TIMEOUT,
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl as the admin or as another identity; `check` raises ControlPlaneError with kubectl's words."""
        return self._run([str(self.binaries.kubectl), *arguments], input, check, as_kubeconfig, timeout)

    def helm(
        self,
        *arguments: str,
        input: str | None = None,  # noqa: A002  the word subprocess uses
        check: bool = True,
        as_kubeconfig: Path | None = None,
        timeout: float = COMMAND_TIMEOUT,
    ) -> subprocess.CompletedProcess[str]:
        return self._run([str(self.binaries.helm), *arguments], input, check, as_kubeconfig, timeout)

    def apply(self, manifests: str, *, as_kubeconfig: Path | None = None) -> str:
        """`kubectl apply -f -`; what it printed. Raises ControlPlaneError with the refusal's words."""
        return self.kubectl("apply", "-f", "-", input=manifests, as_kubeconfig=as_kubeconfig).stdout

    def get(self, *arguments: str) -> Any:
        """`kubectl get ... -o json`, decoded."""
        return json.loads(self.kubectl("get", *arguments, "-o", "json").stdout)

    def kubeconfig_for(self, user: str, groups: Sequence[str] = ()) -> Path:
        """Return a kubeconfig of another identity, by client certificate; its rights are set by RBAC."""
        return client_kubeconfig(self._assembly.authority, self.url, user, groups)

    def service_account_kubeconfig(self, namespace: str, name: str) -> Path:
        """Return a kubeconfig of a service account that exists, by a token good for a day."""
        asked = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        status, answer = self.rest.request("POST", asked, _DAY)
        if status != 201:
            raise ControlPlaneError(f"no token for service account {namespace}/{name}: {status} {answer['message']}")
        path = self.workdir / f"service-account-{secrets.token_hex(4)}.kubeconfig"
        return kubeconfigs.with_token(path, url=self.url, authority=self.ca_file, token=answer["status"]["token"])

    def add_nodes(self, nodes: Sequence[NodeSpec], timeout: float = READY_TIMEOUT) -> None:
        """Create simulated nodes and, where kwok plays them, wait until all are Ready."""
        create_nodes(self.rest, nodes)
        if nodes and KWOK in self.processes:
            wait_until_nodes_are_ready(self.rest, {node.name for node in nodes}, timeout)

    def audit_events(self) -> list[audit.AuditEvent]:
        """Return every request answered so far; needs `audit=True` at the start."""
        if self._assembly.files.audit_policy is None:
            raise ControlPlaneError("this control plane keeps no audit log: start it with audit=True")
        return list(audit.read_events(self._assembly.files.audit_log))

    def _run(
        self,
        command: Sequence[str],
        text: str | None,
        check: bool,
        kubeconfig: Path | None,
        timeout: float,
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command,
            input=text,
            stdin=subprocess.DEVNULL if text is None else None,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
            env={**environment(self.workdir), "KUBECONFIG": str(kubeconfig or self.kubeconfig)},
        )
        if check and done.returncode != 0:
            words = " ".join([Path(command[0]).name, *command[1:]])
            raise ControlPlaneError(f"{words} ended with code {done.returncode}: {done.stderr.strip()}")
        return done

    def _wait_for(self, path: str) -> None:
        deadline = time.monotonic() + READY_TIMEOUT
        while self.rest.request("GET", path)[0] != 200:
            if time.monotonic() > deadline:
                raise ControlPlaneError(
                    f"{path} did not appear within {READY_TIMEOUT:.0f} s; logs are in {self.workdir}"
                )
            time.sleep(0.05)
